/**
 * A look at the events around a place, read before all those that come before it: a link to a far step need not wait.
 */

import type { Api } from '../../src/protocol/api.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { readEvent } from '../../src/trace/upgrades.ts';

/** Of a trajectory: an event, or the beginning of a step. */
export interface Place {
  readonly seq?: number;
  readonly step?: number;
}

/** How much of it there is. */
export interface Extent {
  /** seq of the last event. */
  readonly last: number;
  /** Number of the newest step. */
  readonly steps: number;
}

/** Events read on each side of a place: more rows than a screen shows. */
const BESIDE = 1_000;
/**
 * Events read at once where a step is looked for: at first as many as show it, for steps are often as long as each
 * other.
 */
const FIRST_PROBE = 1_200;
const PROBE = 100;
/** So many on each side of it, and no more need be read. */
const ENOUGH = 400;
/** A page of events has no more. */
const MAX_EVENTS = 10_000;
/** Halving at every second read, a million events take no more. */
const MAX_PROBES = 30;

/** seq of a place that a model has come to. */
export function placeIn(model: TrajectoryModel, { seq, step = 0 }: Place): number | undefined {
  const to = seq ?? model.step(step)?.seq ?? 0;
  return model.event(to) === undefined ? undefined : to;
}

type Events = Pick<Api, 'events'>;

/**
 * A model of the first event and of those around a place, whose seqs and step numbers are those of the whole; its
 * `skipped` tells what is not in it. undefined where that would say nothing: the place is not there, or no step begins
 * near it that tells its number.
 */
export async function readAround(
  api: Events,
  rollout: string,
  place: Place,
  extent: () => Promise<Extent>,
  signal: AbortSignal,
): Promise<TrajectoryModel | undefined> {
  const first = api.events(rollout, { after: 0, limit: 1 }, signal);
  first.catch(() => undefined); // awaited below, unless the place is not there
  const found =
    place.seq !== undefined
      ? { seq: place.seq, near: [] }
      : place.step === undefined
        ? undefined
        : await findStep(api, rollout, place.step, await extent(), signal);
  if (found === undefined || found.seq <= BESIDE) return undefined; // the first events are there as soon
  const { seq, near } = found;
  const enough = near.some((event) => event.seq === seq - ENOUGH) && near.some((event) => event.seq === seq + ENOUGH);
  const events = enough ? near : await readBeside(api, rollout, seq, signal);
  // What comes before the first beginning of a step belongs to one that is not in sight.
  const begin = events.findIndex((event) => event.kind === 'model.start');
  const start = events[begin];
  if (start?.kind !== 'model.start' || start.seq > seq) return undefined;
  const model = new TrajectoryModel();
  model.push(read((await first).events));
  model.skip(start.seq - 1, start.data.step - 1);
  model.push(read(events.slice(begin)));
  return model;
}

/** The events before and after a place. */
async function readBeside(
  api: Events,
  rollout: string,
  seq: number,
  signal: AbortSignal,
): Promise<readonly TraceEvent[]> {
  const [before, after] = await Promise.all([
    api.events(rollout, { after: seq - 1 - BESIDE, until: seq - 1, limit: BESIDE }, signal),
    api.events(rollout, { after: seq - 1, limit: BESIDE }, signal),
  ]);
  if (after.events.length === 0) return []; // the place is not there
  // Large events end a page early: then there is nothing before the place that joins on to it.
  return before.events.at(-1)?.seq === seq - 1 ? [...before.events, ...after.events] : after.events;
}

interface Start {
  readonly seq: number;
  readonly step: number;
}

/**
 * A step's first model call and the events that were read with it, in a few reads: steps are numbered in the order of
 * their calls.
 */
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
    // Where it is when all steps are as long; by halves where they are not.
    const share = probe % 2 === 0 ? (step - low.step) / (high.step - low.step) : 0.5;
    const at = Math.max(low.seq, Math.floor(low.seq + (high.seq - low.seq) * share - size / 2));
    const { starts, near } = await startsAfter(api, rollout, at, high.seq - 1, size, signal);
    const found = starts.find((start) => start.step === step);
    if (found !== undefined) return { seq: found.seq, near };
    high = starts.find((start) => start.step > step) ?? (starts.length === 0 ? { ...high, seq: at + 1 } : high);
    low = starts.findLast((start) => start.step < step) ?? low;
  }
  return undefined;
}

/** The first model calls after `after`: those of the first page that has any, with that page. */
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
