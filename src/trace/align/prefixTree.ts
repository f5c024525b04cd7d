/**
 * Builds a tree of all attempts of a task: attempts share a branch as long as their actions are equal. A branch is a
 * sequence of actions (as in a radix tree) with the outcomes of its attempts.
 */
import type { Action } from './actions.ts';
import type { ComparedAttempt } from './attempt.ts';

export interface BranchCounts {
  readonly attempts: number;
  readonly passed: number;
  readonly failed: number;
  /** Ended by a limit without passing. */
  readonly truncated: number;
  /** All others: infrastructure failures, cancelled, unscored, not ended. */
  readonly other: number;
  /** Share of passed attempts among those with a verdict; null without any. */
  readonly rate: number | null;
}

export interface Branch {
  /** Actions of its first attempt; those of the others are equal. Only the root may have none. */
  readonly actions: readonly Action[];
  /** Number of actions before this branch. */
  readonly depth: number;
  readonly counts: BranchCounts;
  /** Its attempts, by index, with the step and seq of the branch's first action in each. */
  readonly along: readonly { readonly index: number; readonly step?: number; readonly seq?: number }[];
  /** Indexes of the attempts that end with it. */
  readonly ends: readonly number[];
  /** Most attempts first. */
  readonly branches: readonly Branch[];
}

/** Returns the tree of all attempts. Its root has the actions at the beginning that all share. */
export function prefixTree(attempts: readonly ComparedAttempt[]): Branch {
  return branchOf(
    attempts,
    attempts.map((_, index) => index),
    0,
  );
}

function branchOf(attempts: readonly ComparedAttempt[], members: readonly number[], depth: number): Branch {
  const first = attempts[members[0] ?? -1]?.actions ?? [];
  let until = depth;
  while (
    first[until] !== undefined &&
    members.every((index) => attempts[index]?.actions[until]?.key === first[until]?.key)
  )
    until += 1;
  const ends: number[] = [];
  const groups = new Map<string, number[]>();
  for (const index of members) {
    const next = attempts[index]?.actions[until];
    const group = next === undefined ? ends : groups.get(next.key);
    if (group !== undefined) group.push(index);
    else if (next !== undefined) groups.set(next.key, [index]);
  }
  return {
    actions: first.slice(depth, until),
    depth,
    counts: countsOf(members.flatMap((index) => attempts[index] ?? [])),
    along: members.map((index) => {
      const action = until > depth ? attempts[index]?.actions[depth] : undefined;
      return { index, ...(action === undefined ? {} : { step: action.step, seq: action.seq }) };
    }),
    ends,
    branches: [...groups.values()]
      .sort((a, b) => b.length - a.length || (a[0] ?? 0) - (b[0] ?? 0))
      .map((group) => branchOf(attempts, group, until)),
  };
}

/** Counts the outcomes of attempts. */
export function countsOf(attempts: readonly Pick<ComparedAttempt, 'outcome' | 'passed'>[]): BranchCounts {
  const count = (outcome: ComparedAttempt['outcome']): number =>
    attempts.filter((attempt) => attempt.outcome === outcome).length;
  const [passed, failed, truncated] = [count('passed'), count('failed'), count('truncated')];
  const scored = attempts.filter((attempt) => attempt.passed !== null);
  return {
    attempts: attempts.length,
    passed,
    failed,
    truncated,
    other: attempts.length - passed - failed - truncated,
    rate: scored.length === 0 ? null : scored.filter((attempt) => attempt.passed === true).length / scored.length,
  };
}
