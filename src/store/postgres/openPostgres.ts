import { StudioError } from '../../common/errors.ts';
import { RowBlobs } from '../blobs/rowBlobs.ts';
import { migrate } from '../sql/meta.ts';
import type { Definitions } from '../sql/schema.ts';
import { SqlStore, type SqlStoreOptions } from '../sqlStore.ts';
import { PostgresSql, SCHEMA } from './postgresSql.ts';

const DEFINITIONS: Definitions = {
  id: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  int: 'BIGINT',
  bytes: 'BYTEA',
  table: '',
  clustered: '',
};
/** Of the lock under which servers that start together set up the tables one after the other. */
const MIGRATION_LOCK = 0x524f4c4c4f5554;

/**
 * Opens the store in a PostgreSQL database; makes its schema when there is none. Throws StudioError `storage` or
 * `version`.
 */
export async function openPostgres(url: string, options: Omit<SqlStoreOptions, 'name'>): Promise<SqlStore> {
  const name = withoutPassword(url);
  const sql = new PostgresSql(url, name);
  try {
    await sql.open();
    await migrate(sql, DEFINITIONS, name, async (tx) => {
      await tx.run('SELECT pg_advisory_xact_lock(?)', MIGRATION_LOCK);
      await tx.run(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
    });
  } catch (error) {
    await sql.close();
    throw error;
  }
  return new SqlStore(sql, new RowBlobs(sql), { ...options, name });
}

/** A URL as people may see it. Throws `usage` for what is none. */
function withoutPassword(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new StudioError('usage', 'The URL of the PostgreSQL store is not valid.', {
      hint: 'Use the form postgres://user:password@host:5432/database.',
    });
  }
  parsed.password = '';
  for (const key of [...parsed.searchParams.keys()]) if (/password/i.test(key)) parsed.searchParams.delete(key);
  return parsed.href;
}
