/**
 * Notices that the database of a running server was deleted or replaced. SQLite keeps writing to a deleted file, so
 * without this, a batch would run to its end and leave nothing.
 */
import { statSync } from 'node:fs';

const LOOK_EVERY_MS = 1_000;

/** Calls `lost` once when `file` is no longer the file that it is now. Returns the function that stops watching. */
export function watchStoreFile(file: string, lost: () => void): () => void {
  const opened = statSync(file).ino;
  const timer = setInterval(() => {
    const ino = inoOf(file);
    if (ino === undefined || ino === opened) return;
    clearInterval(timer);
    lost();
  }, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Returns null if there is no such file; undefined if nobody can say, for example because a disk does not respond. */
function inoOf(file: string): number | null | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })?.ino ?? null;
  } catch {
    return undefined;
  }
}
