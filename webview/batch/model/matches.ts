/** Tests which rows match a filter. Each row is tested once; a changed row is a new object and is tested again. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import type { RowTest } from './filter.ts';

export class Matches {
  readonly #test: RowTest;
  readonly #record: (index: number) => TaskRecord | undefined;
  readonly #width: number;
  /** The tested row and its result, by position of the attempt. */
  readonly #tested: RolloutRow[] = [];
  readonly #matched: boolean[] = [];

  /** `width`: attempts per task. */
  constructor(test: RowTest, record: (index: number) => TaskRecord | undefined, width: number) {
    this.#test = test;
    this.#record = record;
    this.#width = width;
  }

  has(row: RolloutRow): boolean {
    const place = row.task_index * this.#width + row.attempt - 1;
    if (this.#tested[place] === row) return this.#matched[place] === true;
    const matched = this.#test(row, this.#record(row.task_index));
    this.#tested[place] = row;
    this.#matched[place] = matched;
    return matched;
  }

  /** Tests all rows, with pauses. */
  *warm(rows: Iterable<RolloutRow>): Piecewise<void> {
    yield* each(rows, (row) => void this.has(row), TESTED_AT_ONCE);
  }
}

/** A slow expression may take long for each row, so the time is checked after each. */
const TESTED_AT_ONCE = 64;
