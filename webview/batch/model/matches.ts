/** Which rows a filter leaves. Each row is asked once; a row that changes is another object and asked anew. */
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import type { RowTest } from './filter.ts';

/** A page must stay quick while a slow expression looks through many rows. */
const SLICE_MS = 10;
const ASKED_BETWEEN_LOOKS = 64;

export class Matches {
  readonly #test: RowTest;
  readonly #record: (index: number) => TaskRecord | undefined;
  readonly #known = new WeakMap<RolloutRow, boolean>();

  constructor(test: RowTest, record: (index: number) => TaskRecord | undefined) {
    this.#test = test;
    this.#record = record;
  }

  has(row: RolloutRow): boolean {
    let matched = this.#known.get(row);
    if (matched === undefined) this.#known.set(row, (matched = this.#test(row, this.#record(row.task_index))));
    return matched;
  }

  /** Asks all rows, with pauses. */
  async warm(rows: Iterable<RolloutRow>, signal: AbortSignal): Promise<void> {
    let until = performance.now() + SLICE_MS;
    let asked = 0;
    for (const row of rows) {
      this.has(row);
      if (++asked % ASKED_BETWEEN_LOOKS !== 0 || performance.now() < until) continue;
      await new Promise((resolve) => setTimeout(resolve));
      if (signal.aborted) return;
      until = performance.now() + SLICE_MS;
    }
  }
}
