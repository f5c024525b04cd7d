/** Determines when a call actually ran: its start event only records the request. */
import type { Hold } from './model/holds.ts';
import type { ModelSpan, ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';

type Call = ModelSpan | ToolSpan;

/** `at` is in whole ms, so a start may precede its call by this much without a wait. */
const ROUNDING_MS = 2;

/**
 * Returns when a call started, on the same clock as `at`; undefined while it is held, or if its worker was lost during
 * the hold. A call may be held first, or wait for its turn: the starts of all calls of a step are recorded together,
 * but calls in a world run one at a time, and a model call waits until its server accepts it.
 */
export function startedAtOf(model: TrajectoryModel, span: Call): number | undefined {
  const { start, end } = span;
  const hold = holdsBefore(model, span).at(-1);
  if (hold !== undefined && hold.release === undefined) return undefined;
  const ready = Math.max(start.at, hold?.release?.at ?? start.at);
  const ms = end?.data.ms;
  // The recorded duration of a replayed or imported call may be longer than the time between its events.
  const startedAt = end === undefined || ms === undefined ? ready : Math.max(ready, end.at - ms);
  return startedAt - start.at < ROUNDING_MS ? start.at : startedAt;
}

export interface Wait {
  readonly from: number;
  readonly to: number;
  /** Whether the call was held. Otherwise it waited for its turn. */
  readonly held: boolean;
}

/** Returns the waits of a call before it started, in order. `now`: the end of the wait of a call that is still held. */
export function waitsOf(model: TrajectoryModel, span: Call, now: number): Wait[] {
  const startedAt = startedAtOf(model, span) ?? span.end?.at ?? now;
  const waits: Wait[] = [];
  let at = span.start.at;
  const until = (to: number, held: boolean): void => {
    if (to - at >= (held ? 1 : ROUNDING_MS)) waits.push({ from: at, to, held });
    at = Math.max(at, to);
  };
  for (const { event, release } of holdsBefore(model, span)) {
    until(event.at, false);
    until(release?.at ?? startedAt, true);
  }
  until(startedAt, false);
  return waits;
}

/** Returns the holds before the call started. A hold for input is the call itself. */
function holdsBefore(model: TrajectoryModel, { seq }: Call): readonly Hold[] {
  const holds = model.holdsOf(seq);
  return holds.length === 0
    ? holds
    : holds.filter(({ event: { data } }) => data.side === 'before' && data.why !== 'input');
}
