/** Compares two batches by task: which tasks changed from never passing to passing, or the other way. */
import { compareReports, countsByTask } from '../statistics/compare.ts';
import { type Counts, passAt } from '../statistics/passRates.ts';
import type { Comparison } from '../statistics/schema.ts';
import type { ReportInput } from '../statistics.ts';

/**
 * `gained`: no attempt passed before, at least one does now; `lost`: the reverse. `better`, `worse`: the share of
 * passed attempts changed. `unknown`: one side has no scored attempt.
 */
export type TaskChange = 'gained' | 'lost' | 'better' | 'worse' | 'same' | 'unknown';

export interface TaskSide {
  readonly passed: number;
  readonly scored: number;
  /** Share that passed; null without a scored attempt. */
  readonly rate: number | null;
}

export interface ComparedTask {
  readonly task: string;
  readonly before: TaskSide;
  readonly after: TaskSide;
  readonly change: TaskChange;
}

export interface ComparedBatches {
  readonly comparison: Comparison;
  /** Shared tasks by change: lost, gained, worse, better, same, unknown; then by ID. */
  readonly tasks: readonly ComparedTask[];
}

const ORDER: readonly TaskChange[] = ['lost', 'gained', 'worse', 'better', 'same', 'unknown'];

/** Compares two batches. */
export function compareBatches(before: ReportInput, after: ReportInput): ComparedBatches {
  const [countsBefore, countsAfter] = [countsByTask(before.rows), countsByTask(after.rows)];
  const tasks = [...countsBefore].flatMap(([task, counts]): ComparedTask[] => {
    const other = countsAfter.get(task);
    if (other === undefined) return [];
    const sides = { before: sideOf(counts), after: sideOf(other) };
    return [{ task, ...sides, change: changeOf(sides.before, sides.after) }];
  });
  tasks.sort((a, b) => ORDER.indexOf(a.change) - ORDER.indexOf(b.change) || (a.task < b.task ? -1 : 1));
  return { comparison: compareReports(after, before), tasks };
}

function sideOf(counts: Counts): TaskSide {
  return { passed: counts.c, scored: counts.n, rate: passAt(counts, 1) };
}

function changeOf(before: TaskSide, after: TaskSide): TaskChange {
  if (before.rate === null || after.rate === null) return 'unknown';
  if (before.passed === 0 && after.passed > 0) return 'gained';
  if (before.passed > 0 && after.passed === 0) return 'lost';
  return after.rate === before.rate ? 'same' : after.rate > before.rate ? 'better' : 'worse';
}
