/** Picks recorded calls that show a world model how tools answer. */
import { OBSERVATION_MARKER } from '../../common/observation.ts';
import type { SeenCall } from './recording.ts';
import { actionOf, actionText, EXAMPLE, estimatedTokens, observationText } from './text.ts';

export interface Demonstrations {
  readonly text: string;
  /** How many calls it has. */
  readonly calls: number;
  /** How many calls did not fit. */
  readonly left: number;
}

export const DEMONSTRATION_TOKENS = 4_000;

/**
 * Returns demonstrations of at most `tokens` tokens. First comes a successful call of each tool, then a failed one,
 * then further ones, always the shortest of each kind; they are shown in their recorded order. `only`: the calls to
 * choose from, in their order.
 */
export function demonstrationsOf(
  calls: readonly SeenCall[],
  tokens: number,
  only?: ReadonlySet<number>,
): Demonstrations {
  const candidates = candidatesIn(calls, only);
  const taken = fitting(only === undefined ? ranking(candidates) : candidates, tokens);
  const texts = taken.map(({ text }, index) => `${EXAMPLE}${index + 1}\n${text}`);
  return { text: texts.join('\n\n'), calls: texts.length, left: candidates.length - texts.length };
}

/** Returns the SEQ of each call that is shown if nobody chooses. */
export function pickedCalls(calls: readonly SeenCall[], tokens: number): number[] {
  return fitting(ranking(candidatesIn(calls)), tokens).map(({ call }) => call.seq);
}

/** Returns about how many tokens a call has as a demonstration. */
export function exampleTokens(call: SeenCall): number {
  return estimatedTokens(exampleOf(call));
}

function candidatesIn(calls: readonly SeenCall[], only?: ReadonlySet<number>): Candidate[] {
  return [...calls.entries()]
    .filter(([, { seq }]) => only === undefined || only.has(seq))
    .map(([order, call]) => ({ order, call, text: exampleOf(call) }));
}

/** Returns those of the ranked calls that fit, as they were recorded. */
function fitting(ranked: readonly Candidate[], tokens: number): Candidate[] {
  const taken: Candidate[] = [];
  let left = tokens;
  for (const candidate of ranked) {
    const cost = estimatedTokens(candidate.text);
    if (cost > left) continue;
    left -= cost;
    taken.push(candidate);
  }
  return taken.sort((a, b) => a.order - b.order);
}

interface Candidate {
  readonly order: number;
  readonly call: SeenCall;
  readonly text: string;
}

/** Sorts calls by what they add: the n-th of a tool and outcome comes before the next one of any. */
function ranking(candidates: readonly Candidate[]): Candidate[] {
  const kinds = Map.groupBy(
    [...candidates].sort((a, b) => a.text.length - b.text.length || a.order - b.order),
    ({ call: { name, failed } }) => `${failed ? 1 : 0} ${name}`,
  );
  const ranked = [...kinds.values()].flatMap((kind) => kind.map((candidate, rank) => ({ candidate, rank })));
  return ranked
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        Number(a.candidate.call.failed) - Number(b.candidate.call.failed) ||
        a.candidate.order - b.candidate.order,
    )
    .map(({ candidate }) => candidate);
}

function exampleOf({ name, arguments: args, response }: SeenCall): string {
  return `${actionText(actionOf(name, args))}\n\n${OBSERVATION_MARKER}\n${observationText(response)}`;
}
