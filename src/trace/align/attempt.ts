/** Attempts in the form that comparisons need. */
import type { TrajectoryModel } from '../model.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';
import type { RolloutRow } from '../summary.ts';
import { type Action, actionsOf } from './actions.ts';

export interface ComparedAttempt {
  readonly rollout: string;
  readonly attempt: number;
  readonly outcome: Outcome;
  /** Whether it passed; null without a verdict. */
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

/** Returns the index of the best reference for comparisons: the shortest attempt that passed, else the first. */
export function bestReference(attempts: readonly ComparedAttempt[]): number {
  let best = 0;
  for (const [index, { passed, actions }] of attempts.entries()) {
    const current = attempts[best];
    if (passed === true && (current?.passed !== true || actions.length < current.actions.length)) best = index;
  }
  return best;
}
