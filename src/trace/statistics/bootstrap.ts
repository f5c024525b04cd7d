/** Percentile intervals of means by resampling tasks: tasks, not attempts, are what is independent. */

export const LEVEL = 0.95;
const SEED = 20_240_607;
const MOST_RESAMPLES = 2_000;
const FEWEST_RESAMPLES = 200;
/** Draws after which more resamples are not worth their time. */
const DRAWS = 4_000_000;

export type Interval = [low: number, high: number];

/** How many resamples are drawn for means over `tasks` tasks. */
export function resamplesFor(tasks: number): number {
  return Math.min(MOST_RESAMPLES, Math.max(FEWEST_RESAMPLES, Math.floor(DRAWS / Math.max(1, tasks))));
}

/** How the intervals were made, for the report. */
export function methodText(resamples: number): string {
  return `percentile bootstrap over tasks, ${resamples} resamples, seed ${SEED}`;
}

/**
 * One interval for each list of values (one value per task, in one order), all from the same resamples. The same
 * values always give the same interval. null with fewer than two tasks: one task says nothing about others.
 */
export function intervalsOf(lists: readonly (readonly number[])[], resamples: number): (Interval | null)[] {
  const tasks = lists[0]?.length ?? 0;
  if (tasks < 2) return lists.map(() => null);
  const means = lists.map(() => new Float64Array(resamples));
  const draw = generator(SEED);
  const drawn = new Uint32Array(tasks);
  for (let r = 0; r < resamples; r++) {
    for (let i = 0; i < tasks; i++) drawn[i] = Math.floor(draw() * tasks);
    for (const [l, values] of lists.entries()) {
      let sum = 0;
      for (const index of drawn) sum += values[index] ?? 0;
      const row = means[l];
      if (row !== undefined) row[r] = sum / tasks;
    }
  }
  const tail = (1 - LEVEL) / 2;
  return means.map((row) => {
    row.sort();
    return [quantile(row, tail), quantile(row, 1 - tail)];
  });
}

/** Linear between the two nearest of the ascending values. */
function quantile(ascending: Float64Array, q: number): number {
  const place = q * (ascending.length - 1);
  const below = ascending[Math.floor(place)] ?? 0;
  const above = ascending[Math.ceil(place)] ?? 0;
  return below + (above - below) * (place - Math.floor(place));
}

/** Numbers in [0, 1): Marsaglia's 32-bit xorshift. Good enough to draw tasks, and the same everywhere. */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
