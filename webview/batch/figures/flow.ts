/** How fast a batch goes, from the times of its rollouts: ends per hour and rollouts in flight, along the last stretch of time. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';

export interface Flow {
  /** Where the stretch begins and ends, in wall time. */
  readonly from: number;
  readonly to: number;
  /** Ended rollouts per hour, by slice of the stretch. */
  readonly ends: readonly number[];
  readonly inFlight: readonly number[];
  /** Over the last slices. */
  readonly perHour: number;
}

const SLICES = 60;
const LONGEST_MS = 3_600_000;
const SHORTEST_MS = 60_000;
/** The present rate is that of this share of the stretch, so that one long rollout does not make it jump. */
const RECENT = 12;

/** undefined where no rollout has times (recordings without them). `now`: of a batch that ended, when it did. */
export function* flowOf(rows: Iterable<RolloutRow>, now: number): Piecewise<Flow | undefined> {
  const starts: number[] = [];
  /** Infinity: not ended yet. */
  const stops: number[] = [];
  let first = Infinity;
  yield* each(rows, ({ state, progress }) => {
    const { started_at: start, ended_at: end } = progress;
    if (start === undefined || (state === 'ended' && end === undefined)) return;
    starts.push(start);
    stops.push(state === 'ended' ? end ?? Infinity : Infinity);
    if (start < first) first = start;
  });
  if (starts.length === 0) return undefined;
  const from = Math.max(now - LONGEST_MS, Math.min(first, now - SHORTEST_MS));
  const slice = (now - from) / SLICES;
  const ended = new Float64Array(SLICES);
  const changes = new Float64Array(SLICES + 1);
  const add = (to: Float64Array, place: number, number: number): void => void (to[place] = (to[place] ?? 0) + number);
  yield* each(starts.keys(), (i) => {
    const [start = 0, end = Infinity] = [starts[i], stops[i]];
    add(changes, at(start, from, slice), 1);
    if (end === Infinity) return;
    const stopped = at(end, from, slice);
    add(changes, stopped, -1);
    if (end >= from && end <= now) add(ended, Math.min(SLICES - 1, stopped), 1);
  });
  let running = 0;
  const inFlight = [...changes.subarray(0, SLICES)].map((change) => (running += change));
  const perSlice = 3_600_000 / slice;
  const since = Math.max(first, from);
  const recent = ended.subarray(SLICES - RECENT).reduce((sum, count) => sum + count, 0);
  const recentMs = Math.max(1, Math.min(RECENT * slice, now - since));
  return { from, to: now, ends: [...ended].map((count) => count * perSlice), inFlight, perHour: (recent * 3_600_000) / recentMs };
}

function at(time: number, from: number, slice: number): number {
  return Math.max(0, Math.min(SLICES, Math.floor((time - from) / slice)));
}

/** Time until all are done at this rate; undefined where it cannot be told. */
export function timeLeft(open: number, perHour: number): number | undefined {
  return open === 0 || perHour <= 0 ? undefined : (open / perHour) * 3_600_000;
}
