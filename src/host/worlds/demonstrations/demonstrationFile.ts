/** Writes the demonstrations of a simulated world into the text of its file. Does not depend on VS Code. */
import { isMap, parseDocument } from 'yaml';
import { DEMONSTRATION_TOKENS, exampleTokens, pickedCalls } from '../../../config/simulation/demonstrations.ts';
import type { SeenCall } from '../../../config/simulation/recording.ts';

/** Tokens are written in thousands. */
const STEP = 1_000;

export interface DemonstrationChoice {
  /** The attempt. */
  readonly recorded: string;
  /** All calls of the attempt. */
  readonly calls: readonly SeenCall[];
  /** The SEQ of each call that the user chose. */
  readonly chosen: ReadonlySet<number>;
}

/** Returns about how many tokens the chosen calls have. */
export function chosenTokens({ calls, chosen }: Pick<DemonstrationChoice, 'calls' | 'chosen'>): number {
  return calls.filter(({ seq }) => chosen.has(seq)).reduce((sum, call) => sum + exampleTokens(call), 0);
}

/**
 * Returns the text of a world file with the chosen calls. Comments stay. Calls that would be picked anyway are not
 * listed. Undefined if the text is not that of a world file.
 */
export function withDemonstrations(text: string, choice: DemonstrationChoice): string | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  const { recorded, calls, chosen } = choice;
  const picked = pickedCalls(calls, DEMONSTRATION_TOKENS);
  const isPicked = picked.length === chosen.size && picked.every((seq) => chosen.has(seq));
  const tokens = chosenTokens(choice);
  const value = {
    recorded,
    ...(isPicked ? {} : { calls: [...chosen].sort((one, other) => one - other) }),
    ...(tokens > DEMONSTRATION_TOKENS ? { tokens: Math.ceil(tokens / STEP) * STEP } : {}),
  };
  document.set('demonstrations', document.createNode(value, { flow: true }));
  return document.toString({ lineWidth: 0 });
}
