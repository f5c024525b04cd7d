/** Reads one step of a stored trajectory without the rest, which can be large. */
import type { Api, RolloutInfo } from '../protocol/api.ts';
import { type Events, startOfStep } from '../protocol/findStep.ts';
import { type AnyEvent, TrajectoryModel } from '../trace/model.ts';
import type { EventKind, EventOf, TraceEvent } from '../trace/schema.ts';
import { type Header, headerOf } from '../trace/text/header.ts';
import { noStep, stepAt } from '../trace/text.ts';
import { readEvent } from '../trace/upgrades.ts';

export interface OneStep {
  /** A model in which this step is complete; it may contain nothing else. */
  readonly model: TrajectoryModel;
  readonly header: Header;
  /** The events of the step, as stored. */
  readonly events: readonly TraceEvent[];
}

/** A trajectory that fits in one page is read at once. */
const SMALL = 2_000;
/** The events that say how a trajectory began and ended are among so many of the first and the last. */
const EDGE = 64;
/** Events of a step that follow the next model call, such as late output, are among so many. */
const PAGE = 500;

/** Throws StudioError `not_found` if there is no such step. */
export async function readStep(api: Api, info: RolloutInfo, step: number, signal: AbortSignal): Promise<OneStep> {
  const newest = info.row.progress.step ?? 0;
  if (info.row.state === 'ended' && step > newest) throw noStep(step, newest);
  return (await readPart(api, info, step, signal)) ?? readWhole(api, info.row.rollout, step, signal);
}

/** Reads all of a trajectory, or its events up to `until`. */
export async function readModel(
  api: Api,
  rollout: string,
  signal: AbortSignal,
  until?: number,
): Promise<TrajectoryModel> {
  const model = new TrajectoryModel();
  for await (const page of api.allEvents(rollout, signal, until)) model.push(toModel(page));
  return model;
}

async function readWhole(api: Api, rollout: string, step: number, signal: AbortSignal): Promise<OneStep> {
  const model = new TrajectoryModel();
  const stored: TraceEvent[] = [];
  for await (const page of api.allEvents(rollout, signal)) {
    stored.push(...page);
    model.push(toModel(page));
  }
  return { model, header: headerOf(model), events: eventsOf(model, step, stored) };
}

/** Whether a trajectory may be read in parts. A short one is read at once, and so is a fork. */
export function isLarge({ row, lineage }: RolloutInfo): boolean {
  return lineage.length === 0 && row.last > SMALL;
}

export interface Edges {
  readonly header: Header;
  /** The last events. */
  readonly tail: readonly TraceEvent[];
}

/** Reads how a trajectory began and ended. Returns undefined if that takes more than a few events. */
export async function readEdges(
  api: Events,
  { row }: Pick<RolloutInfo, 'row'>,
  signal: AbortSignal,
): Promise<Edges | undefined> {
  const { rollout, last, progress } = row;
  const [head, tail] = await Promise.all([
    api.events(rollout, { after: 0, limit: EDGE }, signal),
    api.events(rollout, { after: last - EDGE }, signal),
  ]);
  const first = toModel(head.events).find(
    (event): event is EventOf<'model.start'> =>
      !('unknown' in event) && event.kind === 'model.start' && event.data.side === undefined,
  );
  const header: Header = {
    start: find(toModel(head.events), 'rollout.start'),
    end: find(toModel(tail.events), 'rollout.end'),
    steps: progress.step ?? 0,
    tokens: progress.input_tokens + progress.output_tokens,
    model: first?.data.model,
    world: find(toModel(head.events), 'world.open'),
    hold: progress.hold,
  };
  const hasHeader = header.start !== undefined && (header.start.data.model !== undefined || first !== undefined);
  return hasHeader && (row.state === 'ended') === (header.end !== undefined)
    ? { header, tail: tail.events }
    : undefined;
}

/**
 * Reads only the events around the step. Returns undefined if that is not certain to show what the whole trajectory
 * does: for a short one, a fork, or a team, whose steps overlap.
 */
export async function readPart(
  api: Events,
  info: RolloutInfo,
  step: number,
  signal: AbortSignal,
): Promise<OneStep | undefined> {
  const { rollout, last, state, progress } = info.row;
  const newest = progress.step ?? 0;
  if (!isLarge(info) || step > newest) return undefined;
  const [edges, begin] = await Promise.all([
    readEdges(api, info, signal),
    step === 0 ? 1 : startOfStep(api, rollout, step, { last, steps: newest }, signal),
  ]);
  if (begin === undefined || edges === undefined) return undefined;
  const { header, tail } = edges;

  const model = new TrajectoryModel();
  model.skip(begin - 1, step - 1);
  const stored: TraceEvent[] = [];
  const push = (events: readonly TraceEvent[]): void => {
    stored.push(...events);
    pushFrom(model, toModel(events), begin);
  };
  while (!isComplete(model, step)) {
    const { events } = await api.events(rollout, { after: Math.max(model.last, begin - 1), limit: PAGE }, signal);
    if (events.length === 0) break;
    push(events);
    const [first] = tail;
    if (step > 0 || model.steps.length === 1 || first === undefined || first.seq <= model.last) continue;
    // Spans around all steps, such as that of the world, end with the trajectory.
    model.skip(first.seq - 1, newest);
    push(tail);
  }
  const isLost = state === 'ended' && hasOpen(model, step);
  return isLost || !isOfOneAgent(stored, begin) ? undefined : { model, header, events: eventsOf(model, step, stored) };
}

/** Returns whether another step has begun, and all calls of this one have ended. */
function isComplete(model: TrajectoryModel, step: number): boolean {
  return model.steps.length - 1 > step && !hasOpen(model, step);
}

function hasOpen(model: TrajectoryModel, step: number): boolean {
  return model.openSpans().some((span) => span.step === step);
}

/**
 * Returns whether all belongs to one agent, and only model calls are part of something that began earlier. `agents`:
 * those of earlier events, to which it adds.
 */
export function isOfOneAgent(events: readonly TraceEvent[], begin: number, agents = new Set<string>()): boolean {
  for (const { agent } of events) if (agent !== undefined) agents.add(agent);
  return agents.size <= 1 && events.every(({ kind, parent = begin }) => parent >= begin || kind === 'model.start');
}

function eventsOf(model: TrajectoryModel, step: number, stored: readonly TraceEvent[]): TraceEvent[] {
  const seqs = new Set(stepAt(model, step).seqs);
  return stored.filter(({ seq }) => seqs.has(seq));
}

function find<K extends EventKind>(events: readonly AnyEvent[], kind: K): EventOf<K> | undefined {
  return events.find((event): event is EventOf<K> => !('unknown' in event) && event.kind === kind);
}

/** Adds events to a part. What began before `begin` also ends there. */
export function pushFrom(model: TrajectoryModel, events: readonly AnyEvent[], begin: number): void {
  for (const event of events) {
    if (event.span !== undefined && event.span < begin) model.skip(event.seq, 0);
    else model.push([event]);
  }
}

export function toModel(events: readonly TraceEvent[]): AnyEvent[] {
  return events.map((event) => readEvent(event, { checked: true }));
}
