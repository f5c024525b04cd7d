/** Reads the database of a search world, and answers the queries that give tasks their answers. */
import { StudioError } from '../../../common/errors.ts';
import type { SourceTable } from '../../../config/facts/pages.ts';
import type { Query, QueryResult } from '../../../config/facts/truth.ts';
import type { Files } from '../../../config/files.ts';
import type { FactPorts } from '../../../config/submit/facts.ts';
import { DatabaseFile, isDatabase } from '../../../formats/sqlite/database.ts';
import { openRegular } from '../../../tools/regularFile.ts';
import { SqlProcess } from '../../published/template/sqlProcess.ts';
import { queryResults, scriptResult } from './requests.ts';
import { MAX_FACT_CHARS } from './script.ts';

const MAX_MS = 30_000;
/** A script with as many rows as fit, and some room. */
const MAX_SCRIPT_BYTES = 2 * MAX_FACT_CHARS;

/** The file is somebody else's, so SQLite itself opens neither it nor anything else: only what was read from it. */
export function factPorts(files: Files, signal: AbortSignal): FactPorts {
  return {
    facts: async (database) => {
      const stat = await files.stat(database); // it must be where files are read
      if ((stat?.bytes ?? 0) > MAX_SCRIPT_BYTES) throw tooLarge();
      const tables = (await databaseTables(database)) ?? (await scriptTables(await files.readText(database), signal));
      const chars = tables.reduce((sum, { rows }) => sum + JSON.stringify(rows).length, 0);
      if (chars > MAX_FACT_CHARS) throw tooLarge();
      return tables;
    },
    query: (tables, queries) => query(tables, queries, signal),
  };
}

/** Returns undefined for a file that is no database. */
async function databaseTables(database: string): Promise<SourceTable[] | undefined> {
  const { handle } = await openRegular(database);
  await using _closed = handle;
  const read = async (at: number, length: number): Promise<Uint8Array> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
    return buffer.subarray(0, bytesRead);
  };
  if (!isDatabase(await read(0, 64))) return undefined;
  const file = await DatabaseFile.open(read);
  const tables: SourceTable[] = [];
  for (const table of file.tables) {
    const rows: SourceTable['rows'] = [];
    for await (const { values } of file.rows(table)) rows.push([...values]);
    const { name, columns, types, key } = table;
    tables.push({
      name,
      columns: columns.map((column, index) => ({ name: column, type: types[index] ?? '' })),
      key: [...key],
      rows,
    });
  }
  return tables;
}

async function scriptTables(script: string, signal: AbortSignal): Promise<SourceTable[]> {
  using process = new SqlProcess(MAX_MS);
  const result = await process.ask({ facts: { script } }, scriptResult, signal);
  if ('tables' in result) return result.tables;
  throw new StudioError('config', `SQLite refuses this statement: ${result.wrong}`, {
    hint: 'Correct it. A script has `CREATE TABLE` and `INSERT`, as `sqlite3 FILE .dump` prints it.',
    details: { line: result.line },
  });
}

async function query(
  tables: readonly SourceTable[],
  queries: readonly Query[],
  signal: AbortSignal,
): Promise<readonly QueryResult[]> {
  if (queries.length === 0) return [];
  using process = new SqlProcess(MAX_MS);
  return (await process.ask({ facts: { tables, queries } }, queryResults, signal)).results;
}

function tooLarge(): StudioError {
  return new StudioError('config', 'the database is larger than 32 MB', {
    hint: 'Leave out rows, or use several worlds.',
  });
}
