/** The facts of every task of a batch, recomputed only when its rows change. */

import type { Outcome } from '../../../src/trace/outcome.ts';
import { type AttemptRows, type Counts, noCounts, type TaskFacts, taskFacts } from './taskFacts.ts';

export class TaskBook {
  /** Attempts by outcome, without those that have no row yet. */
  readonly counts: Counts;
  readonly #counts = noCounts();
  readonly #facts: (TaskFacts | undefined)[] = [];
  #width = 0;
  /** The facts of a task without rows. */
  #empty: TaskFacts = taskFacts(undefined, 0);

  constructor() {
    this.counts = this.#counts;
  }

  of(index: number): TaskFacts {
    return this.#facts[index] ?? this.#empty;
  }

  /** `width`: attempts per task. */
  update(touched: Iterable<number>, tasks: readonly (AttemptRows | undefined)[], width: number): void {
    if (width !== this.#width) {
      this.#width = width;
      this.#empty = taskFacts(undefined, width);
      this.update(tasks.keys(), tasks, width);
      return;
    }
    for (const index of touched) {
      const task = tasks[index];
      if (task === undefined) continue;
      const facts = taskFacts(task, width);
      this.#count(this.#facts[index], -1);
      this.#count(facts, 1);
      this.#facts[index] = facts;
    }
  }

  #count(facts: TaskFacts | undefined, sign: 1 | -1): void {
    if (facts === undefined) return;
    for (const outcome in facts.counts) this.#counts[outcome as Outcome] += sign * facts.counts[outcome as Outcome];
  }
}
