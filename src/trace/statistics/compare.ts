/** Two batches over the same tasks, side by side: is one better, and is that more than luck? */
import { report, type ReportInput } from '../statistics.ts';
import { intervalsOf, LEVEL, methodText, resamplesFor } from './bootstrap.ts';
import { attemptsOf, countsByTask } from './outcomes.ts';
import { mean, passAll, passAt, type Counts } from './passRates.ts';
import type { Comparison } from './schema.ts';

type Rate = (counts: Counts, k: number) => number | null;

/**
 * The paired difference of `here` to `baseline` (above 0 = better), with an interval by resampling the shared tasks.
 * Tasks are the same when their ids are. null, with why, where one of the reports has no pass@k.
 */
export function compareReports(here: ReportInput, baseline: ReportInput): Comparison {
  const reports = [report(here), report(baseline)] as const;
  const counts = countsByTask(attemptsOf(here.rows));
  const before = countsByTask(attemptsOf(baseline.rows));
  const shared = [...counts].flatMap(([task, count]) => {
    const other = before.get(task);
    return other === undefined ? [] : [{ task, here: count, baseline: other }];
  });
  const ks = Object.keys(reports[0].tasks_at).filter((k) => Object.hasOwn(reports[1].tasks_at, k)).map(Number);
  const why: Record<string, string> = {};
  const biased = reports.find((one) => one.pass_at === null);
  if (biased !== undefined) why['pass_at'] = why['pass_all'] = `batch ${biased.batch}: ${biased.why['pass_at'] ?? 'no pass@k'}`;
  else if (shared.length === 0) why['pass_at'] = why['pass_all'] = 'the batches have no task in common';
  const table = (rate: Rate): Comparison['pass_at'] => (biased === undefined && shared.length > 0 ? differences(shared, ks, rate) : null);
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
    intervals: { level: LEVEL, method: methodText(resamplesFor(shared.length)) },
    better: changed.filter((task) => task.difference > 0).length,
    worse: changed.filter((task) => task.difference < 0).length,
    same: changed.filter((task) => task.difference === 0).length,
    changed: changed.filter((task) => task.difference !== 0).sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)),
    why,
  };
}

function differences(shared: readonly { here: Counts; baseline: Counts }[], ks: readonly number[], rate: Rate): NonNullable<Comparison['pass_at']> {
  const table: NonNullable<Comparison['pass_at']> = {};
  for (const k of ks) {
    const pairs = shared.flatMap((task): [number, number][] => {
      const [x, y] = [rate(task.here, k), rate(task.baseline, k)];
      return x === null || y === null ? [] : [[x, y]];
    });
    const [x, y] = [mean(pairs.map(([value]) => value)), mean(pairs.map(([, value]) => value))];
    if (x === null || y === null) continue;
    const [interval] = intervalsOf([pairs.map(([a, b]) => a - b)], resamplesFor(shared.length));
    table[k] = { here: x, baseline: y, difference: x - y, interval: interval ?? null, tasks: pairs.length };
  }
  return table;
}
