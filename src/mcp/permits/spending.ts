import { plural } from '../../common/text.ts';
import type { Session } from '../session.ts';

/** Returns a sentence if launching so many attempts exceeds what the agent may launch without asking. */
export function overLimit({ launched, maxAttempts }: Session, attempts: number): string[] {
  if (launched + attempts <= maxAttempts) return [];
  return [
    `It launches ${plural(attempts, 'attempt')}, which call the model and the tools. ` +
      `Agents may launch ${maxAttempts} without asking, and this one has launched ${launched}.`,
  ];
}

/**
 * Launches attempts and returns the ID of their batch. They count from now on, unless launching fails, so that calls at
 * the same time do not exceed the limit together.
 */
export async function spend(session: Session, attempts: number, launch: () => Promise<string>): Promise<string> {
  session.launched += attempts;
  try {
    const batch = await launch();
    session.ownBatches.add(batch);
    return batch;
  } catch (error) {
    session.launched -= attempts;
    throw error;
  }
}
