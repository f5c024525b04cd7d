/** The attempts of a task as trainers see them: members whose rewards are compared with each other. */
import { outcomeOf } from '../outcome.ts';
import type { RolloutRow } from '../summary.ts';
import { advantagesOf, type Estimator, isScored } from './advantages.ts';
import { mean, spread } from './spread.ts';
import { whyExcludedOf } from './whyExcluded.ts';

/**
 * Whether something can be learned from a group:
 *
 * - some: two of its rewards differ.
 * - none: all members have ended, and the rewards of those that count are equal.
 * - open: too few members have ended to know.
 * - excluded: all members have ended, and none counts.
 */
export type Signal = 'some' | 'none' | 'open' | 'excluded';

export interface GroupMember {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** null: excluded, or not ended yet. It is never 0 instead. */
  readonly reward: number | null;
  /** Queued, running, or held. */
  readonly open: boolean;
  /** Why it does not count. Absent while it is open. */
  readonly why?: string;
  readonly tokens: number;
}

export interface RewardGroup {
  readonly members: readonly GroupMember[];
  readonly scored: number;
  readonly excluded: number;
  readonly open: number;
  /** Of the rewards that count; null without any. */
  readonly mean: number | null;
  /** Sample standard deviation (ddof 1) of these rewards; null without any. */
  readonly spread: number | null;
  readonly signal: Signal;
}

/** What decides about the signal of a group. `low`, `high`: of the rewards that count. */
interface SignalCounts {
  readonly scored: number;
  readonly open: number;
  readonly low: number;
  readonly high: number;
}

export function signalOf({ scored, open, low, high }: SignalCounts): Signal {
  if (scored > 1 && low !== high) return 'some';
  if (open > 0) return 'open';
  return scored === 0 ? 'excluded' : 'none';
}

/**
 * Returns the group of a task. `rows`: those that count for its attempts, by attempt number − 1; an attempt without a
 * row is queued, or never began if the batch has ended. `size`: number of attempts.
 */
export function groupOf(rows: readonly (RolloutRow | undefined)[], size: number, hasEnded = false): RewardGroup {
  const members: GroupMember[] = [];
  const rewards: number[] = [];
  let [open, low, high] = [0, Infinity, -Infinity];
  for (let attempt = 1; attempt <= Math.max(size, rows.length); attempt++) {
    const member = memberOf(rows[attempt - 1], attempt, hasEnded);
    members.push(member);
    if (member.open) open += 1;
    if (member.reward === null) continue;
    rewards.push(member.reward);
    low = Math.min(low, member.reward);
    high = Math.max(high, member.reward);
  }
  const scored = rewards.length;
  const signal = signalOf({ scored, open, low, high });
  return {
    members,
    scored,
    excluded: members.length - scored - open,
    open,
    // The mean of equal rewards can differ from them in the last bit.
    mean: scored === 0 ? null : low === high ? low : mean(rewards),
    spread: scored === 0 ? null : low === high ? 0 : spread(rewards),
    signal,
  };
}

function memberOf(row: RolloutRow | undefined, attempt: number, hasEnded: boolean): GroupMember {
  if (row === undefined)
    return { attempt, reward: null, open: !hasEnded, ...(hasEnded ? { why: 'it never began' } : {}), tokens: 0 };
  const tokens = row.progress.input_tokens + row.progress.output_tokens;
  const why = whyExcludedOf(row);
  if (why === undefined) return { attempt, reward: row.progress.reward ?? null, open: false, tokens };
  const isOpen = ['queued', 'running', 'held'].includes(outcomeOf(row));
  return { attempt, reward: null, open: isOpen, ...(isOpen ? {} : { why }), tokens };
}

/** Returns the advantage of each member, in order; null for a member that does not count. */
export function memberAdvantages({ members }: RewardGroup, estimator: Estimator): (number | null)[] {
  return advantagesOf(
    estimator,
    members.map(({ reward }) => (isScored(reward) ? reward : null)),
  );
}
