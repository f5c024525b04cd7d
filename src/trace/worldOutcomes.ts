/** The outcomes of published worlds, as people read them. */
import type { WorldOutcome } from './schema.ts';

export const WORLD_OUTCOME_NAMES = {
  complete: 'complete',
  partial: 'partial',
  agent_error: 'agent error',
  format: 'format error',
  environment_error: 'environment error',
} as const satisfies Readonly<Record<WorldOutcome, string>>;

const OUTCOMES = Object.keys(WORLD_OUTCOME_NAMES) as readonly WorldOutcome[];

/** Returns the outcomes that occurred with their number of attempts, the best first. */
export function outcomeCounts(
  counts: Readonly<Partial<Record<WorldOutcome, number>>>,
): { readonly outcome: WorldOutcome; readonly name: string; readonly attempts: number }[] {
  return OUTCOMES.flatMap((outcome) => {
    const attempts = counts[outcome] ?? 0;
    return attempts === 0 ? [] : [{ outcome, name: WORLD_OUTCOME_NAMES[outcome], attempts }];
  });
}
