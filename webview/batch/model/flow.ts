/** How fast a batch goes, from the times of its rollouts: ends per hour and rollouts in flight, along the last stretch of time. */
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
export function flowOf(rows: Iterable<RolloutRow>, now: number): Flow | undefined {
  const spans: { readonly start: number; readonly end: number | undefined }[] = [];
  let first = Infinity;
  for (const { state, progress } of rows) {
    const { started_at: start, ended_at: end } = progress;
    if (start === undefined || (state === 'ended' && end === undefined)) continue;
    spans.push({ start, end: state === 'ended' ? end : undefined });
    if (start < first) first = start;
  }
  if (spans.length === 0) return undefined;
  const from = Math.max(now - LONGEST_MS, Math.min(first, now - SHORTEST_MS));
  const slice = (now - from) / SLICES;
  const ended = new Float64Array(SLICES);
  const changes = new Float64Array(SLICES + 1);
  for (const { start, end } of spans) {
    const began = at(start, from, slice);
    changes[began] = (changes[began] ?? 0) + 1;
    if (end === undefined) continue;
    const stopped = at(end, from, slice);
    changes[stopped] = (changes[stopped] ?? 0) - 1;
    if (end >= from && end <= now) ended[Math.min(SLICES - 1, stopped)] = (ended[Math.min(SLICES - 1, stopped)] ?? 0) + 1;
  }
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
