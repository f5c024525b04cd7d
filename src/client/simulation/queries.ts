import { openRegular } from '../../tools/regularFile.ts';
import { type QueryResult, queryResult } from '../published/template/query.ts';
import { SqlProcess } from '../published/template/sqlProcess.ts';

/** The longest time for one query. */
const MAX_MS = 60_000;

/**
 * Runs a query on a SQLite file, which is only read, in a process that ends with it. `chars`: how many characters the
 * rows may have. Throws StudioError `config` if the query fails or takes too long.
 */
export async function readQuery(
  database: string,
  query: string,
  chars: number,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { handle } = await openRegular(database); // a pipe would block SQLite
  await handle.close();
  using process = new SqlProcess(MAX_MS);
  return await process.ask({ file: database, query, chars }, queryResult, signal);
}
