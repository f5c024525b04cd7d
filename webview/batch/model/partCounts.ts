/** Counts how many attempts match each part of a filter alone, and how many match without it. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import type { FilterPart } from './filter.ts';

export interface PartCounts {
  readonly alone: readonly number[];
  readonly without: readonly number[];
}

export function* partCounts(
  parts: readonly FilterPart[],
  rows: Iterable<RolloutRow>,
  record: (index: number) => TaskRecord | undefined,
): Piecewise<PartCounts> {
  const alone = parts.map(() => 0);
  const without = parts.map(() => 0);
  yield* each(
    rows,
    (row) => {
      const holds = parts.map(({ test }) => test(row, record(row.task_index)));
      const misses = holds.filter((held) => !held).length;
      holds.forEach((held, i) => {
        if (held) alone[i] = (alone[i] ?? 0) + 1;
        if (misses === (held ? 0 : 1)) without[i] = (without[i] ?? 0) + 1;
      });
    },
    AT_ONCE,
  );
  return { alone, without };
}

const AT_ONCE = 512;
