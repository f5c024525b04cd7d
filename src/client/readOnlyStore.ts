/** Stores that can be viewed but not changed: on a read-only disk, or without permission to write. */
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import { isPostgresUrl } from '../common/postgres.ts';
import { databaseFile } from '../protocol/storeFolder.ts';

/** Returns whether `store` is a folder with a store of this user, or of anyone for root, that it cannot write to. */
export function isReadOnlyStore(store: string): boolean {
  if (isPostgresUrl(store)) return false;
  const folder = path.resolve(store);
  const file = databaseFile(folder);
  const stats = statSync(file, { throwIfNoEntry: false });
  const uid = process.getuid?.();
  if (stats === undefined || (uid !== undefined && uid !== 0 && stats.uid !== uid)) return false;
  return can(file, constants.R_OK) && !(can(file, constants.W_OK) && can(folder, constants.W_OK));
}

function can(file: string, what: number): boolean {
  try {
    accessSync(file, what);
    return true;
  } catch {
    return false;
  }
}
