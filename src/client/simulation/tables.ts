import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { MAX_STATE_CHARS, type StateTable } from '../../config/simulation/state.ts';
import { DatabaseFile } from '../../formats/sqlite/database.ts';
import { openRegular } from '../../tools/regularFile.ts';

/**
 * Reads tables of a SQLite file, as far as a state can show them. The file is somebody else's, so SQLite itself does
 * not open it. Throws StudioError `config` if it is not a database, or has no such table.
 */
export async function readTables(database: string, names: readonly string[] | undefined): Promise<StateTable[]> {
  const { handle } = await openRegular(database);
  await using _closed = handle;
  const file = await DatabaseFile.open(async (at, length) => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at);
    return buffer.subarray(0, bytesRead);
  });
  const missing = names?.find((name) => !file.tables.some((table) => table.name === name));
  if (missing !== undefined)
    throw new StudioError('config', `the database has no table \`${missing}\``, {
      hint: `Available tables: ${file.tables.map(({ name }) => name).join(', ')}.`,
    });
  const tables: StateTable[] = [];
  // Each table gets a part of what a state can show, so that the first one does not take all of it.
  const shown = file.tables.filter(({ name }) => names?.includes(name) ?? true);
  for (const table of shown) {
    const rows: (readonly Json[])[] = [];
    let room = MAX_STATE_CHARS / shown.length;
    let left = 0;
    for await (const { values } of file.rows(table)) {
      if (left === 0) room -= JSON.stringify(values).length;
      if (room < 0) left++;
      else rows.push(values);
    }
    tables.push({ name: table.name, columns: table.columns, key: table.key, rows, left });
  }
  return tables;
}
