/** What became of each attempt, from the summary rows of its rollouts. */
import type { ErrorClass } from '../schema.ts';
import type { RolloutRow } from '../summary.ts';
import type { Counts } from './passRates.ts';

/**
 * `open`: queued, running, held, or ended in a way that settles nothing and gets another try (a touched rollout).
 * `unscored`: ended, but nobody can say whether it passed.
 */
export type Settlement = 'scored' | 'unscored' | 'cancelled' | 'infrastructure' | 'open';

export interface Attempt {
  readonly task: string;
  readonly attempt: number;
  readonly settlement: Settlement;
  readonly passed: boolean;
  readonly truncated: boolean;
  readonly duplicate: boolean;
  readonly error: ErrorClass | undefined;
  /** The beginning of the error's text. */
  readonly message: string | undefined;
  readonly tools: readonly string[];
  /** Absent where the rollout has not ended or does not tell. */
  readonly ms: number | undefined;
}

/** The attempts of a batch: of each, the rollout that settled it, else its newest try. */
export function attemptsOf(rows: Iterable<RolloutRow>): Attempt[] {
  const counting = new Map<string, RolloutRow>();
  for (const row of rows) {
    const slot = JSON.stringify([row.task, row.attempt]);
    const other = counting.get(slot);
    if (other === undefined || (!other.settles && (row.settles || row.try > other.try))) counting.set(slot, row);
  }
  return [...counting.values()].map(attemptOf);
}

function attemptOf(row: RolloutRow): Attempt {
  const { progress } = row;
  const settlement = settlementOf(row);
  return {
    task: row.task,
    attempt: row.attempt,
    settlement,
    passed: settlement === 'scored' && progress.passed === true,
    truncated: row.state === 'ended' && progress.status === 'truncated',
    duplicate: settlement === 'scored' && row.duplicate_of !== undefined,
    error: row.state === 'ended' ? progress.error_class : undefined,
    message: row.state === 'ended' ? progress.error_message : undefined,
    tools: progress.tools,
    ms: row.state === 'ended' ? progress.ms : undefined,
  };
}

function settlementOf({ state, settles, progress }: RolloutRow): Settlement {
  if (state !== 'ended') return 'open';
  switch (progress.status) {
    case 'cancelled':
      return 'cancelled';
    case 'infrastructure':
      return 'infrastructure';
    default:
      if (!settles) return 'open';
      return typeof progress.passed === 'boolean' && typeof progress.reward === 'number' ? 'scored' : 'unscored';
  }
}

/** Scored and passed attempts by task, tasks in order of their ids, so that nothing hangs on the order of rows. */
export function countsByTask(attempts: readonly Attempt[]): Map<string, Counts> {
  const counts = new Map<string, { n: number; c: number }>();
  for (const { task, settlement, passed } of attempts) {
    let count = counts.get(task);
    if (count === undefined) counts.set(task, (count = { n: 0, c: 0 }));
    if (settlement === 'scored') count.n += 1;
    if (passed) count.c += 1;
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}
