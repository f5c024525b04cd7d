import path from 'node:path';
import { isPostgresUrl } from '../common/postgres.ts';
import { LEASE_SECONDS } from '../protocol/worker.ts';
import { openPostgres } from './postgres/openPostgres.ts';
import { openSqlite, openSqliteReadOnly } from './sqlite/openSqlite.ts';
import type { Store } from './store.ts';

export interface OpenOptions {
  /** How long a session lives without a heartbeat; 30 s by default. */
  readonly leaseMs?: number;
  /** Delay after the end of a rollout before its stream is compressed; a second by default. */
  readonly packDelayMs?: number;
  /** How many entries of the audit log are kept; 50,000 by default. */
  readonly auditEntries?: number;
  /** Whether a folder is only read: everything that would change it throws `forbidden`. */
  readonly readOnly?: boolean;
}

/**
 * Opens a store: a folder (SQLite, created if necessary) or `postgres://…`. Throws StudioError: `storage` when it
 * cannot be opened, `version` when a newer program wrote it.
 */
export function openStore(target: string, options: OpenOptions = {}): Promise<Store> {
  const { auditEntries } = options;
  const settings = {
    leaseMs: options.leaseMs ?? LEASE_SECONDS * 1000,
    packDelayMs: options.packDelayMs ?? 1000,
    ...(auditEntries === undefined ? {} : { auditEntries }),
  };
  if (isPostgresUrl(target)) return openPostgres(target, settings);
  const folder = path.resolve(target);
  return options.readOnly === true ? openSqliteReadOnly(folder, settings) : openSqlite(folder, settings);
}
