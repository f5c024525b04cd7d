/** A curriculum: which tasks of a dataset are run, and in which order, by their pass rates in an earlier batch. */

export const CURRICULUM_ORDERS = ['hard_first', 'easy_first'] as const;
export type CurriculumOrder = (typeof CURRICULUM_ORDERS)[number];

/** Scored attempts of a task. */
export interface TaskRate {
  readonly passed: number;
  /** At least 1. */
  readonly scored: number;
}

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

/**
 * Selects tasks. In an order, tasks without a rate come last; tasks with equal rates, and those without one, stay in
 * the order of the dataset.
 */
export function selectTasks<T extends { readonly id: string }>(
  tasks: Iterable<T>,
  rates: ReadonlyMap<string, TaskRate>,
  { keep: [low, high] = [0, 1], order }: CurriculumRule,
): { readonly tasks: readonly T[]; readonly counts: CurriculumCounts } {
  const counts = { unknown: 0, too_hard: 0, too_easy: 0 };
  const kept: { readonly task: T; readonly rate: number | undefined }[] = [];
  for (const task of tasks) {
    const found = rates.get(task.id);
    const rate = found === undefined ? undefined : found.passed / found.scored;
    if (rate === undefined) counts.unknown += 1;
    else if (rate < low) counts.too_hard += 1;
    else if (rate > high) counts.too_easy += 1;
    if (rate === undefined || (rate >= low && rate <= high)) kept.push({ task, rate });
  }
  const sign = order === 'easy_first' ? -1 : 1;
  if (order !== undefined)
    kept.sort((a, b) =>
      a.rate === undefined || b.rate === undefined
        ? Number(a.rate === undefined) - Number(b.rate === undefined)
        : sign * (a.rate - b.rate),
    );
  return { tasks: kept.map(({ task }) => task), counts: { kept: kept.length, ...counts } };
}
