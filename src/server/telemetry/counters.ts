/** Counters that this server updates as things happen. Updating one only changes a number. */
import { idTime } from '../../common/ids.ts';
import type { AppendResult } from '../../store/store.ts';
import { outcomeOf } from '../../trace/outcome.ts';
import type { EventData } from '../../trace/schema.ts';
import { EMPTY_PROGRESS } from '../../trace/summary.ts';
import { Counter, Histogram } from './prometheus.ts';

const APPEND_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LEASE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const QUEUE_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

export type AppendOutcome = 'stored' | Exclude<AppendResult, { ok: true }>['code'] | 'invalid' | 'failed';
const APPEND_OUTCOMES: readonly AppendOutcome[] = ['stored', 'fenced', 'gap', 'full', 'tampered', 'invalid', 'failed'];
const END_OUTCOMES = ['passed', 'failed', 'unscored', 'truncated', 'cancelled', 'infrastructure'] as const;

export class Counters {
  readonly leases = new Counter();
  readonly leaseSeconds = new Histogram(LEASE_SECONDS);
  readonly queueSeconds = new Histogram(QUEUE_SECONDS);
  readonly appends = new Counter('result', APPEND_OUTCOMES);
  readonly appendSeconds = new Histogram(APPEND_SECONDS);
  readonly events = new Counter();
  readonly eventBytes = new Counter();
  readonly ended = new Counter('outcome', END_OUTCOMES);
  readonly traces = new Counter('result', ['exported', 'lost']);
  /** Finished rollouts waiting to be exported. */
  tracesWaiting = 0;

  /** Counts a lease. Only the first lease of a rollout shows how long it was queued. */
  leased(rollout: string, epoch: number): void {
    this.leases.add();
    const queuedAt = epoch === 1 ? idTime(rollout) : undefined;
    if (queuedAt !== undefined) this.queueSeconds.observe(Math.max(0, Date.now() - queuedAt) / 1_000);
  }

  appended(outcome: AppendOutcome, since: number): void {
    this.appends.add(1, outcome);
    if (outcome === 'stored') this.appendSeconds.observe((performance.now() - since) / 1_000);
  }

  /** Counts events that are durable now. */
  stored(events: number, bytes: number): void {
    this.events.add(events);
    this.eventBytes.add(bytes);
  }

  rolloutEnded({ status, passed }: EventData['rollout.end']): void {
    this.ended.add(1, outcomeOf({ state: 'ended', progress: { ...EMPTY_PROGRESS, status, passed } }));
  }
}
