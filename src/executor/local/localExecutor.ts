/**
 * Runs workers as child processes: starts them while a batch has queued rollouts, detects their end immediately,
 * restarts them with a growing delay while they fail, and stops them with the server.
 */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import { installHint } from '../../config/needs.ts';
import type { Submission } from '../../config/submission.ts';
import { type ExecutorPod, type PodLogOptions, workerProcess } from '../../protocol/pods.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { EventData } from '../../trace/schema.ts';
import type { Executor, ExecutorHost } from '../executor.ts';
import { requireNeeds } from '../needs.ts';
import { sandboxWarnings } from '../sandboxWarnings.ts';
import { isInstalled } from './programs.ts';
import { sizeOf } from './sizing.ts';
import { workerLog } from './workerLog.ts';
import { isAlive, pidOf, type WorkerCommand, type WorkerEnd, WorkerProcess } from './workerProcess.ts';
import type { WorkFolders } from './workFolders.ts';

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** A worker that ran this long had no problem to start. */
const STABLE_MS = 30_000;
/** A worker that had rollouts this long did not crash because of them immediately. */
const PROVEN_MS = 1_000;
/** A worker of an ended batch ends on its own within this time. */
const LEAVE_MS = 10_000;
const DRAIN_MS = 2_000;
const TERM_MS = 1_000;
/** A worker that lost its lease (the machine slept) and is not frozen reconnects within this time. */
const RETURN_MS = 10_000;

interface LocalExecutorOptions {
  readonly host: ExecutorHost;
  readonly command: WorkerCommand;
  readonly work: WorkFolders;
  readonly logFile: string;
  /** `server.json`, where workers find a restarted server; undefined if they cannot. */
  readonly discovery: string | undefined;
  /** Returns why this machine has no sandbox for programs; undefined if it has one. */
  readonly noSandbox: () => Promise<string | undefined>;
  readonly cores?: number;
  /** See `RETURN_MS`. */
  readonly returnMs?: number;
}

interface Batch {
  readonly id: string;
  readonly workers: Set<WorkerProcess>;
  starting: boolean;
  /** Whether it is paused without workers. */
  released: boolean;
  failures: number;
  /** No new worker before this time. */
  notBefore: number;
  timer: NodeJS.Timeout | undefined;
}

export class LocalExecutor implements Executor {
  readonly #options: LocalExecutorOptions;
  readonly #cores: number;
  readonly #batches = new Map<string, Batch>();
  readonly #workers = new Set<WorkerProcess>();
  readonly #leftovers: Promise<void>;
  /** The names of all workers that this server started, by batch: their log stays. */
  readonly #started = new Map<string, Set<string>>();
  /** Workers that are stopping. */
  readonly #stopping = new Set<WorkerProcess>();
  /** Pending work after the end of workers. */
  readonly #following = new Set<Promise<void>>();
  #closed = false;

  constructor(options: LocalExecutorOptions) {
    this.#options = options;
    this.#cores = options.cores ?? availableParallelism();
    this.#leftovers = options.work
      .removeLeftovers()
      .catch((error: unknown) =>
        options.host.log(`removing old working directories failed: ${errorText(error)}`, { level: 'warning' }),
      );
  }

  /** Checks needs, except those of MCP servers: a failed start reports what their command needs. */
  async check(submission: Submission): Promise<readonly EventData['infra'][]> {
    requireNeeds(submission, ({ name, of, declared, instead }) =>
      !declared || isInstalled(name)
        ? undefined
        : {
            message: `${of} needs ${name}, which is not on the PATH of this machine`,
            hint:
              `${installHint(name)}, ${instead === undefined ? '' : `${instead}, `}or launch on a target whose ` +
              'pods have it.',
          },
    );
    return await sandboxWarnings(submission, this.#options.noSandbox);
  }

  /** Returns undefined: secrets are kept only on this machine, next to the store. */
  secrets(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  updateBatch(record: BatchRecord, submission: Submission): void {
    const { queued, running } = record.row.counts;
    if (this.#closed) return;
    const existing = this.#batches.get(record.row.batch);
    if (existing !== undefined) existing.released = record.released;
    if (record.released && running === 0) this.#release(this.#batch(record.row.batch));
    if (queued === 0 || record.paused || record.stopping !== undefined) return;
    const batch = this.#batch(record.row.batch);
    const { workers, slots } = sizeOf(submission.concurrency, queued + running, this.#cores);
    if (batch.starting || batch.workers.size >= workers) return;
    const wait = batch.notBefore - performance.now();
    if (wait > 0) {
      batch.timer ??= setTimeout(() => {
        batch.timer = undefined;
        this.#options.host.refresh(batch.id);
      }, wait);
      return;
    }
    batch.starting = true;
    void this.#start(batch, workers, slots)
      .catch((error: unknown) => {
        this.#options.host.log(`starting a worker for ${batch.id} failed: ${errorText(error)}`, {
          level: 'error',
          batch: batch.id,
        });
        this.#failed(batch);
      })
      .finally(() => {
        batch.starting = false;
        // The batch was released while its workers started.
        if (batch.released) this.#options.host.refresh(batch.id);
      });
  }

  /** Kills a worker that does not come back: its batch would wait for it forever. */
  workerLost(id: string, name: string): void {
    const worker = [...(this.#batches.get(id)?.workers ?? [])].find((candidate) => candidate.name === name);
    if (worker === undefined) return;
    const { host, returnMs = RETURN_MS } = this.#options;
    const timer = setTimeout(() => {
      host
        .workers(id)
        .then((names) => {
          if (names.includes(name)) return;
          worker.kill('The worker did not respond for longer than its lease, so the server ended it.');
        })
        .catch((error: unknown) =>
          host.log(`looking for worker ${name} failed: ${errorText(error)}`, {
            level: 'error',
            batch: id,
            worker: name,
          }),
        );
    }, returnMs);
    void worker.ended.then(() => clearTimeout(timer));
  }

  async pods(id: string): Promise<ExecutorPod[]> {
    const own = [...(this.#batches.get(id)?.workers ?? [])];
    const now = Date.now() - performance.now();
    // Those of an earlier server continue.
    const names = new Set(own.map(({ name }) => name));
    const others = (await this.#options.host.workers(id)).filter(
      (name) => !names.has(name) && pidOf(name) !== undefined,
    );
    const started = (worker: WorkerProcess): number => Math.round(now + worker.startedAt);
    return [
      ...own.map((worker) => workerProcess(worker.name, true, started(worker))),
      ...others.map((name) => workerProcess(name, true)),
    ];
  }

  async *podLog(id: string, name: string, options: PodLogOptions, signal: AbortSignal): AsyncGenerator<string> {
    const isOwn = this.#started.get(id)?.has(name) === true || (await this.#options.host.workers(id)).includes(name);
    if (!isOwn || pidOf(name) === undefined)
      throw new StudioError('not_found', `Batch ${id} has no worker ${name} on this machine that left a log.`);
    const isRunning = (): boolean => isAlive(pidOf(name) ?? 0);
    yield* workerLog({ file: this.#options.logFile, worker: name, isRunning }, options, signal);
  }

  removeBatch(id: string): void {
    const batch = this.#batches.get(id);
    if (batch === undefined) return;
    clearTimeout(batch.timer);
    this.#batches.delete(id);
    for (const worker of batch.workers) void this.#see(worker, LEAVE_MS);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const batch of this.#batches.values()) clearTimeout(batch.timer);
    await Promise.all(
      Array.from(this.#workers, (worker) => {
        if (!this.#options.host.drain(worker.name)) worker.signal('SIGTERM');
        return this.#see(worker, DRAIN_MS);
      }),
    );
    await Promise.all([this.#leftovers, ...this.#following]);
    await this.#options.work.close();
  }

  #batch(id: string): Batch {
    let batch = this.#batches.get(id);
    if (batch === undefined)
      this.#batches.set(
        id,
        (batch = {
          id,
          workers: new Set(),
          starting: false,
          released: false,
          failures: 0,
          notBefore: -Infinity,
          timer: undefined,
        }),
      );
    return batch;
  }

  /** Stops all workers of a batch that is paused without workers, including those of an earlier server. */
  #release(batch: Batch): void {
    const { host } = this.#options;
    for (const worker of batch.workers) {
      if (this.#stopping.has(worker)) continue;
      this.#stopping.add(worker);
      if (!host.drain(worker.name)) worker.signal('SIGTERM');
      void this.#see(worker, LEAVE_MS);
    }
    host
      .workers(batch.id)
      .then((names) => {
        const ownNames = new Set(Array.from(batch.workers, ({ name }) => name));
        for (const name of names) if (!ownNames.has(name) && pidOf(name) !== undefined) host.drain(name);
      })
      .catch((error: unknown) =>
        host.log(`ending the workers of ${batch.id} failed: ${errorText(error)}`, { level: 'error', batch: batch.id }),
      );
  }

  async #start(batch: Batch, target: number, slots: number): Promise<void> {
    const { host, command, work, logFile, discovery } = this.#options;
    const others = await this.#others(batch);
    const secrets = await host.secrets(batch.id);
    for (let count = batch.workers.size + others; count < target; count++) {
      if (this.#hasEnded(batch)) return;
      const root = work.open();
      const worker = new WorkerProcess(command, logFile, (name, ownGroup) => ({
        server: host.url,
        token: host.token(batch.id),
        batch: batch.id,
        worker: name,
        slots,
        work: path.join(root, name),
        own_group: ownGroup,
        ...(discovery === undefined ? {} : { discovery }),
        ...(secrets === undefined ? {} : { secrets }),
      }));
      batch.workers.add(worker);
      this.#started.set(batch.id, (this.#started.get(batch.id) ?? new Set()).add(worker.name));
      this.#workers.add(worker);
      const following = worker.ended
        .then((end) => this.#ended(batch, worker, end))
        .catch((error: unknown) =>
          host.log(`after the end of ${worker.name}: ${errorText(error)}`, {
            level: 'error',
            batch: batch.id,
            worker: worker.name,
          }),
        )
        .finally(() => this.#following.delete(following));
      this.#following.add(following);
    }
  }

  /**
   * Counts workers of an earlier server that continue, and others that connected on their own. Ends the sessions of
   * those that died in the meantime.
   */
  async #others(batch: Batch): Promise<number> {
    const { host } = this.#options;
    const ownNames = new Set(Array.from(batch.workers, (worker) => worker.name));
    let others = 0;
    for (const name of await host.workers(batch.id)) {
      if (ownNames.has(name)) continue;
      const pid = pidOf(name);
      if (pid === undefined || isAlive(pid)) others += 1;
      else await host.workerEnded(batch.id, name, 'The worker process no longer exists.', false);
    }
    return others;
  }

  #hasEnded(batch: Batch): boolean {
    return this.#closed || this.#batches.get(batch.id) !== batch;
  }

  async #ended(batch: Batch, worker: WorkerProcess, end: WorkerEnd): Promise<void> {
    const { host, work } = this.#options;
    batch.workers.delete(worker);
    this.#workers.delete(worker);
    // While it starts, a signal that it does not handle yet ends it.
    const succeeded = this.#stopping.delete(worker) || end.code === 0;
    const shouldReport = !succeeded && !this.#hasEnded(batch);
    if (end.code !== 0)
      host.log(`worker ${worker.name} of ${batch.id}: ${end.text}`, {
        level: 'warning',
        batch: batch.id,
        worker: worker.name,
      });
    const hadRollouts = await host.workerEnded(batch.id, worker.name, end.text, shouldReport);
    const uptimeMs = performance.now() - worker.startedAt;
    if (succeeded || uptimeMs > STABLE_MS || (hadRollouts && uptimeMs > PROVEN_MS)) batch.failures = 0;
    if (!succeeded) this.#failed(batch);
    await work.remove(worker.name);
  }

  /** Handles a failure: the next worker starts after a delay, if it is still needed. */
  #failed(batch: Batch): void {
    if (this.#hasEnded(batch)) return;
    // A worker that was killed after it had worked is replaced immediately. Only repeated failures have to wait.
    const pause = batch.failures === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (batch.failures - 1));
    batch.notBefore = performance.now() + pause;
    batch.failures += 1;
    this.#options.host.refresh(batch.id);
  }

  /** Waits for a worker's end, and kills it after a while. */
  async #see(worker: WorkerProcess, patience: number): Promise<void> {
    for (const [ms, signal] of [
      [patience, 'SIGTERM'],
      [TERM_MS, 'SIGKILL'],
    ] as const) {
      const timer = new AbortController();
      const ended = await Promise.race([
        worker.ended.then(() => true),
        delay(ms, false, { signal: timer.signal, ref: false }).catch(() => false),
      ]);
      timer.abort();
      if (ended) return;
      worker.signal(signal);
    }
    await worker.ended;
  }
}
