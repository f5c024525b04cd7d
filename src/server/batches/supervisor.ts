/**
 * Looks after batches that have not ended: whenever one changed, its workers are told how it stands, its queue is
 * given out, its stop rules are looked at, and its end is noticed. All it knows it can read again from the store, so
 * it goes on after a restart, and beside other servers.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { Log } from '../../common/log.ts';
import { plural } from '../../common/text.ts';
import { resolveEnv } from '../../config/env.ts';
import { agentsOf, type Submission } from '../../config/submission.ts';
import type { BatchRecord, Store } from '../../store/store.ts';
import type { Changes } from '../changes.ts';
import type { BackPressure } from '../pressure/backPressure.ts';
import { Throttle } from '../throttle.ts';
import type { Hub } from '../workers/hub.ts';
import type { Leasing } from '../workers/leasing.ts';
import { BATCH_ID } from './ids.ts';
import { notifyEnd } from './notify.ts';
import type { Secrets } from './secrets.ts';
import { hasStopRules, reasonToStop } from './stopRules.ts';
import type { Submissions } from './submissions.ts';

/** Who brings workers, as far as the supervisor is concerned. */
export interface WorkerSource {
  /** How a batch that has not ended stands. Called often. */
  wants(record: BatchRecord, submission: Submission): void;
  /** It has ended, or is gone. */
  gone(batch: string): void;
  /** Values of `${env:…}` of a batch, where they are kept for its workers. */
  secrets(batch: string): Promise<Record<string, string> | undefined>;
}

export interface SupervisorOptions {
  readonly store: Store;
  readonly changes: Changes;
  readonly hub: Hub;
  readonly leasing: Leasing;
  readonly pressure: BackPressure;
  readonly submissions: Submissions;
  readonly secrets: Secrets;
  readonly workers: WorkerSource | undefined;
  readonly log: Log;
}

const LOOK_EVERY_MS = 50;
const SECRETS_AGAIN_MS = 5_000;
const SECRETS_WAIT_MS = 2_000;
const SESSIONS_EVERY_MS = 5_000;
/** Workers of a stopped batch end its rollouts themselves within a second; later the server does. */
const STOP_GRACE_MS = 10_000;
/** So often one try may lose its worker. */
const MAX_LEASES = 25;

interface TrackedBatch {
  readonly id: string;
  readonly throttle: Throttle;
  submission: Submission | undefined;
  /** The values of its `${env:…}` are not here: when to look for them again. */
  secretsAt: number | undefined;
  /** What its agent calls, and whether one of these calls was answered. */
  endpoints: readonly string[];
  answered: boolean;
  settled: boolean;
  stopTimer: NodeJS.Timeout | undefined;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #tracked = new Map<string, TrackedBatch>();
  readonly #end = new AbortController();
  readonly #unwatch: () => void;
  readonly #sessions: NodeJS.Timeout;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#unwatch = options.changes.onAny((id) => {
      if (id === undefined)
        this.#trackActive().catch((error: unknown) =>
          options.log(`looking for batches failed: ${errorText(error)}`, { level: 'error' }),
        );
      else if (BATCH_ID.test(id)) this.look(id);
    });
    this.#sessions = setInterval(() => void this.#expire(), SESSIONS_EVERY_MS);
    this.#sessions.unref();
  }

  /** Goes on with what the store holds. */
  async start(): Promise<void> {
    const { store, secrets } = this.#options;
    await store.graceForSessions();
    const active = await this.#trackActive();
    // A server that died between a batch's end and this left its secrets.
    for (const batch of await secrets.batches()) if (!active.has(batch)) await secrets.remove(batch);
  }

  close(): void {
    this.#unwatch();
    clearInterval(this.#sessions);
    this.#end.abort();
    for (const batch of [...this.#tracked.keys()]) this.#untrack(batch);
  }

  /** The batch changed. */
  look(batch: string): void {
    this.#track(batch).throttle.ask();
  }

  /** One of its rollouts ended: there may be a new try, a free place, a reason to stop. */
  rolloutEnded(batch: string): void {
    const tracked = this.#track(batch);
    tracked.settled = true;
    // A stop rule looks at once, or the place that is free now is given to what it would end.
    tracked.throttle.ask(tracked.submission !== undefined && hasStopRules(tracked.submission.stop));
    this.#options.leasing.look(batch, true);
  }

  agentEndpoints(batch: string): readonly string[] {
    return this.#tracked.get(batch)?.endpoints ?? [];
  }

  /** One of its model calls was answered. */
  answered(batch: string): void {
    const tracked = this.#tracked.get(batch);
    if (tracked !== undefined) tracked.answered = true;
  }

  /**
   * An endpoint would not have the batch's key, or knows neither its path nor its model. On the first calls that is a
   * wrong configuration: the batch stops with one message. Later the calls themselves fail.
   */
  async endpointRefused(batch: string, endpoint: string, text: string): Promise<void> {
    const { store } = this.#options;
    const tracked = this.#track(batch);
    if (tracked.answered) return;
    tracked.answered = true; // told once
    const record = await store.batch(batch);
    if (
      record === undefined ||
      record.row.output_tokens > 0 ||
      record.stopping !== undefined ||
      record.row.state === 'ended'
    )
      return;
    await store.tell(batch, 'infra', { what: 'endpoint', endpoint, text });
    await this.stop(batch, text, 'infrastructure');
  }

  /**
   * Ends a batch for good; what is queued ends now, what runs is cancelled by its workers. Gives how many ended now.
   */
  async stop(batch: string, reason: string, status: 'cancelled' | 'infrastructure' = 'cancelled'): Promise<number> {
    const { store } = this.#options;
    const counts = (await store.batch(batch))?.row.counts;
    await store.stop(batch, reason);
    this.look(batch);
    await store.closeRollouts({ batch }, { status, reason }, false);
    return counts === undefined ? 0 : counts.queued + counts.running + counts.held;
  }

  /**
   * A worker died with these rollouts. What that happened to again and again may be what kills them: such a try is
   * given up.
   */
  async lostWorker(batch: string, rollouts: readonly string[], why: string): Promise<void> {
    const { store } = this.#options;
    for (const rollout of rollouts) {
      const epoch = (await store.rollout(rollout))?.row.epoch ?? 0;
      if (epoch < MAX_LEASES) continue;
      const reason = `${epoch} workers were lost while they ran it; the last one: ${why}`;
      await store.closeRollouts({ batch, rollout }, { status: 'infrastructure', reason }, false);
    }
  }

  #track(id: string): TrackedBatch {
    let tracked = this.#tracked.get(id);
    if (tracked === undefined) {
      const own: TrackedBatch = {
        id,
        submission: undefined,
        secretsAt: undefined,
        endpoints: [],
        answered: false,
        settled: true,
        stopTimer: undefined,
        throttle: new Throttle(
          LOOK_EVERY_MS,
          () => this.#look(own),
          (error) =>
            this.#options.log(`looking after ${id} failed: ${errorText(error)}`, { level: 'error', batch: id }),
        ),
      };
      tracked = own;
      this.#tracked.set(id, own);
      if (this.#end.signal.aborted) own.throttle.close();
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
    this.#options.workers?.gone(id);
  }

  async #trackActive(): Promise<Set<string>> {
    const records = await this.#options.store.activeBatches();
    for (const record of records) this.look(record.row.batch);
    return new Set(records.map((record) => record.row.batch));
  }

  async #look(tracked: TrackedBatch): Promise<void> {
    const { store, hub, leasing, workers } = this.#options;
    const record = await store.batch(tracked.id);
    if (record === undefined || record.row.imported) {
      this.#untrack(tracked.id);
      return;
    }
    if (record.row.state === 'ended') {
      await this.#ended(tracked, record);
      return;
    }
    const again = tracked.secretsAt !== undefined && performance.now() >= tracked.secretsAt;
    const submission =
      tracked.submission === undefined || again ? await this.#use(tracked, record) : tracked.submission;
    hub.standing(record, 'server');
    leasing.look(tracked.id);
    workers?.wants(record, submission);
    if (record.stopping !== undefined) {
      this.#graceOfStopped(tracked, record.stopping);
      return;
    }
    clearTimeout(tracked.stopTimer);
    tracked.stopTimer = undefined;
    if (tracked.settled && hasStopRules(submission.stop)) await this.#stopRules(tracked, submission.stop);
  }

  async #use(tracked: TrackedBatch, record: BatchRecord): Promise<Submission> {
    const { submissions, pressure, leasing } = this.#options;
    const submission = await submissions.get(record.spec.submission);
    const found = submission.env.names.length === 0 ? {} : await this.#secrets(tracked.id);
    tracked.secretsAt = found === undefined ? performance.now() + SECRETS_AGAIN_MS : undefined;
    // What was tried before goes on as it is.
    if (found === undefined && tracked.submission !== undefined) return submission;
    const values = found ?? {};
    const agent = resolved(submission.agent.model.endpoints, values);
    const members = resolved(
      agentsOf(submission).flatMap(({ model }) => model.endpoints),
      values,
    );
    const others = [
      ...new Set(members.filter((endpoint) => !agent.includes(endpoint))),
      ...(submission.world?.user === undefined ? [] : resolved(submission.world.user.model.endpoints, values)),
      ...(submission.scorer.kind === 'judge' ? resolved(submission.scorer.model.endpoints, values) : []),
    ];
    tracked.submission = submission;
    tracked.endpoints = agent;
    pressure.use(tracked.id, agent, others, submission.concurrency === 'auto' ? undefined : submission.concurrency);
    leasing.look(tracked.id, true);
    return submission;
  }

  /** What a server before this one, or beside it, was given is kept for the workers: from there it comes here. */
  async #secrets(batch: string): Promise<Record<string, string> | undefined> {
    const { secrets, workers, log } = this.#options;
    const here = await secrets.get(batch);
    if (here !== undefined) return here;
    try {
      // Nothing waits for a cluster that does not answer.
      const there = await Promise.race([workers?.secrets(batch), delay(SECRETS_WAIT_MS, undefined, { ref: false })]);
      if (there !== undefined) await secrets.put(batch, there);
      return there;
    } catch (error) {
      log(`reading the values of its environment variables failed: ${errorText(error)}`, { level: 'warning', batch });
      return undefined;
    }
  }

  async #ended(tracked: TrackedBatch, record: BatchRecord): Promise<void> {
    const { store, secrets, leasing, log } = this.#options;
    const seenAlive = tracked.submission;
    const values = seenAlive?.notify === undefined ? undefined : await secrets.get(tracked.id);
    leasing.drained(tracked.id);
    this.#untrack(tracked.id);
    await secrets.remove(tracked.id);
    if (seenAlive?.notify === undefined || !(await store.elect('notify'))) return;
    const [url] = resolved([seenAlive.notify.url], values ?? {});
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
    for (const task of progress.satisfied) await this.#satisfied(tracked.id, task, stop.passes_per_task ?? 0);
  }

  /** A task passed often enough: nothing more of it is run. */
  async #satisfied(batch: string, task: string, passes: number): Promise<void> {
    const { store } = this.#options;
    const reason = `stop.passes_per_task: ${plural(passes, 'attempt')} of the task passed.`;
    await store.closeRollouts({ batch, task }, { status: 'cancelled', reason }, false);
    let after: string | undefined;
    do {
      const page = await store.rollouts(batch, { task, limit: 500, ...(after === undefined ? {} : { after }) });
      for (const row of page.rollouts) {
        if (row.state === 'running' || row.state === 'held')
          await store.putCommand({
            id: newId('c'),
            batch,
            rollout: row.rollout,
            verb: 'cancel',
            args: { reason },
            by: 'stop.passes_per_task',
          });
      }
      after = page.next;
    } while (after !== undefined);
  }

  #graceOfStopped(tracked: TrackedBatch, reason: string): void {
    const { store, log } = this.#options;
    tracked.stopTimer ??= setTimeout(() => {
      tracked.stopTimer = undefined;
      store.closeRollouts({ batch: tracked.id }, { status: 'cancelled', reason }, true).catch((error: unknown) => {
        log(`ending what runs of ${tracked.id} failed: ${errorText(error)}`, { level: 'error', batch: tracked.id });
      });
    }, STOP_GRACE_MS);
  }

  /** Workers that gave no sign of life for a lease: their rollouts are queued again. */
  async #expire(): Promise<void> {
    const { store, hub, leasing, log } = this.#options;
    try {
      for (const ended of await store.expireSessions()) {
        log(`worker ${ended.worker} of ${ended.batch} was lost with ${plural(ended.rollouts.length, 'rollout')}`, {
          level: 'warning',
          batch: ended.batch,
          worker: ended.worker,
        });
        hub.session(ended.session)?.expire();
        leasing.look(ended.batch, true);
      }
    } catch (error) {
      log(`looking for lost workers failed: ${errorText(error)}`, { level: 'error' });
    }
  }
}

/** Texts with `${env:…}` put in; one whose value is not here (another server has it) stays as it is. */
function resolved(texts: readonly string[], values: Readonly<Record<string, string>>): string[] {
  return texts.map((text) => {
    try {
      return resolveEnv(text, values);
    } catch (error) {
      if (StudioError.is(error, 'config')) return text;
      throw error;
    }
  });
}
