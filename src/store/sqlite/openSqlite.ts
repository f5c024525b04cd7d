import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { databaseFile } from '../../protocol/storeFolder.ts';
import { FileBlobs } from '../blobs/fileBlobs.ts';
import { RowBlobs } from '../blobs/rowBlobs.ts';
import { migrate, requireVersion } from '../sql/meta.ts';
import type { Definitions } from '../sql/schema.ts';
import { SqlStore, type SqlStoreOptions } from '../sqlStore.ts';
import { Checkpoints } from './checkpoints.ts';
import { openDatabase } from './driver.ts';
import { sqliteError } from './errors.ts';
import { readKey, writeKey } from './keyFile.ts';
import { openReadOnly } from './readOnlySqlite.ts';
import { SqliteBlobs } from './sqliteBlobs.ts';
import { SqliteSql } from './sqliteSql.ts';

const DEFINITIONS: Definitions = {
  id: 'INTEGER PRIMARY KEY AUTOINCREMENT', // an ID is never reused, not even after gc
  int: 'INTEGER',
  bytes: 'BLOB',
  table: ' STRICT',
  clustered: ' STRICT, WITHOUT ROWID',
};

/** Opens the store in a folder; creates it if necessary. Throws StudioError `storage` or `version`. */
export async function openSqlite(folder: string, options: Omit<SqlStoreOptions, 'name'>): Promise<SqlStore> {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = databaseFile(folder);
    const writer = openDatabase(file, { readOnly: false });
    try {
      // Must precede all other writes, and is itself a write.
      if (writer.prepare('PRAGMA page_count').get()?.['page_count'] === 0)
        writer.exec('PRAGMA auto_vacuum = INCREMENTAL');
      // The cache is 16 MB. `Checkpoints` copies the log into the database; if it cannot, SQLite does at 64 MB.
      writer.exec(
        'PRAGMA journal_mode = WAL; PRAGMA fullfsync = 1; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint ' +
          '= 16000;',
      );
      // Not every file system supports a write-ahead log.
      const log = writer.prepare('PRAGMA journal_mode').get()?.['journal_mode'] === 'wal' ? `${file}-wal` : undefined;
      // With a write-ahead log, SqliteSql syncs commits itself.
      writer.exec(`PRAGMA synchronous = ${log === undefined ? 'FULL' : 'NORMAL'}`);
      const reader = openDatabase(file, { readOnly: true });
      const checkpoints = log === undefined ? undefined : new Checkpoints(file);
      const another = () => openDatabase(file, { readOnly: true });
      const sql = new SqliteSql({ writer, reader, folder, log, checkpoints, another });
      try {
        await migrate(sql, DEFINITIONS, folder);
      } catch (error) {
        await sql.close();
        throw error;
      }
      const blobs = new SqliteBlobs(new RowBlobs(sql), new FileBlobs(path.join(folder, 'blobs'), sql), folder);
      return new SqlStore(sql, blobs, {
        ...options,
        name: folder,
        key: { read: () => readKey(folder), write: (key) => writeKey(folder, key) },
      });
    } catch (error) {
      if (writer.isOpen) writer.close();
      throw error;
    }
  } catch (error) {
    throw sqliteError(error, folder);
  }
}

/** Opens a store that cannot be written to. Throws StudioError `storage` or `version`. */
export async function openSqliteReadOnly(folder: string, options: Omit<SqlStoreOptions, 'name'>): Promise<SqlStore> {
  try {
    const sql = new SqliteSql({ reader: openReadOnly(folder), folder });
    try {
      await requireVersion(sql, folder);
    } catch (error) {
      await sql.close();
      throw error;
    }
    const blobs = new SqliteBlobs(new RowBlobs(sql), new FileBlobs(path.join(folder, 'blobs'), sql), folder);
    // Nothing that its key has signed is valid while it is read-only.
    const key = randomBytes(32).toString('hex');
    return new SqlStore(sql, blobs, { ...options, name: folder, key: { read: () => key, write: () => undefined } });
  } catch (error) {
    throw sqliteError(error, folder);
  }
}
