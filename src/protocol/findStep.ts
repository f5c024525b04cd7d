/** Finds a step of a stored trajectory in a few reads, since steps are in order. */
import type { TraceEvent } from '../trace/schema.ts';
import type { Api } from './api.ts';

/** The size of a trajectory. */
export interface Extent {
  /** seq of the last event. */
  readonly last: number;
  /** Number of the newest step. */
  readonly steps: number;
}

export type Events = Pick<Api, 'events'>;

interface Start {
  readonly seq: number;
  readonly step: number;
}

interface FoundStep {
  /** seq of its first model call; of a call that a takeover repeated, possibly that of the repetition. */
  readonly seq: number;
  /** The events of the last read. */
  readonly near: readonly TraceEvent[];
}

/** Events per read. The first read is large: if steps have similar lengths, it is the last. */
const FIRST_PROBE = 1_200;
const PROBE = 100;
/** Limit of a page of events. */
const MAX_EVENTS = 10_000;
/** Enough for a million events, because every second read halves the range. */
const MAX_PROBES = 30;

/** Returns undefined if there is no such step, or for step 0, which has no model call. */
export async function findStep(
  api: Events,
  rollout: string,
  step: number,
  { last, steps }: Extent,
  signal: AbortSignal,
): Promise<FoundStep | undefined> {
  if (step < 1 || step > steps) return undefined;
  let low: Start = { seq: 0, step: 0 };
  let high: Start = { seq: last + 1, step: steps + 1 };
  for (let probe = 0; probe < MAX_PROBES && high.seq - low.seq > 1; probe++) {
    const size = probe === 0 ? FIRST_PROBE : PROBE;
    // Assume that all steps have the same length. Every second read bisects, in case they do not.
    const share = probe % 2 === 0 ? (step - low.step) / (high.step - low.step) : 0.5;
    const at = Math.max(low.seq, Math.floor(low.seq + (high.seq - low.seq) * share - size / 2));
    const { starts, near } = await startsAfter(api, rollout, at, high.seq - 1, size, signal);
    const match = starts.find((start) => start.step === step);
    if (match !== undefined) return { seq: match.seq, near };
    high = starts.find((start) => start.step > step) ?? (starts.length === 0 ? { ...high, seq: at + 1 } : high);
    low = starts.findLast((start) => start.step < step) ?? low;
  }
  return undefined;
}

/** Returns the seq of the first model call of a step, also if a takeover repeated it. */
export async function startOfStep(
  api: Events,
  rollout: string,
  step: number,
  extent: Extent,
  signal: AbortSignal,
): Promise<number | undefined> {
  let seq = (await findStep(api, rollout, step, extent, signal))?.seq;
  let end = seq ?? 0; // everything from here on is known
  for (let size = PROBE; seq !== undefined && end > 1; size *= 4) {
    const begin = Math.max(1, end - size);
    const starts: Start[] = [];
    for (let cursor = begin - 1; cursor < end - 1; ) {
      const { events } = await api.events(rollout, { after: cursor, until: end - 1, limit: MAX_EVENTS }, signal);
      starts.push(...startsIn(events));
      cursor = events.at(-1)?.seq ?? end;
    }
    seq = starts.find((start) => start.step === step)?.seq ?? seq;
    if (starts.some((start) => start.step < step)) break;
    end = begin;
  }
  return seq;
}

/** Returns the step of the newest model call up to `seq`; 0 if there is none. */
export async function stepBefore(api: Events, rollout: string, seq: number, signal: AbortSignal): Promise<number> {
  let end = seq;
  for (let size = PROBE; end > 0; size = Math.min(size * 4, MAX_EVENTS)) {
    const begin = Math.max(0, end - size);
    let newest: number | undefined;
    for (let cursor = begin; cursor < end; ) {
      const { events } = await api.events(rollout, { after: cursor, until: end, limit: MAX_EVENTS }, signal);
      newest = startsIn(events).at(-1)?.step ?? newest;
      cursor = events.at(-1)?.seq ?? end;
    }
    if (newest !== undefined) return newest;
    end = begin;
  }
  return 0;
}

/** Returns the model calls of the first page after `after` that has any, and that page. */
async function startsAfter(
  api: Events,
  rollout: string,
  after: number,
  until: number,
  size: number,
  signal: AbortSignal,
): Promise<{ readonly starts: readonly Start[]; readonly near: readonly TraceEvent[] }> {
  let limit = size;
  for (let cursor = after; cursor < until; limit *= 4) {
    const { events } = await api.events(rollout, { after: cursor, until, limit: Math.min(limit, MAX_EVENTS) }, signal);
    const starts = startsIn(events);
    if (starts.length > 0 || events.length === 0) return { starts, near: events };
    cursor = events.at(-1)?.seq ?? until;
  }
  return { starts: [], near: [] };
}

function startsIn(events: readonly TraceEvent[]): Start[] {
  return events.flatMap((event) =>
    event.kind === 'model.start' && event.data.side === undefined ? [{ seq: event.seq, step: event.data.step }] : [],
  );
}
