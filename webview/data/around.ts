/** Reads the events around a place before all earlier events, so that a link to a late step opens quickly. */
import { type Events, type Extent, findStep } from '../../src/protocol/findStep.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { readEvent } from '../../src/trace/upgrades.ts';

/** A place in a trajectory: an event, or the start of a step. */
export interface Place {
  readonly seq?: number;
  readonly step?: number;
}

/** Number of events to read on each side of a place: more rows than a screen shows. */
const MARGIN = 1_000;
/** With this many events on each side, the search has read enough to show the place. */
const MIN_MARGIN = 400;

/** Returns the seq of a place, if the model contains it. */
export function placeIn(model: TrajectoryModel, { seq, step = 0 }: Place): number | undefined {
  const target = seq ?? model.step(step)?.seq ?? 0;
  return model.event(target) === undefined ? undefined : target;
}

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
  const begin = events.findIndex((event) => event.kind === 'model.start' && event.data.side === undefined);
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

function read(events: readonly TraceEvent[]): ReturnType<typeof readEvent>[] {
  return events.map((event) => readEvent(event, { checked: true }));
}
