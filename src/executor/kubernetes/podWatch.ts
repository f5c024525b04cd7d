/**
 * The lives of worker pods, as they happen: what is worth telling is told in the batch's stream, and their ends are
 * seen at once.
 */

import type { KubeEvent, Pod } from '../../kubernetes/access/objects.ts';
import { isReady } from '../../kubernetes/access/podReady.ts';
import type { WatchEventType } from '../../kubernetes/access/watch.ts';
import { batchOf } from './jobRounds.ts';
import {
  isSilence,
  jobEventNews,
  lostNode,
  type PodEnd,
  type PodNotice,
  podEnd,
  podEventNews,
  podNews,
  stuckNews,
} from './podLife.ts';

export interface PodWatchOptions {
  /** The batch has not ended, as far as is known. */
  readonly isActive: (batch: string) => boolean;
  /** It is paused and keeps no pods: that they are deleted is nothing bad. */
  readonly isReleased: (batch: string) => boolean;
  readonly tell: (batch: string, infra: PodNotice['infra']) => void;
  /** Those of the batch's pods whose workers have a session: its lease is not over. */
  readonly workers: (batch: string) => Promise<readonly string[]>;
  /** The pod is gone, or its worker is. Gives whether it had rollouts. */
  readonly ended: (batch: string, pod: string, end: PodEnd) => Promise<boolean>;
}

interface PodState {
  readonly batch: string;
  pod: Pod;
  readonly told: Set<string>;
  ended: boolean;
  /** When it was first seen on its way out. */
  leavesAt: number | undefined;
  /** When its node was said to be silent. */
  silentAt: number | undefined;
  /** It goes because its batch was to keep no pods. */
  released: boolean;
}

/** A pod that is to end is gone within its grace, unless its node is. */
const STUCK_MS = 45_000;
/** A node that counts as silent may say something just now. */
const SILENT_MS = 5_000;

export class PodWatch {
  readonly #options: PodWatchOptions;
  /** By uid. */
  readonly #pods = new Map<string, PodState>();
  readonly #toldOfBatches = new Map<string, Set<string>>();
  /** By batch: how a pod ended last that did not end well. */
  readonly #badEnds = new Map<string, string>();
  #listed = false;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** All pods there are; others are gone. The first time they are those of an earlier server, which told of them. */
  async onList(pods: readonly Pod[]): Promise<void> {
    const first = !this.#listed;
    this.#listed = true;
    const there = new Set(pods.map(keyOf));
    for (const [key, { pod }] of [...this.#pods])
      if (!there.has(key)) await this.#see(pod, { gone: true, first: false });
    for (const pod of pods) await this.#see(pod, { gone: false, first });
  }

  async onEvent(type: WatchEventType, pod: Pod): Promise<void> {
    await this.#see(pod, { gone: type === 'DELETED', first: false });
  }

  /** Something the cluster says only by its events. `batch`: of a Job, by its name. */
  onClusterEvent(event: KubeEvent, batch: (job: string) => string | undefined): void {
    const { kind, name = '', uid = '' } = event.involvedObject;
    if (kind === 'Job') {
      const of = batch(name);
      if (of !== undefined) for (const told of jobEventNews(event)) this.#tell(of, undefined, told);
    } else if (kind === 'Pod') {
      const seen = this.#pods.get(uid);
      if (seen !== undefined && isSilence(event)) seen.silentAt ??= performance.now();
      if (seen !== undefined && !seen.ended)
        for (const told of podEventNews(seen.pod, event)) this.#tell(seen.batch, seen, told);
    }
  }

  /** Looks for pods whose nodes do not answer. */
  async lookForStuck(now = performance.now()): Promise<void> {
    // Asked once for all pods of a batch: after an outage each of them is silent.
    const working = new Map<string, ReadonlySet<string>>();
    for (const seen of [...this.#pods.values()]) {
      if (!seen.ended && seen.silentAt !== undefined && now - seen.silentAt > SILENT_MS)
        await this.#lookForNode(seen, working);
      if (!seen.ended && seen.leavesAt !== undefined && now - seen.leavesAt > STUCK_MS)
        this.#tell(seen.batch, seen, stuckNews(seen.pod));
    }
  }

  /**
   * A silent node whose workers are heard is not lost: the cluster is the one that does not hear it, as after an outage
   * of the API server.
   */
  async #lookForNode(seen: PodState, working: Map<string, ReadonlySet<string>>): Promise<void> {
    if (!isReady(seen.pod)) {
      const names = working.get(seen.batch) ?? new Set(await this.#options.workers(seen.batch));
      working.set(seen.batch, names);
      if (names.has(seen.pod.metadata.name)) return;
    }
    if (!seen.ended && !isReady(seen.pod)) this.#tell(seen.batch, seen, lostNode(seen.pod));
    seen.silentAt = undefined;
  }

  /** The batch has ended: what is told of it once may be told again, should it be taken back. */
  forget(batch: string): void {
    this.#toldOfBatches.delete(batch);
    this.#badEnds.delete(batch);
  }

  /** How a pod of the batch ended last that did not end well. */
  lastBadEnd(batch: string): string | undefined {
    return this.#badEnds.get(batch);
  }

  async #see(pod: Pod, { gone, first }: { gone: boolean; first: boolean }): Promise<void> {
    const batch = batchOf(pod);
    const key = keyOf(pod);
    if (batch === undefined) return;
    let seen = this.#pods.get(key);
    if (seen === undefined)
      this.#pods.set(
        key,
        (seen = {
          batch,
          pod,
          told: new Set(),
          ended: false,
          leavesAt: undefined,
          silentAt: undefined,
          released: false,
        }),
      );
    seen.pod = pod;
    if (seen.leavesAt === undefined && (gone || pod.metadata.deletionTimestamp !== undefined)) {
      seen.leavesAt = performance.now();
      seen.released = this.#options.isReleased(batch);
    }
    const found = podEnd(pod, gone);
    const end = found?.infra.what === 'pod_deleted' && seen.released ? { ...found, well: true } : found;
    if (!seen.ended) {
      for (const told of podNews(pod)) {
        if (first && told.of === 'pod') seen.told.add(told.key);
        else this.#tell(batch, seen, told);
      }
    }
    if (end !== undefined && !seen.ended) {
      seen.ended = true;
      if (!end.well) this.#badEnds.set(batch, end.infra.text);
      // Its rollouts first: whoever is told then sees them queued.
      const worked = await this.#options.ended(batch, pod.metadata.name, end);
      if (!end.well && (!first || worked)) this.#tell(batch, seen, { key: 'end', of: 'pod', infra: end.infra });
    }
    if (gone) this.#pods.delete(key);
  }

  #tell(batch: string, seen: PodState | undefined, told: PodNotice): void {
    if (!this.#options.isActive(batch)) return;
    let known = told.of === 'pod' ? seen?.told : this.#toldOfBatches.get(batch);
    if (known === undefined) this.#toldOfBatches.set(batch, (known = new Set()));
    if (known.has(told.key)) return;
    known.add(told.key);
    this.#options.tell(batch, told.infra);
  }
}

function keyOf(pod: Pod): string {
  return pod.metadata.uid ?? pod.metadata.name;
}
