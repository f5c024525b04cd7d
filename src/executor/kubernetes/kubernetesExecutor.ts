/**
 * Runs workers as pods: one Indexed Job after another for each batch, made by the one server of the store that is
 * elected. Nothing is kept here: Jobs and pods are found again by their labels, and they outlive the server.
 */
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { duration } from '../../common/units.ts';
import { meets, unmetText } from '../../config/needs.ts';
import type { Submission } from '../../config/submission.ts';
import type { Kind } from '../../kubernetes/access/kinds.ts';
import { type WatchOptions, watchList } from '../../kubernetes/access/watch.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { Executor } from '../executor.ts';
import { requireNeeds } from '../needs.ts';
import { BatchObjects, type BatchObjectsOptions, OF_BATCHES } from './batchObjects.ts';
import { BatchPods } from './batchPods.ts';
import { Outage } from './outage.ts';
import type { PodEnd } from './podLife.ts';
import { PodWatch } from './podWatch.ts';
import { Rounds } from './rounds.ts';

export type KubernetesExecutorOptions = BatchObjectsOptions;

const ROLE = 'kubernetes';
const ELECT_EVERY_MS = 5_000;
/** A cluster that is away for longer is told of. */
const AWAY_MS = 5_000;
/** What failed is tried again, also a watch that ended for good: its right may be given back. */
const AGAIN_MS = 15_000;
const STUCK_EVERY_MS = 5_000;
/** Any answer will do. */
const PROBE_EVERY_MS = 5_000;
const PROBE_AGAIN_MS = 500;
const PROBE_MS = 5_000;
/** Pods of an ended batch end by themselves; those that have not started never would. */
const LEAVE_MS = 10_000;

export class KubernetesExecutor implements Executor {
  readonly #options: KubernetesExecutorOptions;
  readonly #objects: BatchObjects;
  readonly #batches = new Map<string, BatchPods>();
  /** Of batches that ended: the number of their last Job then. */
  readonly #over = new Map<string, number>();
  readonly #rounds = new Rounds();
  readonly #pods: PodWatch;
  readonly #end = new AbortController();
  /** What goes on, until it is done. */
  readonly #going = new Set<Promise<void>>();
  readonly #outage = new Outage(AWAY_MS, (error, ms) => this.#tellOfOutage(error, ms));
  #role: 'makes' | 'watches' | 'unready' = 'unready';

  constructor(options: KubernetesExecutorOptions) {
    this.#options = options;
    this.#objects = new BatchObjects(options);
    this.#pods = new PodWatch({
      isActive: (batch) => this.#batches.has(batch),
      isReleased: (batch) => this.#batches.get(batch)?.released === true,
      tell: (batch, infra) => this.#go('telling of its pods', options.host.tell(batch, infra), batch),
      workers: (batch) => options.host.workers(batch),
      ended: (batch, pod, end) => this.#podEnded(batch, pod, end),
    });
    this.#go('looking after pods', this.#run());
  }

  check(submission: Submission): void {
    requireNeeds(submission, ({ name, of, instead }) =>
      meets(submission.pods, name) === 'no' ? unmetText(of, name, instead) : undefined,
    );
  }

  secrets(batch: string): Promise<Record<string, string> | undefined> {
    return this.#objects.secrets(batch, this.#end.signal);
  }

  wants(record: BatchRecord, submission: Submission): void {
    if (this.#end.signal.aborted) return;
    const id = record.row.batch;
    const known = this.#batches.get(id);
    if (known !== undefined) {
      known.update(record, submission);
      return;
    }
    const batch = new BatchPods(
      {
        host: this.#options.host,
        objects: this.#objects,
        rounds: this.#rounds,
        role: () => this.#role,
        over: this.#over.get(id) ?? 0,
        lastBadEnd: () => this.#pods.lastBadEnd(id),
        signal: this.#end.signal,
      },
      record,
      submission,
    );
    this.#batches.set(id, batch);
    batch.look();
  }

  gone(id: string): void {
    const batch = this.#batches.get(id);
    if (batch === undefined || this.#end.signal.aborted) return;
    batch.close();
    this.#batches.delete(id);
    this.#pods.forget(id);
    this.#over.set(id, this.#rounds.last(id));
    if (this.#role === 'makes') this.#go('removing what it has in the cluster', this.#leave(id), id);
  }

  /** Pods go on without this server, and wait for the next one. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#outage.close();
    for (const batch of this.#batches.values()) batch.close();
    await Promise.all(this.#going);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    await this.#findServer();
    while (!(await this.#options.host.elect(ROLE))) {
      this.#play('watches');
      await sleep(ELECT_EVERY_MS, signal);
    }
    this.#play('unready');
    const stuck = setInterval(() => this.#go('looking for lost nodes', this.#pods.lookForStuck()), STUCK_EVERY_MS);
    await Promise.all([this.#watchJobs(), this.#watchPods(), this.#watchEvents(), this.#probe()]);
    clearInterval(stuck);
  }

  #play(role: 'makes' | 'watches' | 'unready'): void {
    if (this.#role === role) return;
    this.#role = role;
    for (const batch of this.#batches.values()) batch.look();
  }

  async #findServer(): Promise<void> {
    const { signal } = this.#end;
    for (;;) {
      try {
        await this.#objects.findServer(signal);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#options.host.log(`looking for the server's Deployment failed: ${errorText(error)}`, { level: 'warning' });
        if (!StudioError.is(error, 'unavailable')) return;
        await sleep(ELECT_EVERY_MS, signal);
      }
    }
  }

  #watchJobs(): Promise<void> {
    return this.#watch('Job', {
      onList: (jobs) => {
        this.#rounds.replace(jobs);
        const first = this.#role !== 'makes';
        this.#play('makes');
        for (const batch of this.#batches.values()) batch.look();
        if (first) this.#go('looking for what ended batches left', this.#sweep());
      },
      onEvent: (type, job) => {
        const id = type === 'DELETED' ? this.#rounds.remove(job) : this.#rounds.see(job);
        if (id !== undefined) this.#batches.get(id)?.look();
      },
      onTrouble: (error) => this.#outage.set(error),
    });
  }

  #watchPods(): Promise<void> {
    return this.#watch('Pod', {
      onList: (pods) => this.#pods.onList(pods),
      onEvent: (type, pod) => this.#pods.onEvent(type, pod),
    });
  }

  /** A watch that hears nothing cannot tell an API server that hangs from one with nothing to say. */
  async #probe(): Promise<void> {
    const { signal } = this.#end;
    const over = (): boolean => signal.aborted; // asked anew after each wait
    let pause = PROBE_EVERY_MS;
    while (!over()) {
      await sleep(pause, signal).catch(() => undefined);
      if (over() || this.#batches.size === 0) continue;
      try {
        await this.#options.cluster.version(signal, PROBE_MS);
        this.#outage.set(undefined);
        pause = PROBE_EVERY_MS;
      } catch (error) {
        pause = PROBE_AGAIN_MS; // one that was late is soon followed by a better one
        if (!over()) this.#outage.set(StudioError.is(error) ? error : new StudioError('unavailable', errorText(error)));
      }
    }
  }

  #watchEvents(): Promise<void> {
    return this.#watch('Event', {
      // What was said before is known, or over.
      onList: () => undefined,
      onEvent: (type, event) => {
        if (type !== 'DELETED') this.#pods.onClusterEvent(event, (job) => this.#rounds.batchOf(job));
      },
    });
  }

  /** Watches until the server ends. */
  async #watch<K extends Kind>(kind: K, options: Omit<WatchOptions<K>, 'signal'>): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        await watchList(this.#options.cluster, kind, kind === 'Event' ? {} : { labels: OF_BATCHES }, {
          ...options,
          signal,
        });
      } catch (error) {
        this.#options.host.log(`watching ${kind}s failed: ${errorText(error)}`, { level: 'error' });
        await sleep(AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }

  async #podEnded(batch: string, pod: string, end: PodEnd): Promise<boolean> {
    const { host } = this.#options;
    if (!end.well) host.log(end.infra.text, { level: 'warning', batch, worker: pod });
    try {
      return await host.workerEnded(batch, pod, end.infra.text, false);
    } catch (error) {
      host.log(`after the end of the pod: ${errorText(error)}`, { level: 'error', batch, worker: pod });
      return false;
    }
  }

  /** What batches have here that ended while no server looked. */
  async #sweep(): Promise<void> {
    const found = new Set([...this.#rounds.batches(), ...(await this.#objects.batches(this.#end.signal))]);
    for (const id of found)
      if (!this.#batches.has(id) && (await this.#options.host.hasEnded(id)))
        this.#go('removing what it has in the cluster', this.#leave(id), id);
  }

  #tellOfOutage(error: StudioError | undefined, ms: number): void {
    const infra =
      error === undefined
        ? { what: 'cluster_back', ms, text: `The cluster answers the server again, after ${duration(ms)}.` }
        : {
            what: 'cluster_away',
            text:
              'The cluster does not answer the server; pods that run go on, and new ones have to wait. ' +
              errorText(error),
          };
    for (const id of this.#batches.keys()) this.#go('telling of the cluster', this.#options.host.tell(id, infra), id);
  }

  /** The batch has ended: what is left of it goes, as soon as the cluster can be reached. */
  async #leave(id: string): Promise<void> {
    const { signal } = this.#end;
    for (;;) {
      try {
        await this.#remove(id);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#options.host.log(`removing what it has in the cluster failed: ${errorText(error)}`, {
          level: 'warning',
          batch: id,
        });
        await sleep(AGAIN_MS, signal);
        if (this.#batches.has(id)) return;
      }
    }
  }

  /** No secrets stay, and no pod that would wait for ever. Jobs that ended stay for a while, to be looked at. */
  async #remove(id: string): Promise<void> {
    const { signal } = this.#end;
    await this.#objects.removeSecrets(id, this.#rounds.of(id).length === 0, signal);
    if (this.#rounds.active(id) === undefined) return;
    await sleep(LEAVE_MS, signal);
    const active = this.#rounds.active(id);
    // It may have been taken back.
    if (active !== undefined && !this.#batches.has(id)) await this.#objects.removeJob(active, signal);
  }

  #go(what: string, work: Promise<void>, batch?: string): void {
    const going = work
      .catch((error: unknown) => {
        if (!this.#end.signal.aborted)
          this.#options.host.log(`${what} failed: ${errorText(error)}`, {
            level: 'error',
            ...(batch === undefined ? {} : { batch }),
          });
      })
      .finally(() => this.#going.delete(going));
    this.#going.add(going);
  }
}
