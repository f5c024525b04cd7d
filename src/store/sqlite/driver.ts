/** Loads `node:sqlite`. Newer Node.js versions rename its class, and older ones print a warning. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { StudioError } from '../../common/errors.ts';

export type { DatabaseSync as SqliteDatabase, StatementSync as SqliteStatement };

interface SqliteModule {
  readonly DatabaseSync?: typeof DatabaseSync;
  readonly Database?: typeof DatabaseSync;
}

let constructor: typeof DatabaseSync | undefined;

/** Opens a database file. Throws errors of SQLite; see `errors.ts`. */
export function openDatabase(file: string | URL, options: { readonly readOnly: boolean }): DatabaseSync {
  constructor ??= load();
  // Wait for other processes (a backup, a shell) that lock the file for a moment.
  return new constructor(file, { readOnly: options.readOnly, timeout: 2000 });
}

function load(): typeof DatabaseSync {
  const sqlite = builtin();
  const database = sqlite?.DatabaseSync ?? sqlite?.Database;
  if (database === undefined) {
    throw new StudioError('unsupported', `Node.js ${process.versions.node} does not include SQLite.`, {
      hint: 'Use Node.js 22.19 or newer, or a PostgreSQL store.',
    });
  }
  return database;
}

/** Returns undefined if Node.js does not include it. */
function builtin(): SqliteModule | undefined {
  const emitWarning = process.emitWarning.bind(process);
  // Node 22 prints "SQLite is an experimental feature" while it loads, which users cannot act on.
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}
