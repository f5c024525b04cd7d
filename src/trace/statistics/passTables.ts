/** Computes pass@k and pass^k over tasks, for reports. */
import { each, type Piecewise } from '../../common/piecewise.ts';
import { type Interval, intervalsOf, type TaskGroup } from './bootstrap.ts';
import { type Counts, passAll, passAt } from './passRates.ts';

/** Tasks with equal counts. */
export interface CountGroup extends Counts {
  readonly tasks: number;
}

interface PassTables {
  readonly pass_at: Record<string, number | null>;
  readonly tasks_at: Record<string, number>;
  readonly pass_all: Record<string, number | null>;
}

interface PassIntervals {
  readonly pass_at: Record<string, Interval | null>;
  readonly pass_all: Record<string, Interval | null>;
}

/** Groups tasks by their counts. The result does not depend on the order of the tasks. */
export function* groupCounts(counts: Iterable<Counts>): Piecewise<CountGroup[]> {
  const groups = new Map<number, Map<number, number>>();
  yield* each(counts, ({ n, c }) => {
    let passes = groups.get(n);
    if (passes === undefined) groups.set(n, (passes = new Map<number, number>()));
    passes.set(c, (passes.get(c) ?? 0) + 1);
  });
  return [...groups]
    .flatMap(([n, passes]) => [...passes].map(([c, tasks]) => ({ n, c, tasks })))
    .sort((a, b) => a.n - b.n || a.c - b.c);
}

export function passTables(groups: readonly CountGroup[], ks: readonly number[]): PassTables {
  const tables: PassTables = { pass_at: {}, tasks_at: {}, pass_all: {} };
  for (const k of ks) {
    tables.pass_at[k] = weightedMean(groups.map((group) => ({ tasks: group.tasks, value: passAt(group, k) })));
    tables.pass_all[k] = weightedMean(groups.map((group) => ({ tasks: group.tasks, value: passAll(group, k) })));
    tables.tasks_at[k] = groups.reduce((sum, { n, tasks }) => sum + (n < k ? 0 : tasks), 0);
  }
  return tables;
}

/** Returns the values to resample: pass@k for each k, then pass^k for each k. */
export function passValues(groups: readonly CountGroup[], ks: readonly number[]): TaskGroup[] {
  return groups.map((group) => ({
    tasks: group.tasks,
    values: [...ks.map((k) => passAt(group, k)), ...ks.map((k) => passAll(group, k))],
  }));
}

export function* passIntervals(
  values: readonly TaskGroup[],
  ks: readonly number[],
  resamples: number,
): Piecewise<PassIntervals> {
  const tables: PassIntervals = { pass_at: {}, pass_all: {} };
  const intervals = yield* intervalsOf(values, resamples);
  for (const [at, k] of ks.entries()) {
    tables.pass_at[k] = intervals[at] ?? null;
    tables.pass_all[k] = intervals[ks.length + at] ?? null;
  }
  return tables;
}

/** Returns the mean over the tasks with a value; null without any. */
export function weightedMean(
  groups: readonly { readonly tasks: number; readonly value: number | null }[],
): number | null {
  let sum = 0;
  let count = 0;
  for (const { tasks, value } of groups) {
    if (value === null) continue;
    sum += tasks * value;
    count += tasks;
  }
  return count === 0 ? null : sum / count;
}
