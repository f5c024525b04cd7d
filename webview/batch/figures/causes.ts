/** Counts attempts that did not pass by cause. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import { type Outcome, outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';

export interface CauseCount {
  readonly text: string;
  readonly outcome: Outcome;
  readonly count: number;
  /** Its tasks, those that it hits most first. */
  readonly tasks: readonly { readonly name: string; readonly count: number }[];
  /** Its first attempt, in order of task and attempt. */
  readonly first: { readonly index: number; readonly attempt: number };
}

export interface Causes {
  /** Most frequent first. */
  readonly all: readonly CauseCount[];
  /** The sum of their counts. */
  readonly notPassed: number;
  /** Ended attempts. Cancelled ones are not counted: nobody asks why they did not pass. */
  readonly ended: number;
}

interface Entry extends Omit<CauseCount, 'tasks' | 'count'> {
  count: number;
  readonly tasks: Map<string, number>;
}

/** `rows`: in order of task and attempt. */
export function* countCauses(rows: Iterable<RolloutRow>): Piecewise<Causes> {
  const entries = new Map<string, Entry>();
  let notPassed = 0;
  let ended = 0;
  yield* each(rows, (row) => {
    if (row.state !== 'ended') return;
    const outcome = outcomeOf(row);
    if (outcome === 'cancelled') return;
    ended += 1;
    const cause = causeOf(row);
    if (cause === undefined) return;
    notPassed += 1;
    let entry = entries.get(cause.text);
    if (entry === undefined) {
      const first = { index: row.task_index, attempt: row.attempt };
      entries.set(cause.text, (entry = { text: cause.text, outcome, count: 0, tasks: new Map(), first }));
    }
    entry.count += 1;
    entry.tasks.set(row.task, (entry.tasks.get(row.task) ?? 0) + 1);
  });
  const all = [...entries.values()]
    .sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1))
    .map((entry) => ({
      ...entry,
      tasks: [...entry.tasks].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count),
    }));
  return { all, notPassed, ended };
}

/** Returns the task that a cause hits most: `two-annas 5, and 7 more tasks`. */
export function tasksText(tasks: CauseCount['tasks']): string {
  const [most] = tasks;
  if (most === undefined) return '';
  const others = tasks.length - 1;
  const more = others === 0 ? '' : `, and ${others} more ${others === 1 ? 'task' : 'tasks'}`;
  return `${most.name} ${most.count}${more}`;
}
