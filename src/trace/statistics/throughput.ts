/** How fast a batch is: ended rollouts per hour. The same figure in the pages, the command line, and reports. */
import { each, type Piecewise } from '../../common/piecewise.ts';
import { type CountName, countNameOf } from '../outcome.ts';
import type { RolloutRow } from '../summary.ts';

/** The times of rollouts, in wall time. */
export interface RolloutTimes {
  readonly starts: readonly number[];
  /** Infinity for rollouts that have not ended. */
  readonly stops: readonly number[];
  /** The stops that are throughput: without attempts that were cancelled or lost to infrastructure. */
  readonly ends: readonly number[];
  /** The first start; Infinity without any. */
  readonly first: number;
}

/** Counts of rollouts that produced nothing, or not yet. */
const UNFINISHED: ReadonlySet<CountName> = new Set(['queued', 'running', 'held', 'cancelled', 'infrastructure']);
const HOUR_MS = 3_600_000;
/** The longest range that a page shows of a running batch, and the shortest. */
const MAX_SPAN_MS = HOUR_MS;
const MIN_SPAN_MS = 60_000;
/** The rate of a running batch is that of the last part of the range, so that it follows changes. */
const RECENT_SHARE = 1 / 5;

/** Returns the times of the rollouts that recorded theirs. */
export function* timesOf(rows: Iterable<RolloutRow>): Piecewise<RolloutTimes> {
  const starts: number[] = [];
  const stops: number[] = [];
  const ends: number[] = [];
  let first = Infinity;
  yield* each(rows, (row) => {
    const { state, progress } = row;
    const { started_at: start, ended_at: end } = progress;
    if (start === undefined || (state === 'ended' && end === undefined)) return;
    starts.push(start);
    stops.push(state === 'ended' ? (end ?? Infinity) : Infinity);
    if (end !== undefined && !UNFINISHED.has(countNameOf(row))) ends.push(end);
    if (start < first) first = start;
  });
  return { starts, stops, ends, first };
}

/** Returns the range that the throughput of a running batch is shown for, up to `now`. */
export function rangeStart(first: number, now: number): number {
  return Math.max(now - MAX_SPAN_MS, Math.min(first, now - MIN_SPAN_MS));
}

/**
 * Returns ended rollouts per hour; undefined without times. `at`: the current time; `ended` for an ended batch, whose
 * rate is that of the whole time that it ran.
 */
export function* endedPerHour(
  { stops, ends, first }: RolloutTimes,
  at: number | 'ended',
): Piecewise<number | undefined> {
  if (stops.length === 0) return undefined;
  let last = first;
  if (at === 'ended')
    yield* each(stops, (stop) => {
      if (stop < Infinity && stop > last) last = stop;
    });
  const now = at === 'ended' ? last : at;
  const window = at === 'ended' ? now - first : (now - rangeStart(first, now)) * RECENT_SHARE;
  let ended = 0;
  yield* each(ends, (stop) => {
    if (stop >= now - window && stop <= now) ended += 1;
  });
  return (ended * HOUR_MS) / Math.max(1, Math.min(window, now - first));
}

/** Returns the rate of a batch, by the rows that count for its attempts; undefined without times. */
export function* rateOf(batch: { readonly state: string }, rows: Iterable<RolloutRow>): Piecewise<number | undefined> {
  return yield* endedPerHour(yield* timesOf(rows), batch.state === 'ended' ? 'ended' : Date.now());
}
