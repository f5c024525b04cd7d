/**
 * Ensures one server per SQLite store. The lock is an exclusive transaction on a separate database. SQLite uses the
 * operating system's file locks, so the lock is released with the process, however it ends.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { createFolder } from '../../common/createFolder.ts';
import { StudioError } from '../../common/errors.ts';
import type { ServerFile } from '../../protocol/serverFile.ts';
import { sqliteError } from '../../store/sqlite/errors.ts';
import { readServerFile } from './serverFile.ts';

const SQLITE_BUSY = 5;
/** A server that starts or ends holds the lock for a moment without a `server.json`. */
const UNNAMED_WAIT_MS = 10_000;
const POLL_MS = 50;

type StoreLock =
  | { readonly isTaken: false; release(): void }
  /** `by` is undefined when the holder has not written its `server.json`. */
  | { readonly isTaken: true; readonly by: ServerFile | undefined };

/**
 * Locks the store in `folder`, which is created if needed. Waits a little for a holder that is starting or ending.
 * `isAlive` says whether a process runs, since `server.json` may be stale.
 */
export async function lockStore(folder: string, isAlive: (pid: number) => boolean): Promise<StoreLock> {
  try {
    createFolder(folder, path, (each) => mkdirSync(each, { mode: 0o700 }));
  } catch (cause) {
    throw new StudioError('storage', `Cannot create the store folder ${folder}.`, {
      hint: 'Choose another folder with --store.',
      cause,
    });
  }
  const until = performance.now() + UNNAMED_WAIT_MS;
  for (;;) {
    const release = tryLock(folder);
    if (release !== undefined) return { isTaken: false, release };
    const by = readServerFile(folder);
    if ((by !== undefined && isAlive(by.pid)) || performance.now() > until) return { isTaken: true, by };
    await delay(POLL_MS);
  }
}

function tryLock(folder: string): (() => void) | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path.join(folder, 'lock.db'), { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    database?.close();
    if (isBusy(cause)) return undefined;
    const specific = sqliteError(cause, folder);
    if (StudioError.is(specific) && specific.details?.['full'] === true) throw specific;
    throw new StudioError('storage', `Cannot lock the store folder ${folder}.`, {
      hint: 'Use a folder that you can write to, on a disk that supports file locks.',
      cause,
    });
  }
  const held = database;
  return () => held.close();
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === SQLITE_BUSY
  );
}
