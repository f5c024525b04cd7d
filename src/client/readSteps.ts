/** Reads a stored trajectory part by part, because the whole can be larger than memory. */
import type { Api, RolloutInfo } from '../protocol/api.ts';
import { startOfStep } from '../protocol/findStep.ts';
import { TrajectoryModel } from '../trace/model.ts';
import { type TrajectoryPart, wholePart } from '../trace/text.ts';
import { type Edges, isLarge, isOfOneAgent, pushFrom, readEdges, readModel, readPart, toModel } from './readStep.ts';

/** Events per part. */
const PART = 1_000;
/** Events of a step that follow the next model call, such as late output, are among so many. */
const LATE = 500;

/**
 * Yields the steps from `from` on in parts. A short trajectory is one part; so is a fork, and the rest of one whose
 * steps overlap, as in a team. `whole` reads all of it.
 */
export async function* readSteps(
  api: Api,
  info: RolloutInfo,
  from: number,
  signal: AbortSignal,
  whole: () => Promise<TrajectoryModel> = () => readModel(api, info.row.rollout, signal),
): AsyncGenerator<TrajectoryPart> {
  const edges = isLarge(info) ? await readEdges(api, info, signal) : undefined;
  let next = from;
  if (edges !== undefined) {
    for await (const part of readParts(api, info, edges, from, signal)) {
      yield part;
      if (part.isLast) return;
      next = part.to;
    }
  }
  yield wholePart(await whole(), next);
}

/** Yields parts for as long as each is certain to show what the whole trajectory does. */
async function* readParts(
  api: Api,
  info: RolloutInfo,
  edges: Edges,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<TrajectoryPart> {
  const { rollout, last, progress } = info.row;
  const { header } = edges;
  const agents = new Set<string>();
  const newest = progress.step ?? 0;
  let next = from;
  let begin: number | undefined;
  const [first] = edges.tail;
  if (next > newest && first !== undefined) {
    const model = new TrajectoryModel();
    model.skip(first.seq - 1, newest);
    pushFrom(model, toModel(edges.tail), first.seq);
    yield { model, header, from: newest + 1, to: newest + 1, isLast: true, isWhole: false };
    return;
  }
  if (next === 0) {
    // Spans around all steps, such as that of the world, begin in step 0.
    const part = await readPart(api, info, 0, signal);
    if (part === undefined) return;
    yield { model: part.model, header, from: 0, to: 1, isLast: false, isWhole: false };
    next = 1;
    begin = part.model.step(1)?.seq;
  } else begin = await startOfStep(api, rollout, next, { last, steps: newest }, signal);
  while (begin !== undefined) {
    const part = await readFrom(api, rollout, { begin, from: next, agents }, signal);
    if (part === undefined) return;
    yield { ...part, header, isWhole: false };
    if (part.isLast) return;
    next = part.to;
    begin = part.model.step(next)?.seq;
  }
}

/** Reads steps from `from` on, which begins at `begin`. Returns undefined if they overlap with those of others. */
async function readFrom(
  api: Api,
  rollout: string,
  { begin, from, agents }: { readonly begin: number; readonly from: number; readonly agents: Set<string> },
  signal: AbortSignal,
): Promise<Omit<TrajectoryPart, 'header' | 'isWhole'> | undefined> {
  const model = new TrajectoryModel();
  model.skip(begin - 1, from - 1);
  for (;;) {
    const { events, last } = await api.events(rollout, { after: model.last, limit: PART }, signal);
    if (!isOfOneAgent(events, begin, agents)) return undefined;
    pushFrom(model, toModel(events), begin);
    if (events.length === 0 || model.last >= last) return { model, from, to: model.steps.length, isLast: true };
    const to = completeUpTo(model, from);
    if (to > from && model.last - begin >= PART - 1) return { model, from, to, isLast: false };
  }
}

/** Returns the first step that may get more events. */
function completeUpTo(model: TrajectoryModel, from: number): number {
  const open = Math.min(...model.openSpans().map(({ step }) => step));
  const late = model.steps.findLast(({ seq, index }) => index >= from && seq <= model.last - LATE)?.index ?? from;
  return Math.min(open, late);
}
