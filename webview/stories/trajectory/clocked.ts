/** Events with the times that their calls tell of themselves: as a real rollout would have them. */
import type { TraceEvent } from '../../../src/trace/schema.ts';

/** What passes between two events that tell of no time. */
const BETWEEN_MS = 4;

/** Begins at `begins`; without it, so that the last event is `ago` ms ago. Members of a team may overlap. */
export function clocked(
  events: readonly TraceEvent[],
  { begins = 1_795_000_000_000, ago }: { readonly begins?: number; readonly ago?: number } = {},
): TraceEvent[] {
  const starts = new Map<number, number>();
  let at = begins;
  const timed = events.map((event): TraceEvent => {
    const ms = 'ms' in event.data && event.kind !== 'infra' && event.span !== undefined ? event.data.ms : undefined;
    const start = event.span === undefined ? undefined : starts.get(event.span);
    at = Math.max(at + BETWEEN_MS, ms === undefined || start === undefined ? 0 : start + ms);
    starts.set(event.seq, at);
    return { ...event, at };
  });
  const shift = ago === undefined ? 0 : Date.now() - ago - at;
  return shift === 0 ? timed : timed.map((event) => ({ ...event, at: event.at + shift }));
}
