/** Finds where a failed attempt first diverges from one that passed, reading as few events as possible. */
import type { Api } from '../../src/protocol/api.ts';
import { type FirstSplit, SplitFinder } from '../../src/trace/align/firstSplit.ts';
import type { AnyEvent, TrajectoryModel } from '../../src/trace/model.ts';
import { attemptRow } from '../../src/trace/outcome.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';

/** Limits of what is read: passed attempts, and events of all of them together. */
const MAX_ATTEMPTS = 6;
const MAX_EVENTS = 20_000;
const PAGE = 500;

export interface Split {
  /** Where this attempt diverges: at a call, else at the model call after its last call, else at its end. */
  readonly seq: number;
  /** Number of equal calls before it. */
  readonly common: number;
  readonly other: RolloutRow;
  /** Seq in the other attempt. */
  readonly otherSeq: number;
  /** The calls that differ; absent if the attempt made no more calls. */
  readonly call?: FirstSplit['own'];
  readonly otherCall?: FirstSplit['other'];
}

/** Returns passed attempts, starting with those that used their tools in the most similar order. */
export function splitCandidates(rollout: string, attempts: readonly RolloutRow[]): RolloutRow[] {
  const own = attempts.find((row) => row.rollout === rollout);
  const byAttempt = Map.groupBy(attempts, (row) => row.attempt);
  const passed = [...byAttempt.values()]
    .flatMap((rows) => attemptRow(rows) ?? [])
    .filter(
      (row) =>
        row.rollout !== rollout &&
        row.state === 'ended' &&
        row.progress.passed === true &&
        row.duplicate_of === undefined,
    );
  const commonTools = ({ progress: { tools } }: RolloutRow): number => {
    const at = tools.findIndex((tool, index) => tool !== own?.progress.tools[index]);
    return at === -1 ? tools.length : at;
  };
  return passed.sort((a, b) => commonTools(b) - commonTools(a) || a.attempt - b.attempt).slice(0, MAX_ATTEMPTS);
}

/** The next events of a passed attempt, which the search needs to continue. */
interface Wanted {
  readonly rollout: string;
  /** seq of the event before them. */
  readonly after: number;
  readonly limit: number;
}

/** Returns the split from the candidate that shares the most calls; undefined if none could be compared. */
export async function splitFrom(
  api: Pick<Api, 'events'>,
  model: TrajectoryModel,
  candidates: readonly RolloutRow[],
  signal: AbortSignal,
): Promise<Split | undefined> {
  const search = nearestSplit(model, candidates);
  let step = search.next();
  while (step.done !== true) {
    const { rollout, after, limit } = step.value;
    step = search.next((await api.events(rollout, { after, limit }, signal)).events);
  }
  return step.value;
}

/** Like `splitFrom`, with candidates that were read already. */
export function splitAmong(
  model: TrajectoryModel,
  candidates: readonly RolloutRow[],
  eventsOf: (rollout: string) => readonly AnyEvent[],
): Split | undefined {
  const search = nearestSplit(model, candidates);
  let step = search.next();
  while (step.done !== true) {
    const { rollout, after, limit } = step.value;
    step = search.next(eventsOf(rollout).slice(after, after + limit));
  }
  return step.value;
}

/** The search itself, so that all pages find the same attempt, no matter where its events come from. */
function* nearestSplit(
  model: TrajectoryModel,
  candidates: readonly RolloutRow[],
): Generator<Wanted, Split | undefined, readonly AnyEvent[]> {
  const own = model.tools.map((span) => span.start);
  let best: Split | undefined;
  let left = MAX_EVENTS;
  for (const other of candidates) {
    const finder = new SplitFinder(own);
    let after = 0;
    let lastModel = 0;
    let done = false;
    while (!done && left > 0) {
      const events = yield { rollout: other.rollout, after, limit: Math.min(PAGE, left) };
      left -= events.length;
      done = finder.add(events) || events.length === 0;
      lastModel = newestModel(events) ?? lastModel;
      after = events.at(-1)?.seq ?? after;
    }
    if (!done) break; // too long to read: use the result of the others
    if (best === undefined || finder.common > best.common)
      best = { ...placesOf(model, finder.split, lastModel), common: finder.common, other };
  }
  return best;
}

function newestModel(events: readonly AnyEvent[]): number | undefined {
  return events.findLast(
    (event) => !('unknown' in event) && event.kind === 'model.start' && event.data.side === undefined,
  )?.seq;
}

function placesOf(
  model: TrajectoryModel,
  split: FirstSplit | undefined,
  lastModel: number,
): Omit<Split, 'common' | 'other'> {
  const lastCall = model.tools.at(-1)?.seq ?? 0;
  const answer =
    model.steps.findLast((step) => step.model !== undefined && step.seq > lastCall)?.seq ??
    model.end?.seq ??
    model.last;
  return {
    seq: split?.own?.seq ?? answer,
    otherSeq: split?.other?.seq ?? lastModel,
    ...(split?.own === undefined ? {} : { call: split.own }),
    ...(split?.other === undefined ? {} : { otherCall: split.other }),
  };
}
