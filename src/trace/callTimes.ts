/** Determines when a call actually ran: its start event only records the request. */
import type { Hold } from './model/holds.ts';
import type { ModelSpan, ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';

type Call = ModelSpan | ToolSpan;

/** `at` is in whole ms, so a start may precede its call by this much without a wait. */
const ROUNDING_MS = 2;

/**
 * When a call was made, as `at` of the events. It may be held first, or wait for its turn: calls of one step are
 * recorded
 * together and those of a world made one after the other, and a model call waits until its server takes it.
 * undefined: it is still held, or was until its worker was lost.
 */
export function startedAtOf(model: TrajectoryModel, span: Call): number | undefined {
  const { start, end } = span;
  const hold = holdsBefore(model, span).at(-1);
  if (hold !== undefined && hold.release === undefined) return undefined;
  const free = Math.max(start.at, hold?.release?.at ?? start.at);
  const ms = end?.data.ms;
  // What a recording or an import tells of its own time may be longer than the time between its events.
  const startedAt = end === undefined || ms === undefined ? free : Math.max(free, end.at - ms);
  return startedAt - start.at < ROUNDING_MS ? start.at : startedAt;
}

export interface Wait {
  readonly from: number;
  readonly to: number;
  /** Else it waited for its turn. */
  readonly held: boolean;
}

/** What a call waited until it was made, in order. `now`: until then one waited that is still held. */
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

/** Holds before it was made. A question to a person is made by holding. */
function holdsBefore(model: TrajectoryModel, { seq }: Call): readonly Hold[] {
  const holds = model.holdsOf(seq);
  return holds.length === 0
    ? holds
    : holds.filter(({ event: { data } }) => data.side === 'before' && data.why !== 'input');
}
