/** An attempt as comparisons take it. */

import type { TrajectoryModel } from '../model.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';
import type { RolloutRow } from '../summary.ts';
import { type Action, actionsOf } from './actions.ts';

export interface ComparedAttempt {
  readonly rollout: string;
  readonly attempt: number;
  readonly outcome: Outcome;
  /** Whether it passed; null while or where nobody can say. */
  readonly passed: boolean | null;
  readonly reward: number | null;
  readonly actions: readonly Action[];
}

export function comparedAttempt(row: RolloutRow, model: TrajectoryModel): ComparedAttempt {
  const outcome = outcomeOf(row);
  const settled = outcome === 'passed' || outcome === 'failed' || outcome === 'truncated';
  return {
    rollout: row.rollout,
    attempt: row.attempt,
    outcome,
    actions: actionsOf(model),
    passed: settled ? (row.progress.passed ?? null) : null,
    reward: row.progress.reward ?? null,
  };
}

/** The attempt the others are best held against: the shortest that passed, else the first. */
export function bestReference(attempts: readonly ComparedAttempt[]): number {
  let best = 0;
  for (const [index, { passed, actions }] of attempts.entries()) {
    const held = attempts[best];
    if (passed === true && (held?.passed !== true || actions.length < held.actions.length)) best = index;
  }
  return best;
}
