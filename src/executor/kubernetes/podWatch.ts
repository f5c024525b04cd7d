/**
 * Watches worker pods: reports notable events in the batch's stream, and detects their end immediately.
 */

import type { KubeEvent, Pod } from '../../kubernetes/access/objects.ts';
import { isReady } from '../../kubernetes/access/podReady.ts';
import type { WatchEventType } from '../../kubernetes/access/watch.ts';
import type { PodRun } from '../executor.ts';
import { batchOf } from './jobRounds.ts';
import {
  isSilence,
  jobEventNotices,
  lostNode,
  type PodEnd,
  type PodNotice,
  podEnd,
  podEventNotices,
  podNotices,
  stuckNotice,
} from './podLife.ts';
import { hasEnded, podRun } from './podRun.ts';

interface PodWatchOptions {
  /** Returns whether the batch is active, as far as this server knows. */
  readonly isActive: (batch: string) => boolean;
  /** Returns whether it is paused without pods, so that deleted pods are expected. */
  readonly isReleased: (batch: string) => boolean;
  readonly record: (batch: string, infra: PodNotice['infra']) => void;
  /** Returns the pods of the batch whose workers have a session with a valid lease. */
  readonly workers: (batch: string) => Promise<readonly string[]>;
  /** Handles every state of a pod of a batch. */
  readonly onPod: (batch: string, pod: Pod) => void;
  /** Handles how long a pod ran that has ended. */
  readonly ran?: (run: PodRun | undefined) => void;
  /** Handles the end of a pod or its worker. Returns whether it had rollouts. */
  readonly ended: (batch: string, pod: string, end: PodEnd) => Promise<boolean>;
}

interface PodState {
  readonly batch: string;
  pod: Pod;
  readonly reported: Set<string>;
  /** Whether it, or its worker, has ended. */
  ended: boolean;
  /** Whether it was reported how long it ran. */
  ran: boolean;
  /** When it was first seen terminating. */
  leavesAt: number | undefined;
  /** When its node was reported as unresponsive. */
  silentAt: number | undefined;
  /** Whether it terminates because its batch released its pods. */
  released: boolean;
}

/** Notices of pods that wait for the cluster. */
const WAITS: ReadonlySet<string> = new Set(['pod_pending', 'pod_image', 'pod_start']);

/** A terminating pod ends within its grace period, unless its node is lost. */
const STUCK_MS = 45_000;
/** An unresponsive node may still respond within this time. */
const SILENT_MS = 5_000;

export class PodWatch {
  readonly #options: PodWatchOptions;
  /** Pods by UID. */
  readonly #pods = new Map<string, PodState>();
  readonly #reportedOfBatches = new Map<string, Set<string>>();
  /** How the last failed pod of each batch ended. */
  readonly #badEnds = new Map<string, string>();
  #listed = false;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /**
   * Handles a list of all pods; others were deleted. An earlier server has already reported those in the first list.
   */
  async onList(pods: readonly Pod[]): Promise<void> {
    const first = !this.#listed;
    this.#listed = true;
    const existing = new Set(pods.map(keyOf));
    for (const [key, { pod }] of [...this.#pods])
      if (!existing.has(key)) await this.#see(pod, { gone: true, first: false });
    for (const pod of pods) await this.#see(pod, { gone: false, first });
  }

  async onEvent(type: WatchEventType, pod: Pod): Promise<void> {
    await this.#see(pod, { gone: type === 'DELETED', first: false });
  }

  /** Handles what the cluster reports only as events. `batch` returns the batch of a Job. */
  onClusterEvent(event: KubeEvent, batch: (job: string) => string | undefined): void {
    const { kind, name = '', uid = '' } = event.involvedObject;
    if (kind === 'Job') {
      const of = batch(name);
      if (of !== undefined) for (const reported of jobEventNotices(event)) this.#report(of, undefined, reported);
    } else if (kind === 'Pod') {
      const state = this.#pods.get(uid);
      if (state !== undefined && isSilence(event)) state.silentAt ??= performance.now();
      if (state !== undefined && !state.ended)
        for (const reported of podEventNotices(state.pod, event)) this.#report(state.batch, state, reported);
    }
  }

  /** Returns the batch of a pod by its UID. */
  batchOf(uid: string | undefined): string | undefined {
    return uid === undefined ? undefined : this.#pods.get(uid)?.batch;
  }

  /** Returns how long all pods have run at `now`. */
  runs(now: number): PodRun[] {
    return [...this.#pods.values()].flatMap(({ batch, pod }) => podRun(pod, batch, now) ?? []);
  }

  /**
   * Returns how many pods each batch has in the cluster, also those that are leaving: the worker of a pod may have
   * ended before its other containers.
   */
  live(): Map<string, number> {
    const live = new Map<string, number>();
    for (const { batch, pod } of this.#pods.values()) if (!hasEnded(pod)) live.set(batch, (live.get(batch) ?? 0) + 1);
    return live;
  }

  /** Returns why a pod of a batch has not started. */
  waitOf(batch: string): string | undefined {
    for (const state of this.#pods.values()) {
      if (state.batch !== batch || state.ended) continue;
      const waits = podNotices(state.pod).find(({ infra: { what } }) => WAITS.has(what));
      if (waits !== undefined) return waits.infra.text;
    }
    return undefined;
  }

  /** Looks for pods whose nodes do not respond. */
  async checkStuck(now = performance.now()): Promise<void> {
    // Queried once for all pods of a batch: after an outage, all of them are silent.
    const working = new Map<string, ReadonlySet<string>>();
    for (const state of [...this.#pods.values()]) {
      if (!state.ended && state.silentAt !== undefined && now - state.silentAt > SILENT_MS)
        await this.#checkNode(state, working);
      if (!state.ended && state.leavesAt !== undefined && now - state.leavesAt > STUCK_MS)
        this.#report(state.batch, state, stuckNotice(state.pod));
    }
  }

  /**
   * Checks an unresponsive node. If its workers are connected it is not lost: only the cluster cannot reach it, as
   * after an outage of the API server.
   */
  async #checkNode(state: PodState, working: Map<string, ReadonlySet<string>>): Promise<void> {
    if (!isReady(state.pod)) {
      const names = working.get(state.batch) ?? new Set(await this.#options.workers(state.batch));
      working.set(state.batch, names);
      if (names.has(state.pod.metadata.name)) return;
    }
    if (!state.ended && !isReady(state.pod)) this.#report(state.batch, state, lostNode(state.pod));
    state.silentAt = undefined;
  }

  /** Forgets an ended batch, so that notices are reported again if it is retried. */
  forget(batch: string): void {
    this.#reportedOfBatches.delete(batch);
    this.#badEnds.delete(batch);
  }

  /** Returns how the last failed pod of the batch ended. */
  lastBadEnd(batch: string): string | undefined {
    return this.#badEnds.get(batch);
  }

  async #see(pod: Pod, { gone, first }: { gone: boolean; first: boolean }): Promise<void> {
    const batch = batchOf(pod);
    const key = keyOf(pod);
    if (batch === undefined) return;
    if (!gone && this.#options.isActive(batch)) this.#options.onPod(batch, pod);
    let state = this.#pods.get(key);
    if (state === undefined)
      this.#pods.set(
        key,
        (state = {
          batch,
          pod,
          reported: new Set(),
          ended: false,
          ran: false,
          leavesAt: undefined,
          silentAt: undefined,
          released: false,
        }),
      );
    state.pod = pod;
    if (state.leavesAt === undefined && (gone || pod.metadata.deletionTimestamp !== undefined)) {
      state.leavesAt = performance.now();
      state.released = this.#options.isReleased(batch);
    }
    const found = podEnd(pod, gone);
    const isExpected = state.released && (found?.infra.what === 'pod_deleted' || found?.isNews === true);
    const end = found !== undefined && isExpected ? { isClean: true, infra: found.infra } : found;
    if (!state.ended) {
      for (const reported of podNotices(pod)) {
        if (first && reported.of === 'pod') state.reported.add(reported.key);
        else this.#report(batch, state, reported);
      }
    }
    if (end !== undefined && !state.ended) {
      state.ended = true;
      if (!end.isClean) this.#badEnds.set(batch, end.infra.text);
      // Requeue its rollouts first, so that readers of the notice see them queued.
      const hadRollouts = await this.#options.ended(batch, pod.metadata.name, end);
      if ((!end.isClean || end.isNews === true) && (!first || hadRollouts))
        this.#report(batch, state, { key: 'end', of: 'pod', infra: end.infra });
    }
    // When its worker ends, other containers may still run, and what is recorded is never shortened.
    if (!state.ran && (gone || hasEnded(pod))) {
      state.ran = true;
      this.#options.ran?.(podRun(pod, batch, Date.now()));
    }
    if (gone) this.#pods.delete(key);
  }

  #report(batch: string, state: PodState | undefined, reported: PodNotice): void {
    if (!this.#options.isActive(batch)) return;
    let keys = reported.of === 'pod' ? state?.reported : this.#reportedOfBatches.get(batch);
    if (keys === undefined) this.#reportedOfBatches.set(batch, (keys = new Set()));
    if (keys.has(reported.key)) return;
    keys.add(reported.key);
    this.#options.record(batch, reported.infra);
  }
}

function keyOf(pod: Pod): string {
  return pod.metadata.uid ?? pod.metadata.name;
}
