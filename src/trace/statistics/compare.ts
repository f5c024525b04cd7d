/** Compares two batches over the same tasks: whether one is better, and whether the difference is significant. */
import { finish } from '../../common/piecewise.ts';
import { type ReportInput, report } from '../statistics.ts';
import type { RolloutRow } from '../summary.ts';
import { intervalsOf, LEVEL, methodText, resamplesFor, type TaskGroup } from './bootstrap.ts';
import { compareCalls } from './callRates.ts';
import { attemptsOf } from './outcomes.ts';
import { pairAttempts } from './pairs.ts';
import { type Counts, passAll, passAt } from './passRates.ts';
import { weightedMean } from './passTables.ts';
import type { Comparison } from './schema.ts';
import { tallyOf } from './tally.ts';

type Rate = (counts: Counts, k: number) => number | null;

/**
 * Returns the paired difference of `here` to `baseline` (above 0: better), with intervals by resampling the shared
 * tasks, which are those with equal IDs. Fields are null, with a reason in `why`, if one of the reports has no pass@k.
 */
export function compareReports(here: ReportInput, baseline: ReportInput): Comparison {
  const reports = [report(here), report(baseline)] as const;
  const counts = countsByTask(here.rows);
  const before = countsByTask(baseline.rows);
  const shared = [...counts].flatMap(([task, count]) => {
    const other = before.get(task);
    return other === undefined ? [] : [{ task, here: count, baseline: other }];
  });
  const ks = Object.keys(reports[0].tasks_at)
    .filter((k) => Object.hasOwn(reports[1].tasks_at, k))
    .map(Number);
  const why: Record<string, string> = {};
  const biased = reports.find((one) => one.pass_at === null);
  if (biased !== undefined)
    why['pass_at'] = why['pass_all'] = `batch ${biased.batch}: ${biased.why['pass_at'] ?? 'no pass@k'}`;
  else if (shared.length === 0) why['pass_at'] = why['pass_all'] = 'the batches have no task in common';
  const pairs = groupPairs(shared);
  const resamples = resamplesFor(rateGroups(pairs, ks, passAt));
  const calls = compareCalls(attemptsOf(here.rows), attemptsOf(baseline.rows));
  if (typeof calls === 'string') why['calls'] = calls;
  const table = (rate: Rate): Comparison['pass_at'] =>
    biased === undefined && shared.length > 0 ? differences(rateGroups(pairs, ks, rate), ks, resamples) : null;
  const changed = shared.flatMap(({ task, here: a, baseline: b }) => {
    const [x, y] = [passAt(a, 1), passAt(b, 1)];
    return x === null || y === null ? [] : [{ task, here: x, baseline: y, difference: x - y }];
  });
  return {
    batch: here.batch,
    baseline: baseline.batch,
    tasks: shared.length,
    only_here: [...counts.keys()].filter((task) => !before.has(task)),
    only_in_baseline: [...before.keys()].filter((task) => !counts.has(task)),
    pass_at: table(passAt),
    pass_all: table(passAll),
    intervals: { level: LEVEL, method: methodText(resamples) },
    ...pairAttempts(here, baseline),
    calls: typeof calls === 'string' ? null : calls,
    better: changed.filter((task) => task.difference > 0).length,
    worse: changed.filter((task) => task.difference < 0).length,
    same: changed.filter((task) => task.difference === 0).length,
    changed: changed
      .filter((task) => task.difference !== 0)
      .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)),
    why,
  };
}

/** Returns scored and passed attempts by task, in order of the IDs, so that the order of rows does not matter. */
export function countsByTask(rows: readonly RolloutRow[]): ReadonlyMap<string, Counts> {
  return new Map([...tallyOf(attemptsOf(rows)).tasks].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Pair {
  readonly here: Counts;
  readonly baseline: Counts;
}

interface PairGroup extends Pair {
  readonly tasks: number;
}

/** Groups tasks with the same counts in both batches: resampling cannot distinguish them. */
function groupPairs(shared: readonly Pair[]): PairGroup[] {
  const groups = new Map<string, { here: Counts; baseline: Counts; tasks: number }>();
  for (const { here, baseline } of shared) {
    const key = `${here.n} ${here.c} ${baseline.n} ${baseline.c}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { here, baseline, tasks: 1 });
    else group.tasks += 1;
  }
  return [...groups.values()];
}

/** Rates of tasks with equal counts. `values`: the differences, by k, which are resampled. */
interface RatedGroup extends TaskGroup {
  /** null unless both have enough scored attempts. */
  readonly rates: readonly ({ readonly here: number; readonly baseline: number } | null)[];
}

function rateGroups(pairs: readonly PairGroup[], ks: readonly number[], rate: Rate): RatedGroup[] {
  return pairs.map((pair) => {
    const rates = ks.map((k) => {
      const [here, baseline] = [rate(pair.here, k), rate(pair.baseline, k)];
      return here === null || baseline === null ? null : { here, baseline };
    });
    return {
      tasks: pair.tasks,
      rates,
      values: rates.map((both) => (both === null ? null : both.here - both.baseline)),
    };
  });
}

function differences(
  groups: readonly RatedGroup[],
  ks: readonly number[],
  resamples: number,
): NonNullable<Comparison['pass_at']> {
  const intervals = finish(intervalsOf(groups, resamples));
  const table: NonNullable<Comparison['pass_at']> = {};
  for (const [at, k] of ks.entries()) {
    const here = weightedMean(groups.map(({ tasks, rates }) => ({ tasks, value: rates[at]?.here ?? null })));
    const baseline = weightedMean(groups.map(({ tasks, rates }) => ({ tasks, value: rates[at]?.baseline ?? null })));
    if (here === null || baseline === null) continue;
    const tasks = groups.reduce((sum, group) => sum + (group.rates[at] === null ? 0 : group.tasks), 0);
    table[k] = { here, baseline, difference: here - baseline, interval: intervals[at] ?? null, tasks };
  }
  return table;
}
