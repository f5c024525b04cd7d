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

/** Records what the agent launched. */
export function recordLaunch(session: Session, batch: string, attempts: number): void {
  session.launched += attempts;
  session.ownBatches.add(batch);
}
