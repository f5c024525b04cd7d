/** How far the scorers and people who judged the attempts of a batch agree on which of them passed. Pure. */
import { finish } from '../../common/piecewise.ts';
import { type Interval, LEVEL, methodText, resampledIntervals } from '../statistics/bootstrap.ts';
import { attemptRows } from '../statistics/outcomes.ts';
import type { RolloutRow } from '../summary.ts';
import { judgementOf, REWARD, scorersOf } from '../verdicts.ts';
import { cohensKappa, coincidencesOf, krippendorffsAlpha, shareOf } from './coefficients.ts';

/** Two scorers, on the attempts that both judged. */
export interface PairAgreement {
  readonly scorers: readonly [string, string];
  readonly compared: number;
  readonly confusion: {
    readonly both_passed: number;
    readonly only_first: number;
    readonly only_second: number;
    readonly both_failed: number;
  };
  /** Share of attempts on which they agree. */
  readonly share: number | null;
  /** Cohen's kappa. */
  readonly kappa: number | null;
  readonly intervals: { readonly share: Interval | null; readonly kappa: Interval | null };
}

/** An attempt on which at least two scorers contradict each other. */
export interface Disagreement {
  readonly rollout: string;
  readonly task: string;
  readonly attempt: number;
  /** Only of scorers that decided. */
  readonly passed: Readonly<Record<string, boolean>>;
}

export interface Agreement {
  readonly batch: string;
  /** Attempts that at least two scorers judged. */
  readonly attempts: number;
  readonly scorers: readonly { readonly scorer: string; readonly judged: number; readonly passed: number }[];
  /** Krippendorff's alpha of all scorers, with missing verdicts. */
  readonly alpha: number | null;
  readonly intervals: { readonly level: number; readonly method: string; readonly alpha: Interval | null };
  readonly pairs: readonly PairAgreement[];
  readonly disagreements: readonly Disagreement[];
  /** Why a value is null. */
  readonly why: Readonly<Record<string, string>>;
}

const RESAMPLES = 2_000;

/** The verdicts on one attempt: the index of the scorer → whether it passed; undefined: not judged. */
interface Unit {
  readonly row: RolloutRow;
  readonly verdicts: readonly (boolean | undefined)[];
}

/**
 * Returns the agreement of `scorers`: by default, the reward and all that have later verdicts. `rows`: those of all
 * tries. Attempts count by the rollout that settled them. Intervals are percentiles of a bootstrap over tasks, because
 * the attempts of a task are not independent.
 */
export function agreementOf(
  batch: string,
  rows: readonly RolloutRow[],
  scorers: readonly string[] = [REWARD, ...scorersOf(rows)],
): Agreement {
  const units = finish(attemptRows(rows))
    .filter(({ settles }) => settles)
    .map((row): Unit => ({ row, verdicts: scorers.map((scorer) => judgementOf(row, scorer)?.passed ?? undefined) }));
  const tasks = [...Map.groupBy(units, ({ row }) => row.task).values()];
  const alphas = tasks.map((of) => coincidences(of));
  const alpha = alphaOf(sumOf(alphas));
  const pairs = scorers.flatMap((_first, a) =>
    scorers.slice(a + 1).map((_second, at) => pairOf(scorers, tasks, a, a + 1 + at)),
  );
  const judged = (at: number): (boolean | undefined)[] =>
    units.map(({ verdicts }) => verdicts[at]).filter((verdict) => verdict !== undefined);
  return {
    batch,
    attempts: units.filter(({ verdicts }) => verdicts.filter((verdict) => verdict !== undefined).length > 1).length,
    scorers: scorers.map((scorer, at) => ({
      scorer,
      judged: judged(at).length,
      passed: judged(at).filter((passed) => passed === true).length,
    })),
    alpha,
    intervals: {
      level: LEVEL,
      method: methodText(RESAMPLES),
      alpha: resampledIntervals(alphas, RESAMPLES, [alphaOf])[0] ?? null,
    },
    pairs,
    disagreements: units.flatMap(({ row, verdicts }): Disagreement[] => {
      if (!verdicts.includes(true) || !verdicts.includes(false)) return [];
      const passed = scorers.flatMap((scorer, at): [string, boolean][] => {
        const verdict = verdicts[at];
        return verdict === undefined ? [] : [[scorer, verdict]];
      });
      return [{ rollout: row.rollout, task: row.task, attempt: row.attempt, passed: Object.fromEntries(passed) }];
    }),
    why: whyNot(alpha, pairs, tasks.length),
  };
}

function whyNot(alpha: number | null, pairs: readonly PairAgreement[], tasks: number): Record<string, string> {
  const why: Record<string, string> = {};
  const same = 'all verdicts are equal, so chance explains the agreement';
  if (pairs.length === 0) why['alpha'] = 'only one scorer judged the attempts';
  else if (pairs.every(({ compared }) => compared === 0)) why['alpha'] = 'no attempt was judged by two scorers';
  else if (alpha === null) why['alpha'] = same;
  for (const { scorers, compared, kappa } of pairs) {
    if (kappa === null) why[`kappa.${scorers.join(' · ')}`] = compared === 0 ? 'no attempt was judged by both' : same;
  }
  if (tasks < 2) why['intervals'] = 'resampling needs more than one task';
  return why;
}

/** Returns what the attempts of a task add to the coincidences: paired passes and failures, and differing pairs. */
function coincidences(units: readonly Unit[]): number[] {
  return sumOf(
    units.map(({ verdicts }) => {
      const count = (passed: boolean): number => verdicts.filter((verdict) => verdict === passed).length;
      const { paired, differing } = coincidencesOf([count(true), count(false)]);
      return [...paired, differing];
    }),
  );
}

function alphaOf([passed = 0, failed = 0, differing = 0]: readonly number[]): number | null {
  return krippendorffsAlpha([passed, failed], differing);
}

function pairOf(scorers: readonly string[], tasks: readonly (readonly Unit[])[], a: number, b: number): PairAgreement {
  const counts = tasks.map((units) => {
    const count = (first: boolean, second: boolean): number =>
      units.filter(({ verdicts }) => verdicts[a] === first && verdicts[b] === second).length;
    return [count(true, true), count(true, false), count(false, true), count(false, false)];
  });
  const sums = sumOf(counts);
  const [both_passed = 0, only_first = 0, only_second = 0, both_failed = 0] = sums;
  const [share = null, kappa = null] = resampledIntervals(counts, RESAMPLES, [
    (sum) => shareOf(table(sum)),
    (sum) => cohensKappa(table(sum)),
  ]);
  return {
    scorers: [scorers[a] ?? '', scorers[b] ?? ''],
    compared: both_passed + only_first + only_second + both_failed,
    confusion: { both_passed, only_first, only_second, both_failed },
    share: shareOf(table(sums)),
    kappa: cohensKappa(table(sums)),
    intervals: { share, kappa },
  };
}

function table([a = 0, b = 0, c = 0, d = 0]: readonly number[]): number[][] {
  return [
    [a, b],
    [c, d],
  ];
}

function sumOf(vectors: readonly (readonly number[])[]): number[] {
  const sum = Array.from(vectors[0] ?? [], () => 0);
  for (const vector of vectors) for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + value;
  return sum;
}
