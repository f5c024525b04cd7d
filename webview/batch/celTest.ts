/** Filters in CEL over the rows of a batch. CEL is loaded on first use. */
import { loadQuery } from '../data/query.ts';
import type { RowTest } from './model/filter.ts';

/** Compiles a filter. Rejects with a StudioError for an invalid expression. */
export async function celTest(text: string): Promise<RowTest> {
  const { compileCondition, rowEnvironment } = await loadQuery();
  const query = compileCondition(text);
  return (row, task) => query.matches(rowEnvironment(row, task)).matched;
}
