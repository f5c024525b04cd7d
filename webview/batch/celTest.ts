/** A filter in CEL over the rows of a batch. The language is loaded when it is first needed. */
import { loadQuery } from '../data/query.ts';
import type { RowTest } from './model/filter.ts';

/** Rejects with a StudioError that says what is wrong with the text. */
export async function celTest(text: string): Promise<RowTest> {
  const { compileCondition, rowEnvironment } = await loadQuery();
  const query = compileCondition(text);
  return (row, task) => query.matches(rowEnvironment(row, task)).matched;
}
