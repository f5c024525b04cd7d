/**
 * Supervises batches that have not ended. Whenever one changes, it sends the state to the workers, leases queued
 * rollouts, evaluates the stop rules, and handles the end. All its state can be read from the store again, so it
 * continues after a restart and next to other servers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { publicUrl } from '../../common/redaction/hidable.ts';
import { plural } from '../../common/text.ts';
import type { Submission } from '../../config/submission.ts';
import type { BatchRecord, Store } from '../../store/store.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Changes } from '../changes.ts';
import type { BatchGroups } from '../groups/batchGroups.ts';
import type { BackPressure } from '../pressure/backPressure.ts';
import type { Shares } from '../shares/shares.ts';
import type { EndpointWait } from '../shares/waiting.ts';
import { Throttle } from '../throttle.ts';
import type { Hub } from '../workers/hub.ts';
import type { Leasing } from '../workers/leasing.ts';
import { endpointsOf, resolved } from './endpoints.ts';
import { BATCH_ID } from './ids.ts';
import { handleLoss, Losses } from './losses.ts';
import { notifyEnd } from './notify.ts';
import { recordRestart } from './restart.ts';
import type { Secrets } from './secrets.ts';
import { endSatisfied, hasStopRules, onlyWaits, reasonToStop } from './stopRules.ts';
import type { Submissions } from './submissions.ts';
import type { WorkerSource } from './workerSource.ts';

interface SupervisorOptions {
  readonly store: Store;
  readonly changes: Changes;
  readonly hub: Hub;
  readonly leasing: Leasing;
  readonly pressure: BackPressure;
  readonly groups: BatchGroups;
  readonly shares: Pick<Shares, 'update' | 'remove' | 'ended'>;
  readonly submissions: Submissions;
  readonly secrets: Secrets;
  readonly workers: WorkerSource | undefined;
  readonly log: Log;
}

const CHECK_EVERY_MS = 50;
const SECRETS_RETRY_MS = 5_000;
const SECRETS_WAIT_MS = 2_000;
const SESSIONS_EVERY_MS = 5_000;
/** Workers of a stopped batch normally end its rollouts within a second. After this time the server does. */
const STOP_GRACE_MS = 10_000;
/** How often one try may lose its worker. */
const MAX_LEASES = 25;

interface TrackedBatch {
  readonly id: string;
  readonly throttle: Throttle;
  submission: Submission | undefined;
  /** When to look again for missing values of its `${env:…}`. */
  secretsAt: number | undefined;
  /** Endpoints of its agent, and whether one of the calls was answered. */
  endpoints: readonly string[];
  answered: boolean;
  readonly losses: Losses;
  settled: boolean;
  /** Whether the band of its curriculum moves. */
  refreshed: boolean;
  /** Whether its rollouts are being ended here, so that workers must not be told to end them. */
  closing: boolean;
  stopTimer: NodeJS.Timeout | undefined;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #tracked = new Map<string, TrackedBatch>();
  readonly #end = new AbortController();
  readonly #unwatch: () => void;
  #sessions: NodeJS.Timeout | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#unwatch = options.changes.onAny((id) => {
      if (id === undefined)
        this.#trackActive().catch((error: unknown) =>
          options.log(`looking for batches failed: ${errorText(error)}`, { level: 'error' }),
        );
      else if (BATCH_ID.test(id)) this.check(id);
    });
  }

  /** Resumes the batches in the store. `startedAt`: when the server started, by the clock of the store. */
  async start(startedAt: number): Promise<void> {
    const { store, secrets } = this.#options;
    await store.graceForSessions();
    this.#sessions = setInterval(() => void this.#expire(), SESSIONS_EVERY_MS);
    this.#sessions.unref();
    const records = await this.#trackActive();
    await recordRestart(this.#options, records, { startedAt, ms: Math.round(performance.now()) });
    const active = new Set(records.map(({ row }) => row.batch));
    // A server that crashed right after a batch ended may have left its secrets behind.
    for (const batch of await secrets.batches()) if (!active.has(batch)) await secrets.remove(batch);
  }

  close(): void {
    this.#unwatch();
    clearInterval(this.#sessions);
    this.#end.abort();
    for (const batch of [...this.#tracked.keys()]) this.#untrack(batch);
  }

  /** Handles a change of the batch. */
  check(batch: string): void {
    this.#track(batch).throttle.request();
  }

  /** Handles that the values of its `${env:…}` were sent again. */
  valuesSent(batch: string): void {
    const tracked = this.#track(batch);
    tracked.secretsAt = performance.now();
    tracked.throttle.request();
  }

  /** Handles the end of one of its rollouts: there may be a retry, a free slot, or a reason to stop. */
  rolloutEnded(batch: string): void {
    const tracked = this.#track(batch);
    tracked.settled = true;
    // Stop rules run immediately. Otherwise the free slot could go to an attempt that the rule is about to end.
    tracked.throttle.request(
      tracked.submission !== undefined && hasStopRules(tracked.submission.stop, tracked.refreshed),
    );
    this.#options.leasing.check(batch, true);
    this.#options.shares.ended();
  }

  /** Handles a stored event of one of its rollouts: reports attempts lost to infrastructure, and stops if all are. */
  followed(batch: string, rollout: string, event: TraceEvent): void {
    const loss = this.#track(batch).losses.add(rollout, event);
    if (loss === undefined) return;
    const stop = (reason: string): Promise<unknown> => this.stop(batch, reason, 'infrastructure');
    handleLoss({ ...this.#options, batch, stop }, loss).catch((error: unknown) =>
      this.#options.log(`looking after ${batch} failed: ${errorText(error)}`, { level: 'error', batch }),
    );
  }

  /** Returns how many more rollouts of a batch its endpoints can take. */
  room(batch: string): number {
    const tracked = this.#tracked.get(batch);
    // It calls no models.
    if (tracked?.submission !== undefined && tracked.endpoints.length === 0) return Infinity;
    return this.#options.pressure.room(batch, tracked?.endpoints ?? []);
  }

  /** Returns why it waits for its endpoints. */
  endpointWait(batch: string): EndpointWait | undefined {
    const tracked = this.#tracked.get(batch);
    if (tracked?.submission === undefined || tracked.endpoints.length === 0) return undefined;
    return this.#options.pressure.waitOf(batch, tracked.endpoints);
  }

  /** Records that one of its model calls was answered. */
  answered(batch: string): void {
    const tracked = this.#tracked.get(batch);
    if (tracked !== undefined) tracked.answered = true;
  }

  /**
   * Handles an endpoint that rejects the batch's key, path, or model. On the first calls this is a configuration error,
   * so the batch stops with one message. Later, only the calls themselves fail.
   */
  async endpointRefused(batch: string, endpoint: string, reported: string): Promise<void> {
    const { store } = this.#options;
    const tracked = this.#track(batch);
    if (tracked.answered) return;
    tracked.answered = true; // report once
    const record = await store.batch(batch);
    if (
      record === undefined ||
      record.row.output_tokens > 0 ||
      record.stopping !== undefined ||
      record.row.state === 'ended'
    )
      return;
    const { secrets } = this.#options;
    const text = secrets.clean(batch, reported);
    const url = secrets.clean(batch, publicUrl(endpoint));
    await store.addBatchEvent(batch, 'infra', { what: 'endpoint', endpoint: url, text });
    await this.stop(batch, text, 'infrastructure');
  }

  /**
   * Ends a batch for good. Queued rollouts end now, workers cancel running ones. If the batch cannot run
   * (`infrastructure`), running ones end now, too: a worker would end them as cancelled. Returns the number of rollouts
   * affected.
   */
  async stop(batch: string, reason: string, status: 'cancelled' | 'infrastructure' = 'cancelled'): Promise<number> {
    const { store } = this.#options;
    const counts = (await store.batch(batch))?.row.counts;
    const tracked = this.#track(batch);
    const force = status === 'infrastructure';
    tracked.closing = force; // workers learn of it when their rollouts have ended
    try {
      await store.stop(batch, reason);
      await store.closeRollouts({ batch }, { status, reason }, force);
    } finally {
      tracked.closing = false;
      this.check(batch);
    }
    return counts === undefined ? 0 : counts.queued + counts.running + counts.held;
  }

  /**
   * Handles the loss of a worker that held these rollouts. A rollout that lost many workers may be what kills them, so
   * its try is closed.
   */
  async lostWorker(batch: string, rollouts: readonly string[], why: string): Promise<void> {
    const { store } = this.#options;
    for (const rollout of rollouts) {
      const epoch = (await store.rollout(rollout))?.row.epoch ?? 0;
      if (epoch < MAX_LEASES) continue;
      const reason = `${epoch} workers died while running this rollout. Last one: ${why}`;
      await store.closeRollouts({ batch, rollout }, { status: 'infrastructure', reason }, false);
    }
  }

  #track(id: string): TrackedBatch {
    let tracked = this.#tracked.get(id);
    if (tracked === undefined) {
      const created: TrackedBatch = {
        id,
        submission: undefined,
        secretsAt: undefined,
        endpoints: [],
        answered: false,
        losses: new Losses(),
        settled: true,
        refreshed: false,
        closing: false,
        stopTimer: undefined,
        throttle: new Throttle(
          CHECK_EVERY_MS,
          () => this.#update(created),
          (error) =>
            this.#options.log(`looking after ${id} failed: ${errorText(error)}`, { level: 'error', batch: id }),
        ),
      };
      tracked = created;
      this.#tracked.set(id, created);
      if (this.#end.signal.aborted) created.throttle.close();
    }
    return tracked;
  }

  #untrack(id: string): void {
    const tracked = this.#tracked.get(id);
    if (tracked === undefined) return;
    this.#tracked.delete(id);
    tracked.throttle.close();
    clearTimeout(tracked.stopTimer);
    this.#options.pressure.release(id);
    this.#options.groups.remove(id);
    this.#options.shares.remove(id);
    this.#options.workers?.removeBatch(id);
  }

  async #trackActive(): Promise<BatchRecord[]> {
    const records = await this.#options.store.activeBatches();
    for (const record of records) this.check(record.row.batch);
    return records;
  }

  async #update(tracked: TrackedBatch): Promise<void> {
    const { store, hub, leasing, workers } = this.#options;
    if (tracked.closing) return;
    const record = await store.batch(tracked.id);
    if (record === undefined || record.row.imported) {
      this.#untrack(tracked.id);
      return;
    }
    if (record.row.state === 'ended') {
      hub.sendBatchState(record, 'server'); // a worker may still run what was closed
      await this.#ended(tracked, record);
      return;
    }
    const isRetryDue = tracked.secretsAt !== undefined && performance.now() >= tracked.secretsAt;
    const submission =
      tracked.submission === undefined || isRetryDue ? await this.#use(tracked, record) : tracked.submission;
    this.#options.shares.update(record, submission);
    tracked.refreshed = record.spec.curriculum?.refresh !== undefined;
    hub.sendBatchState(record, 'server');
    leasing.check(tracked.id);
    workers?.updateBatch(record, submission);
    await this.#options.groups.check(record);
    if (record.stopping !== undefined) {
      this.#closeAfterGrace(tracked, record.stopping);
      return;
    }
    clearTimeout(tracked.stopTimer);
    tracked.stopTimer = undefined;
    // Another server may have ended before it closed them.
    tracked.settled ||= onlyWaits(record.row);
    if (tracked.settled && hasStopRules(submission.stop, tracked.refreshed))
      await this.#stopRules(tracked, submission.stop);
  }

  async #use(tracked: TrackedBatch, record: BatchRecord): Promise<Submission> {
    const { submissions, pressure, leasing } = this.#options;
    const submission = await submissions.get(record.spec.submission);
    const secrets = submission.env.names.length === 0 ? {} : await this.secretsOf(tracked.id, submission.env);
    tracked.secretsAt = secrets === undefined ? performance.now() + SECRETS_RETRY_MS : undefined;
    // Keep using the previous values.
    if (secrets === undefined && tracked.submission !== undefined) return submission;
    const values = secrets ?? {};
    this.#options.secrets.hide(tracked.id, submission.env, values);
    const { agent, others } = endpointsOf(submission, values);
    tracked.submission = submission;
    tracked.endpoints = agent;
    pressure.use(tracked.id, agent, others, submission.concurrency === 'auto' ? undefined : submission.concurrency);
    leasing.check(tracked.id, true);
    return submission;
  }

  /** Returns the secrets of a batch. Those another server received are read from where the workers get them. */
  async secretsOf(batch: string, env: Submission['env']): Promise<Record<string, string> | undefined> {
    const { secrets, workers, log } = this.#options;
    const local = await secrets.get(batch);
    if (local !== undefined) return local;
    try {
      // Do not wait for a cluster that does not respond.
      const shared = await Promise.race([workers?.secrets(batch), delay(SECRETS_WAIT_MS, undefined, { ref: false })]);
      if (shared !== undefined) await secrets.put(batch, env, shared);
      return shared;
    } catch (error) {
      log(`reading the values of its environment variables failed: ${errorText(error)}`, { level: 'warning', batch });
      return undefined;
    }
  }

  async #ended(tracked: TrackedBatch, record: BatchRecord): Promise<void> {
    const { store, secrets, leasing, log } = this.#options;
    const submission = tracked.submission;
    const values = submission?.notify === undefined ? undefined : await secrets.get(tracked.id);
    this.#untrack(tracked.id);
    await secrets.inTurn(async () => {
      // A retry may have reopened it in the meantime.
      if ((await store.batch(tracked.id))?.row.state !== 'ended') return;
      await secrets.remove(tracked.id);
      leasing.drained(tracked.id);
    });
    if (submission?.notify === undefined || !(await store.elect('notify'))) return;
    const [url] = resolved([submission.notify.url], values ?? {});
    if (url !== undefined) void notifyEnd(url, record.row, log, this.#end.signal);
  }

  async #stopRules(tracked: TrackedBatch, stop: Submission['stop']): Promise<void> {
    const { store } = this.#options;
    tracked.settled = false;
    const progress = await store.batchProgress(tracked.id, stop.passes_per_task);
    const reason = reasonToStop(stop, progress);
    if (reason !== undefined) {
      await this.stop(tracked.id, reason);
      return;
    }
    for (const { task, why } of progress.unneeded ?? [])
      await store.closeRollouts({ batch: tracked.id, task }, { status: 'cancelled', reason: why }, false);
    for (const task of progress.satisfied) await endSatisfied(store, tracked.id, task, stop.passes_per_task ?? 0);
  }

  #closeAfterGrace(tracked: TrackedBatch, reason: string): void {
    const { store, log } = this.#options;
    tracked.stopTimer ??= setTimeout(() => {
      tracked.stopTimer = undefined;
      store.closeRollouts({ batch: tracked.id }, { status: 'cancelled', reason }, true).catch((error: unknown) => {
        log(`ending the running attempts of ${tracked.id} failed: ${errorText(error)}`, {
          level: 'error',
          batch: tracked.id,
        });
      });
    }, STOP_GRACE_MS);
  }

  /** Requeues the rollouts of workers that did not renew their session within its lease. */
  async #expire(): Promise<void> {
    const { store, hub, leasing, workers, log } = this.#options;
    try {
      for (const ended of await store.expireSessions()) {
        log(`worker ${ended.worker} of ${ended.batch} was lost with ${plural(ended.rollouts.length, 'rollout')}`, {
          level: 'warning',
          batch: ended.batch,
          worker: ended.worker,
        });
        hub.session(ended.session)?.expire();
        workers?.workerLost(ended.batch, ended.worker);
        leasing.check(ended.batch, true);
      }
    } catch (error) {
      log(`looking for lost workers failed: ${errorText(error)}`, { level: 'error' });
    }
  }
}
