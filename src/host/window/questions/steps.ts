/** Walks through questions, forwards and back. Knows nothing of VS Code. */
import { type Answer, BACK } from './answer.ts';

/** Asks one thing and keeps what was said; `skipped` when there is nothing to ask. */
export type Step = (number: number, of: number) => Promise<Answer<unknown>>;
export const SKIPPED = Symbol('skipped');

/** true when all were answered, false when the user closed one. Back at the first one asks it again. */
export async function walk(steps: readonly Step[]): Promise<boolean> {
  /** Those that asked something, to go back to. */
  const asked: number[] = [];
  for (let index = 0; index < steps.length; ) {
    const answer = await steps[index]?.(index + 1, steps.length);
    if (answer === undefined) return false;
    if (answer === BACK) {
      index = asked.pop() ?? index;
      continue;
    }
    if (answer !== SKIPPED) asked.push(index);
    index++;
  }
  return true;
}
