/** Reads the events around a place before all earlier events, so that a link to a late step opens quickly. */
import type { Api } from '../../src/protocol/api.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { readEvent } from '../../src/trace/upgrades.ts';

/** A place in a trajectory: an event, or the start of a step. */
export interface Place {
  readonly seq?: number;
  readonly step?: number;
}

/** The size of a trajectory. */
export interface Extent {
  /** seq of the last event. */
  readonly last: number;
  /** Number of the newest step. */
  readonly steps: number;
}

/** Number of events to read on each side of a place: more rows than a screen shows. */
const MARGIN = 1_000;
/** Events per read when searching a step. The first read is large: if steps have similar lengths, it is the last. */
const FIRST_PROBE = 1_200;
const PROBE = 100;
/** With this many events on each side, the search has read enough to show the place. */
const MIN_MARGIN = 400;
/** Limit of a page of events. */
const MAX_EVENTS = 10_000;
/** Enough for a million events, because every second read halves the range. */
const MAX_PROBES = 30;

/** Returns the seq of a place, if the model contains it. */
export function placeIn(model: TrajectoryModel, { seq, step = 0 }: Place): number | undefined {
  const target = seq ?? model.step(step)?.seq ?? 0;
  return model.event(target) === undefined ? undefined : target;
}

type Events = Pick<Api, 'events'>;

/**
 * Returns a model with the first event and those around a place. Its seqs and step numbers are those of the whole
 * trajectory, and `skipped` is what it leaves out. Returns undefined if the place does not exist or is near the
 * beginning, or if no step starts near it.
 */
export async function readAround(
  api: Events,
  rollout: string,
  place: Place,
  extent: () => Promise<Extent>,
  signal: AbortSignal,
): Promise<TrajectoryModel | undefined> {
  const first = api.events(rollout, { after: 0, limit: 1 }, signal);
  first.catch(() => undefined); // awaited below, unless the place does not exist
  const match =
    place.seq !== undefined
      ? { seq: place.seq, near: [] }
      : place.step === undefined
        ? undefined
        : await findStep(api, rollout, place.step, await extent(), signal);
  if (match === undefined || match.seq <= MARGIN) return undefined; // read from the beginning
  const { seq, near } = match;
  const isEnough =
    near.some((event) => event.seq === seq - MIN_MARGIN) && near.some((event) => event.seq === seq + MIN_MARGIN);
  const events = isEnough ? near : await readNeighbors(api, rollout, seq, signal);
  // Events before the first model call belong to a step whose number is unknown.
  const begin = events.findIndex((event) => event.kind === 'model.start');
  const start = events[begin];
  if (start?.kind !== 'model.start' || start.seq > seq) return undefined;
  const model = new TrajectoryModel();
  model.push(read((await first).events));
  model.skip(start.seq - 1, start.data.step - 1);
  model.push(read(events.slice(begin)));
  return model;
}

/** Returns the events before and after a place; empty if the place does not exist. */
async function readNeighbors(
  api: Events,
  rollout: string,
  seq: number,
  signal: AbortSignal,
): Promise<readonly TraceEvent[]> {
  const [before, after] = await Promise.all([
    api.events(rollout, { after: seq - 1 - MARGIN, until: seq - 1, limit: MARGIN }, signal),
    api.events(rollout, { after: seq - 1, limit: MARGIN }, signal),
  ]);
  if (after.events.length === 0) return [];
  // A page with large events ends early. Then the events before the place are not contiguous with it.
  return before.events.at(-1)?.seq === seq - 1 ? [...before.events, ...after.events] : after.events;
}

interface Start {
  readonly seq: number;
  readonly step: number;
}

/** Finds the first model call of a step in a few reads, since steps are in order. `near`: events of the last read. */
async function findStep(
  api: Events,
  rollout: string,
  step: number,
  { last, steps }: Extent,
  signal: AbortSignal,
): Promise<{ readonly seq: number; readonly near: readonly TraceEvent[] } | undefined> {
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
    const starts = events.flatMap((event) =>
      event.kind === 'model.start' ? [{ seq: event.seq, step: event.data.step }] : [],
    );
    if (starts.length > 0 || events.length === 0) return { starts, near: events };
    cursor = events.at(-1)?.seq ?? until;
  }
  return { starts: [], near: [] };
}

function read(events: readonly TraceEvent[]): ReturnType<typeof readEvent>[] {
  return events.map((event) => readEvent(event, { checked: true }));
}
