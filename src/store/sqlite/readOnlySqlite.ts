/** Opens a store that cannot be written to. */
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { StudioError } from '../../common/errors.ts';
import { databaseFile } from '../../protocol/storeFolder.ts';
import { openDatabase, type SqliteDatabase } from './driver.ts';

/** Returns the error of everything that would change the store in `folder`. */
export function readOnlyError(folder: string): StudioError {
  return new StudioError('forbidden', `The store ${folder} is read-only: it can be viewed, but not changed.`, {
    hint: 'Copy the folder to a place where you can write, and use the copy with --store.',
  });
}

/** Throws StudioError `storage` if recent changes are only in its write-ahead log, and SQLite cannot read that. */
export function openReadOnly(folder: string): SqliteDatabase {
  const file = databaseFile(folder);
  const size = (name: string): number | undefined => statSync(name, { throwIfNoEntry: false })?.size;
  // Without its files for coordination, which SQLite cannot create here, only a database that nobody changes is read.
  if (size(`${file}-wal`) === undefined && size(`${file}-shm`) === undefined) {
    const url = pathToFileURL(file);
    url.searchParams.set('immutable', '1');
    return openDatabase(url, { readOnly: true });
  }
  const database = openDatabase(file, { readOnly: true });
  try {
    database.prepare('SELECT name FROM sqlite_schema LIMIT 1').get();
    return database;
  } catch (cause) {
    database.close();
    throw new StudioError('storage', `The store ${folder} was not closed, and reading it requires writing to it.`, {
      hint: 'Copy the folder to a place where you can write, and use the copy with --store.',
      cause,
    });
  }
}
