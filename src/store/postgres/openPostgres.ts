import { StudioError } from '../../common/errors.ts';
import { RowBlobs } from '../blobs/rowBlobs.ts';
import { migrate } from '../sql/meta.ts';
import type { Definitions } from '../sql/schema.ts';
import { SqlStore, type SqlStoreOptions } from '../sqlStore.ts';
import { COMMITS_TABLE } from './commitMarkers.ts';
import { PostgresSql, SCHEMA } from './postgresSql.ts';

const DEFINITIONS: Definitions = {
  id: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  int: 'BIGINT',
  bytes: 'BYTEA',
  table: '',
  clustered: '',
};
/** Key of the lock that serializes the setup of tables by servers that start together. */
const MIGRATION_LOCK = 0x524f4c4c4f5554;

/** Opens the store in a PostgreSQL database; creates its schema if necessary. Throws StudioError `storage` or
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
      for (const statement of COMMITS_TABLE) await tx.run(statement);
    });
  } catch (error) {
    await sql.close();
    throw error;
  }
  return new SqlStore(sql, new RowBlobs(sql), { ...options, name });
}

/** Returns a URL without its password. Throws `usage` for an invalid URL. */
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
