/** The secret key of a SQLite store, in a file: who can read only the database cannot forge tokens with it. */
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const NAME = 'secret.key';

/** Returns the key of the store in `folder`; undefined if it has no file yet. */
export function readKey(folder: string): string | undefined {
  const file = path.join(folder, NAME);
  try {
    const key = readFileSync(file, 'utf8').trim();
    chmodSync(file, 0o600);
    return key;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the file atomically: tokens signed with a part of a key would be easy to forge. */
export function writeKey(folder: string, key: string): void {
  const file = path.join(folder, NAME);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${key}\n`, { mode: 0o600, flush: true });
  renameSync(draft, file);
}
