/** The secret key of a SQLite store, in a file: who can read only the database cannot forge tokens with it. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
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

export function writeKey(folder: string, key: string): void {
  writeFileSync(path.join(folder, NAME), `${key}\n`, { mode: 0o600, flush: true });
}
