/** Everything that is marked as failed in a trajectory: calls, the end, and checks of a score. E stops at each. */
import { checkRows, checksOf } from '../../src/trace/checkRows.ts';
import { failurePlaces } from '../../src/trace/cursor.ts';
import type { TrajectoryModel } from '../../src/trace/model.ts';
import type { Check, EventData } from '../../src/trace/schema.ts';

/** A position of the page's cursor. */
export interface Spot {
  readonly seq: number;
  /** Index of a check of the score at `seq`. */
  readonly check?: number | undefined;
}

/** Returns the indexes of a score's checks in the order in which they are listed: failed ones first. */
export function checkOrder(checks: readonly Check[]): number[] {
  return [...new Set(checkRows(checks).map(({ check }) => check))];
}

/** Returns the checks of a score if its list of steps shows them. */
export function checksAt(model: TrajectoryModel, seq: number): readonly Check[] {
  const event = model.event(seq);
  return event === undefined || 'unknown' in event || event.kind !== 'score' ? [] : checksOf(event.data);
}

const cache = new WeakMap<TrajectoryModel, { readonly last: number; readonly marks: readonly Spot[] }>();

/** Returns all red marks in order. */
export function redMarks(model: TrajectoryModel): readonly Spot[] {
  const cached = cache.get(model);
  if (cached?.last === model.last) return cached.marks;
  const marks: Spot[] = [
    ...failurePlaces(model).map((seq) => ({ seq })),
    ...model.scores.flatMap(({ seq, data }) => failedChecks(seq, data)),
  ].sort((a, b) => a.seq - b.seq); // stable: checks keep their order
  cache.set(model, { last: model.last, marks });
  return marks;
}

/** Returns the failed checks of a score, or the score itself if it failed without any. */
function failedChecks(seq: number, score: EventData['score']): Spot[] {
  const checks = checksOf(score);
  const failed = checkOrder(checks).filter((check) => checks[check]?.passed === false);
  if (failed.length > 0) return failed.map((check) => ({ seq, check }));
  return score.passed === false ? [{ seq }] : [];
}

/** Returns the next red mark after a position; `distance` −1: the previous one. */
export function redMark(model: TrajectoryModel, from: Spot, distance: 1 | -1): Spot | undefined {
  const marks = redMarks(model);
  return distance === 1
    ? marks.find((mark) => isBefore(model, from, mark))
    : marks.findLast((mark) => isBefore(model, mark, from));
}

function isBefore(model: TrajectoryModel, a: Spot, b: Spot): boolean {
  if (a.seq !== b.seq) return a.seq < b.seq;
  const order = checkOrder(checksAt(model, a.seq));
  const placeOf = ({ check }: Spot): number => (check === undefined ? -1 : order.indexOf(check));
  return placeOf(a) < placeOf(b);
}
