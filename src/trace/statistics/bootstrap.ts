/**
 * Percentile intervals of means by resampling tasks (Efron, "Bootstrap methods: another look at the jackknife", Ann.
 * Statist. 7, 1979). Tasks are resampled, because they are independent and attempts are not. A resample draws N of N
 * tasks with replacement, so the counts of groups of indistinguishable tasks are multinomial. The mean needs only these
 * counts, and their cost depends on the number of groups, not of tasks: they are drawn as a sequence of binomials, each
 * from the remaining draws (Davis, "The computer generation of multinomial random variates", Comput. Stat. Data Anal.
 * 16, 1993). The distribution is the same as when drawing task by task.
 */

import type { Piecewise } from '../../common/piecewise.ts';
import { binomial, type Draw } from './binomial.ts';

export const LEVEL = 0.95;
const SEED = 20_240_607;
const MAX_RESAMPLES = 2_000;
const MIN_RESAMPLES = 200;
/** Limit of draws in total: more resamples are not worth the time. */
const DRAWS = 4_000_000;
/** A binomial takes about as long as this many draws of one task. */
const BINOMIAL_DRAWS = 20;

export type Interval = [low: number, high: number];

/** Tasks with the same values in every list. */
export interface TaskGroup {
  readonly tasks: number;
  /** One value for each list; null if the list does not include these tasks. */
  readonly values: readonly (number | null)[];
}

/** Returns the number of resamples for means over these tasks, with a limit of `draws` in total. */
export function resamplesFor(groups: readonly TaskGroup[], draws = DRAWS): number {
  const cost = partsOf(groups).reduce(
    (sum, { members }) => sum + Math.min(tasksOf(members), members.length * BINOMIAL_DRAWS),
    0,
  );
  return Math.min(MAX_RESAMPLES, Math.max(MIN_RESAMPLES, Math.floor(draws / Math.max(1, cost))));
}

/** Returns the description of the method, for the report. */
export function methodText(resamples: number): string {
  return `percentile bootstrap over tasks, ${resamples} resamples, seed ${SEED}`;
}

/**
 * Returns the interval of the mean of each list over its tasks; null with fewer than two tasks. Lists with the same
 * tasks share their resamples. Deterministic for the same groups in the same order.
 */
export function* intervalsOf(groups: readonly TaskGroup[], resamples: number): Piecewise<(Interval | null)[]> {
  const intervals = (groups[0]?.values ?? []).map((): Interval | null => null);
  for (const { members, lists } of partsOf(groups)) {
    const tasks = tasksOf(members);
    if (tasks < 2) continue;
    const values = lists.map((list) => Float64Array.from(members, (member) => member.values[list] ?? 0));
    const means = lists.map(() => new Float64Array(resamples));
    const resample = resampler(members, generator(SEED));
    for (let r = 0; r < resamples; r++) {
      const counts = resample();
      for (const [at, row] of means.entries()) row[r] = weightedSum(counts, values[at]) / tasks;
      yield;
    }
    for (const [at, list] of lists.entries()) intervals[list] = percentiles(means[at]);
  }
  return intervals;
}

/**
 * Returns intervals of statistics that are computed from sums over tasks, such as a confusion matrix: the percentiles
 * over resamples of the tasks. `vectors`: what each task adds to the sums. Resamples without a value are left out; null
 * with fewer than two tasks, or if half of the resamples have no value. Deterministic for the same vectors in the same
 * order.
 */
export function resampledIntervals(
  vectors: readonly (readonly number[])[],
  resamples: number,
  statistics: readonly ((sums: readonly number[]) => number | null)[],
): (Interval | null)[] {
  if (vectors.length < 2) return statistics.map(() => null);
  const groups = [...Map.groupBy(vectors, (vector) => vector.join()).values()].map((same) => ({
    tasks: same.length,
    values: same[0] ?? [],
  }));
  const resample = resampler(groups, generator(SEED));
  const found = statistics.map((): number[] => []);
  for (let r = 0; r < resamples; r++) {
    const counts = resample();
    const sums = Array.from(vectors[0] ?? [], () => 0);
    for (const [at, { values }] of groups.entries())
      for (const [index, value] of values.entries()) sums[index] = (sums[index] ?? 0) + (counts[at] ?? 0) * value;
    for (const [at, statistic] of statistics.entries()) {
      const value = statistic(sums);
      if (value !== null) found[at]?.push(value);
    }
  }
  return found.map((values) => (values.length * 2 < resamples ? null : percentiles(Float64Array.from(values))));
}

/** Lists with the same tasks. */
interface Part {
  readonly members: readonly TaskGroup[];
  readonly lists: number[];
}

function partsOf(groups: readonly TaskGroup[]): Part[] {
  const parts: Part[] = [];
  for (const list of groups[0]?.values.keys() ?? []) {
    const members = groups.filter(({ values }) => typeof values[list] === 'number');
    const same = parts.find(
      (part) => part.members.length === members.length && part.members.every((member, at) => member === members[at]),
    );
    if (same === undefined) parts.push({ members, lists: [list] });
    else same.lists.push(list);
  }
  return parts;
}

function weightedSum(counts: Uint32Array, values: Float64Array = new Float64Array()): number {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += (counts[at] ?? 0) * (values[at] ?? 0);
  return sum;
}

/** Returns a function that draws tasks and returns the count of each group, in the same array each time. */
function resampler(groups: readonly TaskGroup[], draw: Draw): () => Uint32Array {
  const tasks = tasksOf(groups);
  const counts = new Uint32Array(groups.length);
  if (tasks <= groups.length * BINOMIAL_DRAWS) {
    const groupOf = Uint32Array.from(groups.flatMap((group, at) => Array.from({ length: group.tasks }, () => at)));
    return () => {
      counts.fill(0);
      for (let i = 0; i < tasks; i++) {
        const group = groupOf[Math.floor(draw() * tasks)] ?? 0;
        counts[group] = (counts[group] ?? 0) + 1;
      }
      return counts;
    };
  }
  return () => {
    let left = tasks;
    let others = tasks;
    for (let at = 0; at < groups.length; at++) {
      const weight = groups[at]?.tasks ?? 0;
      const count = binomial(left, weight / others, draw);
      counts[at] = count;
      left -= count;
      others -= weight;
    }
    return counts;
  };
}

function percentiles(means: Float64Array = new Float64Array()): Interval {
  means.sort();
  const tail = (1 - LEVEL) / 2;
  return [quantile(means, tail), quantile(means, 1 - tail)];
}

/** Interpolates linearly between the two nearest of the ascending values. */
function quantile(ascending: Float64Array, q: number): number {
  const place = q * (ascending.length - 1);
  const below = ascending[Math.floor(place)] ?? 0;
  const above = ascending[Math.ceil(place)] ?? 0;
  return below + (above - below) * (place - Math.floor(place));
}

function tasksOf(groups: readonly Pick<TaskGroup, 'tasks'>[]): number {
  return groups.reduce((sum, { tasks }) => sum + tasks, 0);
}

/** Marsaglia's 32-bit xorshift, never 0. Good enough to draw tasks, and the same on every platform. */
function generator(seed: number): Draw {
  let state = seed >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
