/** A curriculum: which tasks of a dataset are run, and in which order, by their pass rates in an earlier batch. */

export const CURRICULUM_ORDERS = ['hard_first', 'easy_first'] as const;
export type CurriculumOrder = (typeof CURRICULUM_ORDERS)[number];

/** Scored attempts of a task. */
export interface TaskRate {
  readonly passed: number;
  /** At least 1. */
  readonly scored: number;
}

/** Where a task is: in the band, or below or above it. */
type BandPlace = 'kept' | 'too_hard' | 'too_easy';

export interface CurriculumRule {
  /** Pass rates of the tasks that are kept, both ends inclusive. Absent: all. */
  readonly keep?: readonly [number, number] | undefined;
  /** Absent: that of the dataset. */
  readonly order?: CurriculumOrder | undefined;
}

/** How many tasks a curriculum keeps and leaves out. `unknown`: kept, since they have no scored attempt. */
export interface CurriculumCounts {
  readonly kept: number;
  readonly unknown: number;
  readonly too_hard: number;
  readonly too_easy: number;
}

/** Returns where a task with this rate is. Both ends of the band are inside. */
export function placeInBand({ passed, scored }: TaskRate, { keep: [low, high] = [0, 1] }: CurriculumRule): BandPlace {
  const rate = passed / scored;
  return rate < low ? 'too_hard' : rate > high ? 'too_easy' : 'kept';
}

/**
 * Selects tasks. In an order, tasks without a rate come last; tasks with equal rates, and those without one, stay in
 * the order of the dataset.
 */
export function selectTasks<T extends { readonly id: string }>(
  tasks: Iterable<T>,
  rates: ReadonlyMap<string, TaskRate>,
  rule: CurriculumRule,
): { readonly tasks: readonly T[]; readonly counts: CurriculumCounts } {
  const counts = { unknown: 0, too_hard: 0, too_easy: 0 };
  const kept: { readonly task: T; readonly rate: number | undefined }[] = [];
  for (const task of tasks) {
    const found = rates.get(task.id);
    const place = found === undefined ? 'unknown' : placeInBand(found, rule);
    if (place !== 'kept') counts[place] += 1;
    if (place === 'kept' || place === 'unknown')
      kept.push({ task, rate: found === undefined ? undefined : found.passed / found.scored });
  }
  const { order } = rule;
  const sign = order === 'easy_first' ? -1 : 1;
  if (order !== undefined)
    kept.sort((a, b) =>
      a.rate === undefined || b.rate === undefined
        ? Number(a.rate === undefined) - Number(b.rate === undefined)
        : sign * (a.rate - b.rate),
    );
  return { tasks: kept.map(({ task }) => task), counts: { kept: kept.length, ...counts } };
}
