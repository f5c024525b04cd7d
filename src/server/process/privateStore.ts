/** Keeps the store of a user from other users of the machine. */
import { chmodSync, existsSync, statSync } from 'node:fs';
import { StudioError } from '../../common/errors.ts';
import { databaseFile } from '../../protocol/storeFolder.ts';

/** Permissions of group and others. */
const OTHERS = 0o077;

/**
 * Throws StudioError `storage` if other users can read the store in `folder`: they may have read its tokens. A folder
 * without a store is closed to them instead. Windows has other permissions; another user's folder is theirs to close.
 */
export function requirePrivate(folder: string): void {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (process.platform === 'win32' || stats === undefined || stats.uid !== process.getuid?.()) return;
  if ((stats.mode & OTHERS) === 0) return;
  if (!existsSync(databaseFile(folder))) {
    chmodSync(folder, stats.mode & ~OTHERS);
    if ((statSync(folder).mode & OTHERS) === 0) return;
  }
  throw new StudioError('storage', `Other users of this machine can read the store ${folder}.`, {
    hint: `Close it with chmod -R go= ${folder}, or use another store with --store.`,
  });
}
