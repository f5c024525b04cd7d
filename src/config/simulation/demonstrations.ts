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
  const candidates = [...calls.entries()]
    .filter(([, { seq }]) => only === undefined || only.has(seq))
    .map(([order, call]) => ({ order, call, text: exampleOf(call) }));
  const ranked = only === undefined ? ranking(candidates) : candidates;
  const taken: typeof candidates = [];
  let left = tokens;
  for (const candidate of ranked) {
    const cost = estimatedTokens(candidate.text);
    if (cost > left) continue;
    left -= cost;
    taken.push(candidate);
  }
  const texts = taken.sort((a, b) => a.order - b.order).map(({ text }, index) => `${EXAMPLE}${index + 1}\n${text}`);
  return { text: texts.join('\n\n'), calls: texts.length, left: candidates.length - texts.length };
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
