/** A table of a world as it is at a step: the rows of the template, with those that changed since. */
import type { ChangedRow } from '../../../../src/trace/model/changes.ts';
import type { TemplateRow } from '../../../data/worldTemplate.ts';
import type { WorldChange } from '../../../world/worldTable.ts';

/**
 * Returns the rows in the order of the template, then those that were added. A row that did not change is an update
 * whose values are equal. `changed`: the rows that differ from the start, by `rowName`.
 */
export function tableAt(
  table: string,
  rows: readonly TemplateRow[],
  changed: ReadonlyMap<string, ChangedRow>,
): WorldChange[] {
  const left = new Map([...changed].filter(([, row]) => row.table === table));
  const merged = rows.map(({ name, key, value }): WorldChange => {
    const change = left.get(name);
    if (change === undefined) return { table, key, op: 'update', before: value, after: value };
    left.delete(name);
    return change;
  });
  return [...merged, ...left.values()];
}
