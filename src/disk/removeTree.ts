import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { chmod, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isMissing, systemCodeOf } from '../common/errors.ts';
import { PinnedFolder } from './pinnedFolder.ts';

/** How many entries of a folder are deleted at the same time. */
const AT_ONCE = 16;
/** Errors that may pass: a process that is just ending still creates or holds files. */
const PASSING = ['EBUSY', 'EMFILE', 'ENFILE', 'ENOTEMPTY', 'EPERM', 'EISDIR', 'ENOTDIR'];

/**
 * Deletes a folder and its contents, but follows no link; nothing happens if it does not exist. On Linux, programs that
 * change it at the same time cannot have anything outside deleted (see PinnedFolder), and what belongs to this user is
 * deleted whatever its mode. Deletes what it can, tries again up to `retries` times, and then throws the system's first
 * error. Programs must not be able to change what is above the folder.
 */
export async function removeTree(folder: string, { retries = 10, retryMs = 50 } = {}): Promise<void> {
  if (process.platform !== 'linux') {
    await rm(folder, { recursive: true, force: true, maxRetries: retries, retryDelay: retryMs });
    return;
  }
  for (let attempt = 0; ; attempt++) {
    const problem = await removeOnce(folder);
    if (problem === undefined) return;
    if (attempt === retries || !PASSING.includes(systemCodeOf(problem) ?? '')) throw problem;
    await delay(retryMs * (attempt + 1));
  }
}

/** Returns the first error. */
async function removeOnce(folder: string): Promise<Error | undefined> {
  const removal = new Removal();
  const top = removal.open(folder);
  if (top === undefined) await removal.tried(unlink(folder));
  else {
    try {
      await removal.empty(top);
    } finally {
      top.close();
    }
    await removal.tried(rmdir(folder));
  }
  return removal.problem;
}

class Removal {
  /** The first error. */
  problem: Error | undefined;

  /** Opens a folder. Returns undefined if it is none. */
  open(folder: string | Buffer): PinnedFolder | undefined {
    try {
      return new PinnedFolder(folder);
    } catch (error) {
      if (!isMissing(error)) this.#note(error);
      return undefined;
    }
  }

  /**
   * Deletes all that a folder contains. Folders deeper in it are first moved up to it, because trees may be deeper than
   * there are descriptors.
   */
  async empty(top: PinnedFolder): Promise<void> {
    const folders: Buffer[] = [];
    await this.#each(top, (entry, at) => {
      if (!entry.isDirectory()) return unlink(at);
      folders.push(entry.name);
      return undefined;
    });
    for (const name of folders) {
      const at = top.at(name);
      const folder = this.open(at);
      if (folder === undefined) {
        await this.tried(unlink(at));
        continue;
      }
      try {
        await this.#each(folder, async (entry, below) => {
          if (!entry.isDirectory()) return unlink(below);
          const moved = Buffer.from(randomBytes(16).toString('hex'));
          if (await this.#move(below, top.at(moved))) folders.push(moved);
          return undefined;
        });
      } finally {
        folder.close();
      }
      await this.tried(rmdir(at));
    }
  }

  /** Waits for a step, which may fail. */
  async tried(step: Promise<void> | undefined): Promise<void> {
    try {
      await step;
    } catch (error) {
      this.#note(error);
    }
  }

  async #each(
    folder: PinnedFolder,
    act: (entry: Dirent<Buffer>, at: Buffer) => Promise<void> | undefined,
  ): Promise<void> {
    await chmod(folder.path, 0o700).catch(() => undefined); // it belongs to another user, who may let us change it
    let entries: Dirent<Buffer>[] = [];
    try {
      entries = await readdir(folder.path, { withFileTypes: true, encoding: 'buffer' });
    } catch (error) {
      this.#note(error);
    }
    for (let start = 0; start < entries.length; start += AT_ONCE)
      await Promise.all(
        entries.slice(start, start + AT_ONCE).map((entry) => this.tried(act(entry, folder.at(entry.name)))),
      );
  }

  /** Moves a folder, which must be writable itself for that. One of another user is deleted instead, if it is empty. */
  async #move(from: Buffer, to: Buffer): Promise<boolean> {
    try {
      await rename(from, to);
      return true;
    } catch (error) {
      if (systemCodeOf(error) !== 'EACCES') throw error;
      const folder = this.open(from);
      if (folder === undefined) throw error;
      try {
        await chmod(folder.path, 0o700);
      } catch {
        await rmdir(from).catch(() => Promise.reject(error as Error));
        return false;
      } finally {
        folder.close();
      }
    }
    await rename(from, to);
    return true;
  }

  #note(error: unknown): void {
    if (systemCodeOf(error) === 'ENOENT') return;
    this.problem ??= error instanceof Error ? error : new Error(String(error), { cause: error });
  }
}
