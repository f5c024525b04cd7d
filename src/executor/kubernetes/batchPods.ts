/** Sees to it that one batch has a Job while it has rollouts to run. */

import { errorText, StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Submission } from '../../config/submission.ts';
import { isQuota } from '../../kubernetes/access/kubeErrors.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { ClusterHost } from '../executor.ts';
import { type BatchObjects, ownerOf } from './batchObjects.ts';
import { type NextRound, nextRound, type Round } from './jobRounds.ts';
import type { Rounds } from './rounds.ts';
import { podSizing } from './sizing.ts';

export interface BatchPodsOptions {
  readonly host: ClusterHost;
  readonly objects: BatchObjects;
  readonly rounds: Rounds;
  /** `watches`: another server makes Jobs. `unready`: this one will, once it knows which there are. */
  readonly role: () => 'makes' | 'watches' | 'unready';
  /** Jobs up to this number are those of before the batch was taken back. */
  readonly over: number;
  /** How one of its pods ended last that did not end well. */
  readonly lastBadEnd: () => string | undefined;
  readonly signal: AbortSignal;
}

/** What the cluster refused, or could not do, is tried again. */
const TRY_AGAIN_MS = 10_000;
/** A batch that is just being sent: its pods are counted when all tasks are there, or after a while. */
const SEAL_PATIENCE_MS = 3_000;
/** What no new try fixes: the cluster does not accept the Job as it is. */
const FOR_GOOD: ReadonlySet<string> = new Set(['config', 'unsupported', 'too_large']);

export class BatchPods {
  readonly #options: BatchPodsOptions;
  readonly #since = performance.now();
  #record: BatchRecord;
  #submission: Submission;
  /** What its pods start with is as this server would have it. */
  #written = false;
  /** The Job that is due, and when. */
  #due = { round: 0, at: 0 };
  readonly #told = new Set<string>();
  #looking = false;
  #again = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BatchPodsOptions, record: BatchRecord, submission: Submission) {
    this.#options = options;
    this.#record = record;
    this.#submission = submission;
  }

  /** It is paused, and keeps no pods meanwhile. */
  get released(): boolean {
    return this.#record.released;
  }

  get id(): string {
    return this.#record.row.batch;
  }

  update(record: BatchRecord, submission: Submission): void {
    this.#record = record;
    this.#submission = submission;
    this.look();
  }

  /** Something changed. */
  look(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#again = true;
    if (!this.#looking) void this.#lookOn();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #lookOn(): Promise<void> {
    this.#looking = true;
    while (this.#again && !this.#closed) {
      this.#again = false;
      const wait = await this.#step().catch((error: unknown) => this.#failed(error));
      if (wait > 0) this.#timer = setTimeout(() => this.look(), wait);
    }
    this.#looking = false;
  }

  /** Gives after how many ms to look again; 0: when something changed. */
  async #step(): Promise<number> {
    const { rounds, objects, role, signal } = this.#options;
    const now = role();
    if (now === 'unready') return 0;
    if (now === 'watches') {
      if (!this.#written) await objects.handOver(this.id, this.#submission, signal);
      this.#written = true;
      return 0;
    }
    const active = rounds.active(this.id);
    if (active !== undefined) await this.#lookAfter(active);
    if (active !== undefined) await this.#letGo(active);
    if (this.#record.paused || this.#record.stopping !== undefined) return 0;
    const next = nextRound({
      rounds: rounds.of(this.id),
      last: rounds.last(this.id),
      over: this.#options.over,
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
    // The last task came before the patience was over.
    const due = this.#record.sealed && next.afterMs === 0 ? 0 : this.#due.at;
    if (due > now) return due - now;
    const { counts } = this.#record.row;
    const sizing = podSizing(this.#submission, counts.queued + counts.running + counts.held, this.#record.sealed);
    const job = await objects.create(
      {
        batch: this.id,
        submission: this.#submission,
        round: next.round,
        fruitless: next.fruitless,
        settled: settledOf(this.#record),
        sizing,
      },
      signal,
    );
    this.#written = true;
    this.#told.clear();
    rounds.see(job);
    const made = rounds.active(this.id);
    if (this.#closed && made !== undefined) {
      // The batch ended meanwhile.
      await Promise.all([objects.removeJob(made, signal), objects.removeSecrets(this.id, false, signal)]);
      return 0;
    }
    host.log(
      `Job ${job.metadata.name} with ${plural(sizing.parallelism, 'pod')} at once, ${sizing.completions} in all`,
      {
        batch: this.id,
      },
    );
    return 0;
  }

  /**
   * A Job that an earlier server made starts pods with what this server would have them start with; one that waits is
   * told of.
   */
  async #lookAfter(active: Round): Promise<void> {
    const { objects, signal } = this.#options;
    if (!this.#written) await objects.write(this.id, this.#submission, active.slots, ownerOf(active), signal);
    this.#written = true;
    if (!active.suspended || active.released || this.#record.released) return;
    const { queue } = this.#submission.pods ?? {};
    await this.#tellOnce(
      `suspended ${active.name}`,
      'suspended',
      queue === undefined
        ? `Job ${active.name} is suspended: no pod starts until it is let go.`
        : `Job ${active.name} waits until the queue ${queue} admits it.`,
    );
  }

  /**
   * A batch that is paused for long keeps no pods: once nothing of it runs, its Job is suspended, and workers that end
   * give back what they hold. Where Kueue says when a Job runs it would be let go again at once: that one is
   * removed, which gives its quota to others, and the next one waits in the queue anew.
   */
  async #letGo(active: Round): Promise<void> {
    const { objects, rounds, signal } = this.#options;
    const {
      released,
      row: { counts },
    } = this.#record;
    const key = `released ${active.name}`;
    if (!released) {
      if (!active.released) return;
      rounds.see(await objects.setReleased(active, false, signal));
      this.#told.delete(key);
      await this.#options.host.tell(this.id, {
        what: 'pods_back',
        text: `Job ${active.name} goes on: its pods are started again.`,
      });
      return;
    }
    const { queue } = this.#submission.pods ?? {};
    if (counts.running > 0 || (active.suspended && queue === undefined)) return;
    if (queue === undefined) rounds.see(await objects.setReleased(active, true, signal));
    else await objects.removeJob(active, signal);
    await this.#tellOnce(
      key,
      'pods_released',
      `The batch is paused and keeps no pods: Job ${active.name} is ` +
        `${queue === undefined ? 'suspended' : `removed, and the next one waits for the queue ${queue}`} until it ` +
        'is resumed. What its pods held goes on then, from where its record ends.',
    );
  }

  async #failed(error: unknown): Promise<number> {
    const { host, signal } = this.#options;
    if (signal.aborted || this.#closed) return 0;
    const text = errorText(error);
    host.log(text, { level: 'warning', batch: this.id });
    try {
      if (StudioError.is(error) && FOR_GOOD.has(error.code)) {
        await this.#giveUp(text);
        return 0;
      }
      await this.#tellOnce(
        StudioError.is(error) ? `${error.code} ${String(error.details?.['reason'])}` : 'failed',
        isQuota(error) ? 'quota' : 'no_pods',
        `No pods for now: ${text}`,
      );
    } catch (failure) {
      host.log(`telling of its pods failed: ${errorText(failure)}`, { level: 'error', batch: this.id });
    }
    return TRY_AGAIN_MS;
  }

  /** Nothing more is made for it; its end follows. */
  async #giveUp(reason: string): Promise<void> {
    await this.#options.host.giveUp(this.id, reason);
    this.close();
  }

  async #tellOnce(key: string, what: string, text: string): Promise<void> {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    await this.#options.host.tell(this.id, { what, text });
  }
}

function settledOf({ row: { tasks, attempts, counts } }: BatchRecord): number {
  return tasks * attempts - counts.queued - counts.running - counts.held;
}
