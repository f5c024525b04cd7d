/** Runs questions in sequence, with back navigation. Does not depend on VS Code. */
import { type Answer, BACK } from './answer.ts';

/** Asks a question and stores the answer. Returns `skipped` if there is nothing to ask. */
export type Step = (number: number, total: number) => Promise<Answer<unknown>>;
export const SKIPPED = Symbol('skipped');

/** Returns true if all were answered, false if the user cancelled. Back on the first step repeats it. */
export async function runSteps(steps: readonly Step[]): Promise<boolean> {
  /** Steps that answered a question, for going back. */
  const answered: number[] = [];
  for (let index = 0; index < steps.length; ) {
    const answer = await steps[index]?.(index + 1, steps.length);
    if (answer === undefined) return false;
    if (answer === BACK) {
      index = answered.pop() ?? index;
      continue;
    }
    if (answer !== SKIPPED) answered.push(index);
    index++;
  }
  return true;
}
