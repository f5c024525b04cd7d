/** Gives sample events realistic times, derived from the durations of their calls. */
import type { TraceEvent } from '../../../src/trace/schema.ts';

/** Time between two events without a duration. */
const GAP_MS = 4;

/** Returns the events, the first at `begins`; with `ago`, the last one that many ms ago. Team members may overlap. */
export function withTimes(
  events: readonly TraceEvent[],
  { begins = 1_795_000_000_000, ago }: { readonly begins?: number; readonly ago?: number } = {},
): TraceEvent[] {
  const starts = new Map<number, number>();
  let at = begins;
  const timed = events.map((event): TraceEvent => {
    const ms = 'ms' in event.data && event.kind !== 'infra' && event.span !== undefined ? event.data.ms : undefined;
    const start = event.span === undefined ? undefined : starts.get(event.span);
    at = Math.max(at + GAP_MS, ms === undefined || start === undefined ? 0 : start + ms);
    starts.set(event.seq, at);
    return { ...event, at };
  });
  const shift = ago === undefined ? 0 : Date.now() - ago - at;
  return shift === 0 ? timed : timed.map((event) => ({ ...event, at: event.at + shift }));
}
