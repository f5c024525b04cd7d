/**
 * Compares the pass rate of a fork with its parent's. All numbers concern one task, so intervals depend only on the
 * number of attempts: Wilson's for the share that passes, transformed to pass@k by 1 − (1 − p)^k, and Newcombe's for
 * the difference (Newcombe, Statistics in Medicine 17, 1998: methods 3 and 10).
 */
import { z } from 'zod';
import type { RolloutRow } from '../summary.ts';
import { attemptsOf } from './outcomes.ts';
import { type Counts, passAt, reportedKs } from './passRates.ts';

const int = z.number().int().min(0);
const interval = z.tuple([z.number(), z.number()]);

const attemptRates = z.object({
  attempts: int,
  /** Ended attempts with a score. */
  scored: int,
  passed: int,
  /** By k; null with fewer scored attempts. */
  pass_at: z.record(z.string(), z.number().nullable()),
  /** At 95%; null without scored attempts. */
  intervals: z.record(z.string(), interval.nullable()),
});
export type AttemptRates = z.infer<typeof attemptRates>;

export const forkRates = z.object({
  /** The last event that the fork shares with its parent. */
  seq: int,
  /** Attempts of the fork. */
  fork: attemptRates,
  /** All attempts of the task in the parent's batch, from their beginning. */
  parent: attemptRates,
  /** Those of them that are equal to the parent up to the cut, including the parent. Absent if unavailable. */
  siblings: attemptRates.optional(),
  /** pass@1 of the fork minus that of `siblings`, else of `parent`. */
  difference: z.object({ of: z.enum(['siblings', 'parent']), value: z.number(), interval }).nullable(),
});
export type ForkRates = z.infer<typeof forkRates>;

/** Normal quantile of 97.5%. */
const Z = 1.959963984540054;

export function ratesOf(rows: Iterable<RolloutRow>, ks: readonly number[]): AttemptRates {
  const attempts = attemptsOf(rows);
  const scored = attempts.filter(({ settlement }) => settlement === 'scored');
  const counts = { n: scored.length, c: scored.filter(({ passed }) => passed).length };
  const within = wilson(counts);
  return {
    attempts: attempts.length,
    scored: counts.n,
    passed: counts.c,
    pass_at: Object.fromEntries(ks.map((k) => [k, passAt(counts, k)])),
    intervals: Object.fromEntries(ks.map((k) => [k, intervalOf(within, passAt(counts, k), k)])),
  };
}

interface ForkRows {
  readonly seq: number;
  readonly fork: Iterable<RolloutRow>;
  readonly parent: Iterable<RolloutRow>;
  readonly siblings?: Iterable<RolloutRow> | undefined;
  /** Requested attempts of the fork. */
  readonly attempts: number;
}

/** Compares pass@k for every k that the fork reports. */
export function compareWithParent({ seq, fork, parent, siblings, attempts }: ForkRows): ForkRates {
  const ks = reportedKs(attempts);
  const here = ratesOf(fork, ks);
  const all = ratesOf(parent, ks);
  const same = siblings === undefined ? undefined : ratesOf(siblings, ks);
  const against = same !== undefined && same.scored > 0 ? same : all;
  const difference = newcombe({ n: here.scored, c: here.passed }, { n: against.scored, c: against.passed });
  return {
    seq,
    fork: here,
    parent: all,
    ...(same === undefined ? {} : { siblings: same }),
    difference: difference === null ? null : { of: against === same ? 'siblings' : 'parent', ...difference },
  };
}

/** Extends the interval to include the estimate, which is 0 or 1 if there are only k attempts. */
function intervalOf(within: [number, number] | null, rate: number | null, k: number): [number, number] | null {
  return within === null || rate === null
    ? null
    : [Math.min(rate, anyOf(within[0], k)), Math.max(rate, anyOf(within[1], k))];
}

/** Returns the chance that at least one of k attempts passes. */
function anyOf(p: number, k: number): number {
  return 1 - (1 - p) ** k;
}

function wilson({ n, c }: Counts): [number, number] | null {
  if (n === 0) return null;
  const p = c / n;
  const middle = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z / (1 + (Z * Z) / n)) * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n));
  return [c === 0 ? 0 : middle - half, c === n ? 1 : middle + half];
}

function newcombe(a: Counts, b: Counts): { value: number; interval: [number, number] } | null {
  const [x, y] = [wilson(a), wilson(b)];
  if (x === null || y === null) return null;
  const [p, q] = [a.c / a.n, b.c / b.n];
  const value = p - q;
  return { value, interval: [value - Math.hypot(p - x[0], y[1] - q), value + Math.hypot(x[1] - p, q - y[0])] };
}
