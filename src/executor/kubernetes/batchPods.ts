/** Makes sure that a batch has a Job while it has rollouts to run. */

import { errorText, StudioError } from '../../common/errors.ts';
import { listText, plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { Submission } from '../../config/submission.ts';
import { isQuota } from '../../kubernetes/access/kubeErrors.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { ClusterHost } from '../executor.ts';
import { type BatchObjects, ownerOf } from './batchObjects.ts';
import { isForeign, missingValues, settledOf, suspension, withQueue } from './batchPodsState.ts';
import { type NextRound, nextRound, type Round } from './jobRounds.ts';
import { PodAllowance, type PodLimit } from './podAllowance.ts';
import type { Rounds } from './rounds.ts';
import { grown, type PodSizing, podSizing, resized } from './sizing.ts';

interface BatchPodsOptions {
  readonly host: ClusterHost;
  readonly objects: BatchObjects;
  readonly rounds: Rounds;
  /** `watches`: another server creates Jobs. `unready`: this server will, once it has listed the existing ones. */
  readonly role: () => 'makes' | 'watches' | 'unready';
  /** Jobs up to this number precede the retry of the batch. */
  readonly ignoredRounds: number;
  /** Returns how many pods it may have in all; undefined if nothing limits that. */
  readonly allowed: () => PodLimit | undefined;
  /** Returns how the last of its failed pods ended. */
  readonly lastBadEnd: () => string | undefined;
  /** Returns what Kueue says about a Job that it does not admit. */
  readonly queueReason: (job: string) => string | undefined;
  readonly signal: AbortSignal;
}

/** Delay before a failed or refused request is retried. */
const RETRY_MS = 10_000;
/** How often a batch with fewer pods than it could have looks whether it may have more. */
const SHARE_MS = 2_000;
/** A queue with room admits a Job within moments, which nobody needs to know. */
const ADMISSION_MS = 3_000;
/** While a batch is still being submitted, sizing its pods waits for all tasks, up to this time. */
const SEAL_PATIENCE_MS = 3_000;
const SUSPENDED = 'suspended';
const SILENT = 'nothing says why. Check that Kueue runs, and that the namespace has this LocalQueue';
/** Errors that a retry does not fix: the cluster does not accept the Job. */
const FOR_GOOD: ReadonlySet<string> = new Set(['config', 'unsupported', 'too_large']);

export class BatchPods {
  readonly #options: BatchPodsOptions;
  readonly #since = performance.now();
  #record: BatchRecord;
  #submission: Submission;
  /** Whether this server has written the objects its pods start with. */
  #hasObjects = false;
  /** The next Job, and when to create it. */
  #due = { round: 0, at: 0 };
  /** Objects that others deleted, and when this was noticed. */
  #lost: { readonly objects: readonly string[]; readonly at: number } | undefined;
  /** The variables whose values nobody has anymore, and how often they were missed. */
  #lacking: { readonly names: readonly string[]; readonly times: number } | undefined;
  readonly #reported = new Set<string>();
  /** Since when its Job is suspended. */
  #suspendedAt: number | undefined;
  readonly #allowance: PodAllowance;
  #isRunning = false;
  #isRequested = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BatchPodsOptions, record: BatchRecord, submission: Submission) {
    this.#options = options;
    this.#record = record;
    this.#submission = this.#queued(submission);
    this.#allowance = new PodAllowance(options.allowed);
  }

  #queued(submission: Submission): Submission {
    return withQueue(submission, this.#options.host.shares?.localQueue(this.id));
  }

  /** Pods that it has, or is getting, and those that it could have. */
  get pods(): { readonly has: number; readonly wants: number } {
    const has = Math.max(this.#allowance.coming, this.#options.rounds.active(this.id)?.pods ?? 0);
    const { row, paused, stopping } = this.#record;
    const ends = paused || stopping !== undefined || row.counts.queued === 0;
    return { has, wants: ends ? has : Math.max(has, this.#sizing().parallelism) };
  }

  /** Why it has no pods, or fewer than it could have. */
  get wait(): { readonly why: 'pods' | 'cluster' | 'queue'; readonly text: string } | undefined {
    const active = this.#options.rounds.active(this.id);
    const { text } = this.#allowance;
    const suspended = this.#record.released ? undefined : this.#suspension(active);
    return suspended ?? (text === undefined ? undefined : { why: 'pods', text });
  }

  #suspension(active: Round | undefined): ReturnType<typeof suspension> {
    return suspension(active, this.#submission.pods?.queue, (job) => this.#queueReason(job));
  }

  #queueReason(job: string): string | undefined {
    const since = this.#suspendedAt;
    const isSilent = since !== undefined && performance.now() - since >= ADMISSION_MS;
    return this.#options.queueReason(job) ?? (isSilent ? SILENT : undefined);
  }

  #sizing(): PodSizing {
    const { counts } = this.#record.row;
    return podSizing(this.#submission, counts.queued + counts.running + counts.held, this.#record.sealed);
  }

  /** The variables of `${env:…}` whose values neither the server nor the cluster has, so that no pod can start. */
  get lacking(): readonly string[] {
    return this.#lacking?.names ?? [];
  }

  /** Looks whether everything that its pods start with still exists, and creates again what others deleted. */
  async checkObjects(): Promise<void> {
    const { objects, role, rounds, signal } = this.#options;
    if (this.#closed || !this.#hasObjects || role() === 'unready') return;
    if (role() === 'watches') {
      this.#hasObjects = false; // hands over the values again if they are gone
      this.request();
      return;
    }
    if (rounds.active(this.id) === undefined) return; // the next Job writes them
    try {
      const missing = await objects.missing(this.id, signal);
      if (missing.length === 0) return;
      this.#lost = { objects: missing, at: performance.now() };
    } catch (error) {
      if (!isForeign(error)) throw error;
    }
    this.#hasObjects = false;
    this.request();
  }

  /** Reports that others deleted its active Job. Its rollouts continue in the next one. */
  async jobDeleted(name: string): Promise<void> {
    if (this.#closed || this.#options.role() !== 'makes') return;
    await this.#options.host.recordInfra(this.id, {
      what: 'job_deleted',
      text: `Job ${name} was deleted by someone else, with its pods. The next Job continues their rollouts.`,
    });
  }

  /** Whether it is paused without pods. */
  get released(): boolean {
    return this.#record.released;
  }

  get id(): string {
    return this.#record.row.batch;
  }

  update(record: BatchRecord, submission: Submission): void {
    this.#record = record;
    this.#submission = this.#queued(submission);
    this.request();
  }

  /** Schedules a check after a change. */
  request(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#isRequested = true;
    if (!this.#isRunning) void this.#run();
  }

  /** Allows the addresses that what the batch names has now. */
  async refreshNetwork(): Promise<void> {
    const { objects, role, signal } = this.#options;
    if (this.#hasObjects && role() === 'makes') await objects.refreshNetwork(this.id, this.#submission, signal);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isRequested && !this.#closed) {
      this.#isRequested = false;
      const wait = await this.#step().catch((error: unknown) => this.#failed(error));
      if (wait > 0) this.#timer = setTimeout(() => this.request(), wait);
    }
    this.#isRunning = false;
  }

  /** Does the next step. Returns after how many ms to check again; 0 means at the next change. */
  async #step(): Promise<number> {
    const { rounds, objects, role, signal } = this.#options;
    const now = role();
    if (now === 'unready') return 0;
    if (now === 'watches') {
      if (!this.#hasObjects) await objects.handOver(this.id, this.#submission, signal);
      this.#hasObjects = true;
      return 0;
    }
    const active = rounds.active(this.id);
    // Pods of an older version do not know this server, or cannot prove which one they are. Their Job is replaced, and
    // their rollouts continue in the next one.
    const proves = this.#submission.pods?.isolation === 'pod';
    if (active !== undefined && ((objects.tls && !active.tls) || (proves && !active.single))) {
      await objects.removeJob(active, signal);
      return 0;
    }
    const wait = active === undefined ? 0 : await this.#lookAfter(active);
    if (active !== undefined && !(await this.#releasePods(active))) return SHARE_MS;
    if (this.#record.paused || this.#record.stopping !== undefined) return 0;
    if (active !== undefined) return active.suspended ? wait : this.#grow(active);
    const next = nextRound({
      rounds: rounds.of(this.id),
      last: rounds.last(this.id),
      ignoredRounds: this.#options.ignoredRounds,
      queued: this.#record.row.counts.queued,
      settled: settledOf(this.#record),
      retries: this.#submission.retry.infrastructure,
    });
    switch (next.do) {
      case 'wait':
        return 0;
      case 'give_up':
        await this.#giveUp([next.reason, this.#options.lastBadEnd()].filter((text) => text !== undefined).join(' '));
        return 0;
      case 'create':
        return this.#create(next);
    }
  }

  async #create(next: Extract<NextRound, { do: 'create' }>): Promise<number> {
    const { rounds, objects, host, signal } = this.#options;
    const now = performance.now();
    if (this.#due.round !== next.round)
      this.#due = {
        round: next.round,
        at: Math.max(now + next.afterMs, this.#record.sealed ? 0 : this.#since + SEAL_PATIENCE_MS),
      };
    // The last task arrived before the time was over.
    const due = this.#record.sealed && next.afterMs === 0 ? 0 : this.#due.at;
    if (due > now) return due - now;
    const wanted = this.#sizing();
    const allowed = this.#allowance.of(wanted.parallelism);
    if (allowed === 0) return SHARE_MS;
    const sizing = resized(wanted, allowed, this.#isSingle);
    const plan = {
      batch: this.id,
      submission: this.#submission,
      round: next.round,
      fruitless: next.fruitless,
      settled: settledOf(this.#record),
      sizing,
    };
    // From then on, its Job says which pods it has.
    const job = await this.#allowance.while(sizing.parallelism, async () => {
      const attached = await host.attached(this.id, this.#submission);
      const created = await objects.create({ ...plan, attached }, signal);
      rounds.see(created);
      return created;
    });
    await this.#restored();
    this.#hasObjects = true;
    this.#reported.clear();
    this.#suspendedAt = undefined;
    const created = rounds.active(this.id);
    if (this.#closed && created !== undefined) {
      // The batch ended in the meantime.
      await Promise.all([objects.removeJob(created, signal), objects.removeSecrets(this.id, false, signal)]);
      return 0;
    }
    host.log(
      `Job ${job.metadata.name}: ${plural(sizing.parallelism, 'pod')} in parallel, ${sizing.completions} in total`,
      {
        batch: this.id,
      },
    );
    return 0;
  }

  /** Whether each of its pods runs a single rollout. */
  get #isSingle(): boolean {
    return this.#submission.pods?.isolation === 'pod';
  }

  /** Gives a Job that got fewer pods than it could have those that others left. Kueue admits all or none. */
  async #grow(active: Round): Promise<number> {
    const { objects, rounds, signal } = this.#options;
    const { has, wants } = this.pods;
    if (this.#submission.pods?.queue !== undefined || !this.#allowance.isLimited) return 0;
    const allowed = this.#allowance.of(wants);
    const sizes = grown(active, allowed - has, this.#isSingle);
    if (sizes !== undefined)
      await this.#allowance.while(allowed, async () => rounds.see(await objects.resize(active, sizes, signal)));
    return allowed < wants ? SHARE_MS : 0;
  }

  /**
   * Updates the objects with which the pods of an earlier server's Job start, and reports a Job that waits. Returns
   * after how many ms to look again; 0 means at the next change.
   */
  async #lookAfter(active: Round): Promise<number> {
    const { objects, signal } = this.#options;
    if (!this.#hasObjects) {
      await objects.write(this.id, this.#submission, active.slots, ownerOf(active), signal);
      await this.#restored();
    }
    this.#hasObjects = true;
    const suspended = this.#record.released ? undefined : this.#suspension(active);
    if (suspended === undefined) {
      this.#suspendedAt = undefined;
      this.#reported.delete(SUSPENDED);
      return 0;
    }
    this.#suspendedAt ??= performance.now();
    if (suspended.why === 'queue' && this.#queueReason(active.name) === undefined)
      return Math.max(1, this.#suspendedAt + ADMISSION_MS - performance.now());
    await this.#reportOnce(SUSPENDED, 'suspended', suspended.text);
    return 0;
  }

  /**
   * Releases the pods of a paused batch: once none of its attempts run, its Job is suspended, and ending workers return
   * their held rollouts. Kueue would resume a suspended Job immediately, so there the Job is removed instead. This
   * frees its quota, and the next Job waits in the queue again. Returns false if a batch that was resumed may not have
   * pods yet.
   */
  async #releasePods(active: Round): Promise<boolean> {
    const { objects, rounds, signal } = this.#options;
    const {
      released,
      row: { counts },
    } = this.#record;
    const key = `released ${active.name}`;
    if (!released) {
      if (!active.released || this.#record.stopping !== undefined) return true;
      const pods = this.#allowance.of(Math.max(1, active.parallelism));
      if (pods === 0) return false;
      const sizes = pods < active.parallelism ? resized(active, pods, this.#isSingle) : undefined;
      await this.#allowance.while(pods, async () =>
        rounds.see(await objects.setReleased(active, false, signal, sizes)),
      );
      this.#reported.delete(key);
      await this.#options.host.recordInfra(this.id, {
        what: 'pods_back',
        text: `Job ${active.name} was resumed. Its pods are starting again.`,
      });
      return true;
    }
    const { queue } = this.#submission.pods ?? {};
    if (counts.running > 0 || (active.suspended && queue === undefined)) return true;
    if (queue === undefined) rounds.see(await objects.setReleased(active, true, signal));
    else await objects.removeJob(active, signal);
    await this.#reportOnce(
      key,
      'pods_released',
      `The batch is paused without pods: Job ${active.name} is ` +
        `${queue === undefined ? 'suspended' : `removed, and the next one waits for the queue ${queue}`} until you ` +
        'resume the batch. Held attempts then continue from their last recorded event.',
    );
    return true;
  }

  /** Handles that its objects were written: reports those that others had deleted. */
  async #restored(): Promise<void> {
    const lost = this.#lost;
    const sent = this.#lacking !== undefined && this.#lacking.times > 1;
    this.#lost = undefined;
    this.#lacking = undefined;
    for (const key of ['values', 'foreign']) this.#reported.delete(key);
    if (lost === undefined) return;
    const ms = Math.round(performance.now() - lost.at);
    const text =
      `${listText(lost.objects)} ${lost.objects.length === 1 ? 'was' : 'were'} deleted by someone else, and created ` +
      `again ${duration(ms)} after the server noticed${sent ? ', once the values were sent again' : ''}.`;
    this.#options.host.log(text, { level: 'warning', batch: this.id });
    await this.#options.host.recordInfra(this.id, { what: 'objects_lost', ms, text });
  }

  async #failed(error: unknown): Promise<number> {
    const { host, signal } = this.#options;
    if (signal.aborted || this.#closed) return 0;
    const text = errorText(error);
    const names = StudioError.is(error) ? missingValues.safeParse(error.details).data?.missing : undefined;
    this.#lacking = names === undefined ? undefined : { names, times: (this.#lacking?.times ?? 0) + 1 };
    host.log(text, { level: 'warning', batch: this.id });
    try {
      if (StudioError.is(error) && FOR_GOOD.has(error.code)) {
        await this.#giveUp(text);
        return 0;
      }
      if (this.#lacking !== undefined) {
        // Another server that has them may just be about to write them.
        if (this.#lacking.times > 1) await this.#reportOnce('values', 'values_lost', `No pod can start. ${text}`);
        return RETRY_MS;
      }
      if (isForeign(error)) {
        await this.#reportOnce('foreign', 'objects_taken', `No pod can start. ${text}`);
        return RETRY_MS;
      }
      await this.#reportOnce(
        StudioError.is(error) ? `${error.code} ${String(error.details?.['reason'])}` : 'failed',
        isQuota(error) ? 'quota' : 'no_pods',
        `Cannot start pods: ${text}`,
      );
    } catch (failure) {
      host.log(`reporting on its pods failed: ${errorText(failure)}`, { level: 'error', batch: this.id });
    }
    return RETRY_MS;
  }

  /** Ends a batch that cannot get pods. */
  async #giveUp(reason: string): Promise<void> {
    await this.#options.host.giveUp(this.id, reason);
    this.close();
  }

  async #reportOnce(key: string, what: string, text: string): Promise<void> {
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    await this.#options.host.recordInfra(this.id, { what, text });
  }
}
