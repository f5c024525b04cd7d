import { plural } from '../../common/text.ts';
import type { Session } from '../session.ts';

/**
 * Returns a sentence if so many attempts exceed what the agent may launch without asking. `what`: what it does with
 * them, as a sentence.
 */
export function overLimit(
  { launched, maxAttempts }: Session,
  attempts: number,
  what = `It launches ${plural(attempts, 'attempt')}, which call the model and the tools.`,
): string[] {
  if (launched + attempts <= maxAttempts) return [];
  return [`${what} ` + `Agents may launch ${maxAttempts} without asking, and this one has launched ${launched}.`];
}

/**
 * Launches attempts and returns what `launch` does. They count from now on, unless launching fails, so that calls at
 * the same time do not exceed the limit together.
 */
export async function spend<T extends { readonly batch: string }>(
  session: Session,
  attempts: number,
  launch: () => Promise<T>,
): Promise<T> {
  session.launched += attempts;
  try {
    const launched = await launch();
    session.ownBatches.add(launched.batch);
    return launched;
  } catch (error) {
    session.launched -= attempts;
    throw error;
  }
}
