/**
 * Runs workers as pods. The elected server of the store creates one Indexed Job after another for each batch. No state
 * is kept here: Jobs and pods are found by their labels, and they outlive the server.
 */
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { duration } from '../../common/units.ts';
import { hasProgram, unmetText } from '../../config/needs.ts';
import { requireHarmlessSidecars } from '../../config/sidecars.ts';
import type { Submission } from '../../config/submission.ts';
import type { Kind } from '../../kubernetes/access/kinds.ts';
import { eventTime, type KubeEvent, type Pod } from '../../kubernetes/access/objects.ts';
import { type WatchOptions, watchList } from '../../kubernetes/access/watch.ts';
import type { ExecutorPod, PodLogOptions } from '../../protocol/pods.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { BatchLoad, Executor, PodRun } from '../executor.ts';
import { requireNeeds } from '../needs.ts';
import { BatchObjects, type BatchObjectsOptions, OF_BATCHES } from './batchObjects.ts';
import { batchPodLog, batchPods } from './batchPodReports.ts';
import { BatchPods } from './batchPods.ts';
import { FrozenPods } from './frozenPods.ts';
import { InstallationWatch } from './installationWatch.ts';
import { batchOf } from './jobRounds.ts';
import { NoSandboxReports } from './noSandbox.ts';
import { ObjectChecks } from './objectChecks.ts';
import { Outage } from './outage.ts';
import { allowedPods } from './podAllowance.ts';
import { type PodEnd, podEnd, unpullable } from './podLife.ts';
import { withDefaults } from './podResources.ts';
import { PodWatch } from './podWatch.ts';
import { QueueReasons } from './queueReasons.ts';
import { Rounds } from './rounds.ts';
import { ownLimit, requireRoom } from './scratch.ts';
import { podSizing } from './sizing.ts';

type KubernetesExecutorOptions = BatchObjectsOptions;

const ROLE = 'kubernetes';
const ELECT_EVERY_MS = 5_000;
/** A longer outage of the cluster is reported. */
const OUTAGE_MS = 5_000;
/** Delay before retrying after a failure. Also for a watch that was denied, since its permission may be restored. */
const RETRY_MS = 15_000;
const STUCK_EVERY_MS = 5_000;
/** How often names on the network are resolved again. */
const ADDRESSES_EVERY_MS = 60_000;
/** How often it is recorded how long pods have run. */
const RUNS_EVERY_MS = 60_000;
/** Interval of probes; any response counts. */
const PROBE_EVERY_MS = 5_000;
const PROBE_RETRY_MS = 500;
const PROBE_MS = 5_000;
/** Pods of an ended batch end on their own within this time, but pods that have not started never would. */
const LEAVE_MS = 10_000;

export class KubernetesExecutor implements Executor {
  readonly #options: KubernetesExecutorOptions;
  readonly #objects: BatchObjects;
  readonly #batches = new Map<string, BatchPods>();
  /** For ended batches: the number of their last Job at that time. */
  readonly #endedRounds = new Map<string, number>();
  readonly #noSandbox: NoSandboxReports;
  readonly #rounds = new Rounds();
  readonly #queueReasons = new QueueReasons();
  /** undefined for a server that runs outside of the cluster. */
  readonly #installation: InstallationWatch | undefined;
  readonly #checks: ObjectChecks;
  readonly #pods: PodWatch;
  readonly #frozen: FrozenPods;
  readonly #end = new AbortController();
  /** Pending work. */
  readonly #pending = new Set<Promise<void>>();
  readonly #outage = new Outage(OUTAGE_MS, (error, ms) => this.#reportOutage(error, ms));
  #role: 'makes' | 'watches' | 'unready' = 'unready';

  constructor(options: KubernetesExecutorOptions) {
    this.#options = options;
    this.#objects = new BatchObjects(options);
    this.#noSandbox = new NoSandboxReports(options.host);
    this.#frozen = new FrozenPods({ cluster: options.cluster, host: options.host, signal: this.#end.signal });
    const { cluster, ownPod } = options;
    const { signal } = this.#end;
    const log: Log = (text, about) => options.host.log(text, about);
    const report = (text: string, ms?: number): void => this.#reportInstallation([...this.#batches.keys()], text, ms);
    if (ownPod !== undefined) this.#installation = new InstallationWatch({ cluster, ownPod, log, report, signal });
    this.#checks = new ObjectChecks({ batches: this.#batches, log, signal });
    this.#pods = new PodWatch({
      isActive: (batch) => this.#batches.has(batch),
      isReleased: (batch) => this.#batches.get(batch)?.released === true,
      record: (batch, infra) =>
        this.#runInBackground('reporting on its pods', options.host.recordInfra(batch, infra), batch),
      workers: (batch) => options.host.workers(batch),
      onPod: (batch, pod) => this.#learnImages(batch, pod),
      ran: (run) => {
        if (run !== undefined) this.#recordRuns([run]);
      },
      ended: (batch, pod, end) => this.#podEnded(batch, pod, end),
    });
    this.#runInBackground('managing pods', this.#run());
    if (this.#installation !== undefined)
      this.#runInBackground('looking at the installation', this.#installation.run());
  }

  async check(submission: Submission, load?: BatchLoad): Promise<[]> {
    requireHarmlessSidecars(submission);
    if (load !== undefined) {
      const { limits } = withDefaults(submission.pods ?? {}, this.#options.defaults);
      const { slots } = podSizing(submission, load.open, load.sealed);
      requireRoom(submission, load.attached, slots, ownLimit(limits));
    }
    requireNeeds(submission, (need) => (hasProgram(submission.pods, need.name) === 'no' ? unmetText(need) : undefined));
    return await Promise.resolve([]);
  }

  noSandbox(batch: string, submission: Submission, reason: string): Promise<void> {
    return this.#noSandbox.report(batch, submission, reason);
  }

  secrets(batch: string): Promise<Record<string, string> | undefined> {
    return this.#objects.secrets(batch, this.#end.signal);
  }

  updateBatch(record: BatchRecord, submission: Submission): void {
    if (this.#end.signal.aborted) return;
    const id = record.row.batch;
    const existing = this.#batches.get(id);
    if (existing !== undefined) {
      existing.update(record, submission);
      return;
    }
    const batch = new BatchPods(
      {
        host: this.#options.host,
        objects: this.#objects,
        rounds: this.#rounds,
        role: () => this.#role,
        ignoredRounds: this.#endedRounds.get(id) ?? 0,
        lastBadEnd: () => this.#pods.lastBadEnd(id),
        queueReason: (job) => this.#queueReasons.of(job),
        allowed: () =>
          allowedPods(id, {
            shares: this.#options.host.shares,
            batches: this.#batches,
            live: this.#pods.live(),
            rounds: this.#rounds,
            hasEnded: (batch) => this.#endedRounds.has(batch),
          }),
        signal: this.#end.signal,
      },
      record,
      submission,
    );
    this.#batches.set(id, batch);
    for (const text of this.troubles()) this.#reportInstallation([id], text);
    batch.request();
  }

  troubles(): readonly string[] {
    return this.#installation?.troubles ?? [];
  }

  podsWait(batch: string): ReturnType<NonNullable<Executor['podsWait']>> {
    const pods = this.#batches.get(batch);
    if (pods === undefined || this.#role !== 'makes') return undefined;
    const text = pods.wait === undefined ? this.#pods.waitOf(batch) : undefined;
    return text === undefined ? pods.wait : { why: 'cluster', text };
  }

  #recordRuns(runs: readonly PodRun[]): void {
    const { shares } = this.#options.host;
    if (shares !== undefined && runs.length > 0)
      this.#runInBackground('recording how long pods ran', shares.record(runs));
  }

  lackingValues(batch: string): readonly string[] {
    return this.#batches.get(batch)?.lacking ?? [];
  }

  workerLost(batch: string, worker: string): void {
    this.#runInBackground('deleting a frozen pod', this.#frozen.workerLost(batch, worker), batch);
  }

  async podUid(batch: string, name: string): Promise<string | undefined> {
    const pod = await this.#options.cluster.get('Pod', name, { signal: this.#end.signal });
    return pod === undefined || batchOf(pod) !== batch || podEnd(pod) !== undefined ? undefined : pod.metadata.uid;
  }

  async pods(batch: string, signal: AbortSignal): Promise<ExecutorPod[]> {
    return await batchPods(this.#options.cluster, batch, signal);
  }

  podLog(batch: string, pod: string, options: PodLogOptions, signal: AbortSignal): AsyncIterable<string> {
    return batchPodLog(this.#options.cluster, batch, pod, options, signal);
  }

  removeBatch(id: string): void {
    const batch = this.#batches.get(id);
    if (batch === undefined || this.#end.signal.aborted) return;
    batch.close();
    this.#batches.delete(id);
    this.#pods.forget(id);
    this.#noSandbox.forget(id);
    this.#endedRounds.set(id, this.#rounds.last(id));
    if (this.#role === 'makes') this.#runInBackground('removing its cluster objects', this.#removeObjects(id), id);
  }

  /** Learns what images a pod runs. If a node cannot pull one by its digest, its pods start again by its name. */
  #learnImages(batch: string, pod: Pod): void {
    this.#objects.pins.learn(pod);
    if (this.#role !== 'makes') return;
    const image = unpullable(pod);
    const named = image === undefined ? undefined : this.#objects.pins.giveUp(image);
    const active = this.#rounds.active(batch);
    if (image === undefined || named === undefined || active === undefined) return;
    const text = `Image ${image} cannot be pulled. Pods use ${named} instead, which may differ between nodes.`;
    this.#runInBackground(
      'using an image by its name',
      Promise.all([
        this.#options.host.recordInfra(batch, { what: 'image', text }),
        this.#objects.removeJob(active, this.#end.signal),
      ]).then(() => undefined),
      batch,
    );
  }

  /** Closes the executor. Pods continue without this server, and wait for the next one. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#outage.close();
    for (const batch of this.#batches.values()) batch.close();
    await Promise.all(this.#pending);
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    this.#runInBackground('looking for deleted objects', this.#checks.run());
    while (!(await this.#options.host.elect(ROLE))) {
      this.#play('watches');
      await sleep(ELECT_EVERY_MS, signal);
    }
    this.#play('unready');
    const stuck = setInterval(
      () => this.#runInBackground('looking for lost nodes', this.#pods.checkStuck()),
      STUCK_EVERY_MS,
    );
    const addresses = setInterval(() => {
      for (const [id, batch] of this.#batches)
        this.#runInBackground('allowing the addresses it names', batch.refreshNetwork(), id);
    }, ADDRESSES_EVERY_MS);
    const runs = setInterval(() => this.#recordRuns(this.#pods.runs(Date.now())), RUNS_EVERY_MS);
    await Promise.all([this.#watchJobs(), this.#watchPods(), this.#watchEvents(), this.#probe()]);
    clearInterval(stuck);
    clearInterval(addresses);
    clearInterval(runs);
  }

  #play(role: 'makes' | 'watches' | 'unready'): void {
    if (this.#role === role) return;
    this.#role = role;
    for (const batch of this.#batches.values()) batch.request();
  }

  #watchJobs(): Promise<void> {
    return this.#watch('Job', {
      onList: (jobs) => {
        this.#rounds.replace(jobs);
        const first = this.#role !== 'makes';
        this.#play('makes');
        for (const batch of this.#batches.values()) batch.request();
        if (!first) return;
        this.#runInBackground('looking for objects of ended batches', this.#sweep());
        this.#runInBackground('keeping Jobs without the Deployment', this.#objects.disown(jobs, this.#end.signal));
      },
      onEvent: (type, job) => {
        const active = batchOf(job) === undefined ? undefined : this.#rounds.active(batchOf(job) ?? '');
        const id = type === 'DELETED' ? this.#rounds.remove(job) : this.#rounds.see(job);
        const batch = id === undefined ? undefined : this.#batches.get(id);
        const { name, uid = '' } = job.metadata;
        if (type === 'DELETED') this.#queueReasons.remove(name);
        if (type === 'DELETED' && active?.uid === uid && !this.#objects.hasRemoved(uid) && batch !== undefined)
          this.#runInBackground('reporting a deleted Job', batch.jobDeleted(name), id);
        batch?.request();
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

  /** Probes the API server: a silent watch cannot distinguish a hanging server from one without news. */
  async #probe(): Promise<void> {
    const { signal } = this.#end;
    const isClosed = (): boolean => signal.aborted; // checked again after each wait
    let pause = PROBE_EVERY_MS;
    while (!isClosed()) {
      await sleep(pause, signal).catch(() => undefined);
      if (isClosed() || this.#batches.size === 0) continue;
      try {
        await this.#options.cluster.version(signal, PROBE_MS);
        this.#outage.set(undefined);
        pause = PROBE_EVERY_MS;
      } catch (error) {
        pause = PROBE_RETRY_MS; // a late response is soon followed by another probe
        if (!isClosed())
          this.#outage.set(StudioError.is(error) ? error : new StudioError('unavailable', errorText(error)));
      }
    }
  }

  #watchEvents(): Promise<void> {
    return this.#watch('Event', {
      // Earlier events were handled, or no longer matter, except for what Jobs wait for.
      onList: (events) => {
        for (const event of events.toSorted((a, b) => eventTime(a) - eventTime(b))) this.#readQueue(event);
      },
      onEvent: (type, event) => {
        if (type === 'DELETED') return;
        this.#readQueue(event);
        this.#pods.onClusterEvent(event, (job) => this.#rounds.batchOf(job));
        // A pod waits for an object, which may have been deleted.
        const waiting = event.reason === 'FailedMount' ? this.#pods.batchOf(event.involvedObject.uid) : undefined;
        if (waiting !== undefined)
          this.#runInBackground('looking for deleted objects', this.#checks.check(waiting), waiting);
      },
    });
  }

  #readQueue(event: KubeEvent): void {
    const job = this.#queueReasons.read(event);
    const batch = job === undefined ? undefined : this.#rounds.batchOf(job);
    if (batch !== undefined) this.#batches.get(batch)?.request();
  }

  /** Watches until the server shuts down. */
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
        await sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  async #podEnded(batch: string, pod: string, end: PodEnd): Promise<boolean> {
    const { host } = this.#options;
    if (!end.isClean) host.log(end.infra.text, { level: 'warning', batch, worker: pod });
    try {
      return await host.workerEnded(batch, pod, end.infra.text, false);
    } catch (error) {
      host.log(`after the end of the pod: ${errorText(error)}`, { level: 'error', batch, worker: pod });
      return false;
    }
  }

  /** Removes the objects of batches that ended while no server was running. */
  async #sweep(): Promise<void> {
    const found = new Set([...this.#rounds.batches(), ...(await this.#objects.batches(this.#end.signal))]);
    for (const id of found)
      if (!this.#batches.has(id) && (await this.#options.host.hasEnded(id)))
        this.#runInBackground('removing its cluster objects', this.#removeObjects(id), id);
  }

  #reportOutage(error: StudioError | undefined, ms: number): void {
    const infra =
      error === undefined
        ? { what: 'cluster_back', ms, text: `The cluster is reachable again after ${duration(ms)}.` }
        : {
            what: 'cluster_away',
            text:
              'The server cannot reach the cluster. Running pods continue, but new ones have to wait. ' +
              errorText(error),
          };
    for (const id of this.#batches.keys())
      this.#runInBackground('reporting on the cluster', this.#options.host.recordInfra(id, infra), id);
  }

  #reportInstallation(batches: readonly string[], text: string, ms?: number): void {
    if (this.#role !== 'makes') return;
    const infra = ms === undefined ? { what: 'installation', text } : { what: 'installation_back', ms, text };
    for (const id of batches)
      this.#runInBackground('reporting on the installation', this.#options.host.recordInfra(id, infra), id);
  }

  /** Removes the objects of an ended batch as soon as the cluster is reachable. */
  async #removeObjects(id: string): Promise<void> {
    const { signal } = this.#end;
    for (;;) {
      try {
        await this.#remove(id);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#options.host.log(`removing its cluster objects failed: ${errorText(error)}`, {
          level: 'warning',
          batch: id,
        });
        await sleep(RETRY_MS, signal);
        if (this.#batches.has(id)) return;
      }
    }
  }

  /** Removes secrets, and pods that would wait forever. Ended Jobs are kept for a while for inspection. */
  async #remove(id: string): Promise<void> {
    const { signal } = this.#end;
    await this.#objects.removeSecrets(id, this.#rounds.of(id).length === 0, signal);
    if (this.#rounds.active(id) === undefined) return;
    await sleep(LEAVE_MS, signal);
    const active = this.#rounds.active(id);
    // The batch may have been retried.
    if (active !== undefined && !this.#batches.has(id)) await this.#objects.removeJob(active, signal);
  }

  #runInBackground(what: string, work: Promise<void>, batch?: string): void {
    const task = work
      .catch((error: unknown) => {
        if (!this.#end.signal.aborted)
          this.#options.host.log(`${what} failed: ${errorText(error)}`, {
            level: 'error',
            ...(batch === undefined ? {} : { batch }),
          });
      })
      .finally(() => this.#pending.delete(task));
    this.#pending.add(task);
  }
}
