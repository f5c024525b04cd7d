/**
 * All attempts at a task as one tree: attempts share a branch as long as they did the same, from the beginning on.
 * A branch is a run of actions without a fork in it (a radix tree), with what became of the attempts that went along.
 */
import type { Action } from './actions.ts';
import type { ComparedAttempt } from './attempt.ts';

export interface BranchCounts {
  readonly attempts: number;
  readonly passed: number;
  readonly failed: number;
  /** Ended by a limit without passing. */
  readonly truncated: number;
  /** Everything else: lost, cancelled, unscored, not ended. */
  readonly other: number;
  /** passed among those of which it is known; null when of none. */
  readonly rate: number | null;
}

export interface Branch {
  /** Actions of the first of its attempts; the others did the same. Only the root may have none. */
  readonly actions: readonly Action[];
  /** Actions before this branch. */
  readonly depth: number;
  readonly counts: BranchCounts;
  /** Who went along, as indexes into the attempts, and at which step and seq each did the branch's first action. */
  readonly along: readonly { readonly index: number; readonly step?: number; readonly seq?: number }[];
  /** Those that end with it. */
  readonly ends: readonly number[];
  /** Most attempts first. */
  readonly branches: readonly Branch[];
}

/** The tree of all attempts. Its root holds what they all did first. */
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

/** What became of some attempts. */
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
