/**
 * The throughput of a batch, from the times of its rollouts: ended rollouts per hour and rollouts in flight, over the
 * latest time range.
 */
import { each, type Piecewise, sorted } from '../../../src/common/piecewise.ts';
import { endedPerHour, rangeStart, timesOf } from '../../../src/trace/statistics/throughput.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';

export interface Flow {
  /** Beginning and end of the range, in wall time. */
  readonly from: number;
  readonly to: number;
  /** Ended rollouts per hour, by slice of the range. Those cancelled or lost to infrastructure do not count. */
  readonly ends: readonly number[];
  /** Maximum number in flight, by slice. */
  readonly inFlight: readonly number[];
  /** Number of rollouts that have not ended. */
  readonly running: number;
  /** Maximum number in flight in the whole batch. */
  readonly most: number;
  /** Of an ended batch over its whole duration, else over the last slices. */
  readonly perHour: number;
}

const SLICES = 60;
/** Minimum time in flight, for rollouts that took no time. */
const MIN_STAY_MS = 1;

/**
 * Computes the throughput; undefined if no rollout has times (some recordings). `now` of an ended batch: `ended`, since
 * it lasted until its last rollout ended.
 */
export function* flowOf(rows: Iterable<RolloutRow>, at: number | 'ended'): Piecewise<Flow | undefined> {
  const times = yield* timesOf(rows);
  const { starts, stops, ends, first } = times;
  const perHour = yield* endedPerHour(times, at);
  if (perHour === undefined) return undefined;
  const ending = stops.reduce((last, stop) => (stop < Infinity && stop > last ? stop : last), first + MIN_STAY_MS);
  const now = at === 'ended' ? ending : at;
  const from = at === 'ended' ? first : rangeStart(first, now);
  const slice = (now - from) / SLICES;
  const ended = new Float64Array(SLICES);
  yield* each(ends, (end) => {
    const place = Math.min(SLICES - 1, placeOf(end, from, slice));
    if (end >= from && end <= now) ended[place] = (ended[place] ?? 0) + 1;
  });
  const flight = yield* flightOf(starts, stops, from, slice);
  const perSlice = 3_600_000 / slice;
  return {
    from,
    to: now,
    ends: [...ended].map((count) => count * perSlice),
    ...flight,
    perHour,
  };
}

/** Computes the number in flight between all beginnings and ends, since a rollout may be shorter than a slice. */
function* flightOf(
  starts: readonly number[],
  stops: readonly number[],
  from: number,
  slice: number,
): Piecewise<Pick<Flow, 'inFlight' | 'running' | 'most'>> {
  const begins = yield* sorted(new Float64Array(starts));
  const ends = new Float64Array(stops.length);
  yield* each(stops.keys(), (i) => void (ends[i] = Math.max(stops[i] ?? 0, (starts[i] ?? 0) + MIN_STAY_MS)));
  const overs = yield* sorted(ends);
  const inFlight: number[] = [];
  let [running, most, over] = [0, 0, 0];
  /** Fills the slices before a time with the current number in flight. */
  const goTo = (time: number): void => {
    const place = Math.min(SLICES - 1, placeOf(time, from, slice));
    while (inFlight.length <= place) inFlight.push(running);
  };
  const end = (time: number): void => {
    goTo(time);
    running -= 1;
    over += 1;
  };
  yield* each(begins, (begin) => {
    // Ends come first: what ends at the same time makes room.
    for (let next = overs[over] ?? Infinity; next <= begin; next = overs[over] ?? Infinity) end(next);
    goTo(begin);
    running += 1;
    if (running > most) most = running;
    const newest = inFlight.length - 1;
    if (running > (inFlight[newest] ?? Infinity)) inFlight[newest] = running;
  });
  yield* each(overs.subarray(over), (time) => {
    if (time < Infinity) end(time);
  });
  while (inFlight.length < SLICES) inFlight.push(running);
  return { inFlight, running, most };
}

/** Returns the slice of a time; −1 before the first. */
function placeOf(time: number, from: number, slice: number): number {
  return Math.max(-1, Math.floor((time - from) / slice));
}

/** Returns the time until all are done at this rate; undefined if unknown. */
export function timeLeft(open: number, perHour: number): number | undefined {
  return open === 0 || perHour <= 0 ? undefined : (open / perHour) * 3_600_000;
}
