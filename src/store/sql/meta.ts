import { randomBytes } from 'node:crypto';
import { StudioError } from '../../common/errors.ts';
import { text } from './row.ts';
import { type Definitions, MIGRATIONS, STORE_VERSION } from './schema.ts';
import type { Reader, Sql, Table, Transaction } from './sql.ts';

export const META: Table = { name: 'meta', columns: { name: 'text', value: 'text' } };
const CREATE_META = 'CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)';

async function get(tx: Reader, name: string): Promise<string | undefined> {
  const row = await tx.get('SELECT value FROM meta WHERE name = ?', name);
  return row === undefined ? undefined : text(row, 'value');
}

/**
 * Migrates a database, or an empty one, to the current version in one transaction. Throws `version` for a store of a
 * newer program, without changing it.
 */
export async function migrate(
  sql: Sql,
  definitions: Definitions,
  store: string,
  before?: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  await sql.write(async (tx) => {
    await before?.(tx);
    await tx.run(CREATE_META);
    const version = Number((await get(tx, 'version')) ?? 0);
    if (version > STORE_VERSION) throw newerStore(store, version);
    for (const step of MIGRATIONS.slice(version)) {
      for (const statement of step(definitions)) await tx.run(statement);
    }
    if (version < STORE_VERSION) {
      await tx.run('DELETE FROM meta WHERE name = ?', 'version');
      await tx.insert(META, ['name', 'value'], [['version', String(STORE_VERSION)]]);
    }
  });
}

/** Throws `version` for a store that would have to be migrated, and for one of a newer program. */
export async function requireVersion(sql: Sql, store: string): Promise<void> {
  const version = await sql.read(async (db) => Number((await get(db, 'version')) ?? 0));
  if (version > STORE_VERSION) throw newerStore(store, version);
  if (version < STORE_VERSION)
    throw new StudioError('version', `The store ${store} is of an older version, and is read-only.`, {
      hint: 'Copy the folder to a place where you can write, and use the copy with --store: it is upgraded there.',
    });
}

function newerStore(store: string, version: number): StudioError {
  return new StudioError(
    'version',
    `The store ${store} was written by a newer Rollout Studio (store version ${version}; this version supports ` +
      `${STORE_VERSION}).`,
    {
      hint:
        'Update Rollout Studio, or use another store with --store. To go back to this version, restore a backup that ' +
        'was made before the upgrade: rollout restore FILE --store NEW.',
    },
  );
}

/** A place outside of the database for the secret key. */
export interface KeyPlace {
  /** Returns undefined if it has no key yet. */
  read(): string | undefined;
  write(key: string): void;
}

/** See `Store.secretKey`. `place`: where the key is, if not in the database; a key in the database moves there. */
export async function secretKey(sql: Sql, place?: KeyPlace): Promise<string> {
  const existing = place?.read();
  if (existing !== undefined) return existing;
  const created = randomBytes(32).toString('hex');
  return await sql.write(async (tx) => {
    if (place === undefined) await tx.insert(META, ['name', 'value'], [['secret', created]], 'ignore');
    // Another connection may have written it.
    const key = place?.read() ?? (await get(tx, 'secret')) ?? created;
    if (place !== undefined) {
      place.write(key);
      await tx.run('DELETE FROM meta WHERE name = ?', 'secret');
    }
    return key;
  });
}

/** See `Store.setDebugger`. */
export function setDebugger(sql: Sql, name: string, server: string): Promise<void> {
  const key = debuggerKey(name);
  return sql.write(async (tx) => {
    await tx.run('DELETE FROM meta WHERE name = ?', key);
    await tx.insert(META, ['name', 'value'], [[key, server]]);
  });
}

/** See `Store.debuggerLeft`. */
export function debuggerLeft(sql: Sql, name: string, server: string): Promise<boolean> {
  const key = debuggerKey(name);
  return sql.write(async (tx) => {
    await tx.run('DELETE FROM meta WHERE name = ? AND value = ?', key, server);
    return (await get(tx, key)) === undefined;
  });
}

function debuggerKey(name: string): string {
  return `debugger:${name}`;
}
