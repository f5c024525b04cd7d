/**
 * Working directories: one per rollout, below the worker's folder, with the task's attachments. Their names are random
 * and cannot be listed, so that a program that runs without a sandbox does not find those of other rollouts.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { chmod, mkdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { StudioError, systemCodeOf } from '../../common/errors.ts';
import { removeTree } from '../../disk/removeTree.ts';
import { WorkFolder } from '../../tools/workFolder.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { TaskRecord } from '../../trace/task.ts';

/** Only its user can use what is in it, and nobody can list it. (The superuser can, and Windows has no modes.) */
const UNLISTED = 0o300;

/** Creates the folder of a worker, for working directories. One that exists, such as a volume, stays as it is. */
export async function makeWorkerFolder(folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 });
  await mkdir(folder, { mode: UNLISTED }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
}

/**
 * Creates the folder for working directories that another container, with another user of the same group, uses, too,
 * and in it the folder for bundles.
 */
export async function makeSharedFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Programs cannot replace the directories of others, because only their creator may rename them.
  await chmod(folder, 0o1730).catch(() => undefined); // it was made before
  await mkdir(bundlesIn(folder), { recursive: true, mode: 0o750 });
}

/** Returns the folder for bundles in one that another container uses, too. */
export function bundlesIn(shared: string): string {
  return path.join(shared, 'bundles');
}

/** Removes the folder of a worker with its contents. A process that is just ending may still hold a file. */
export async function removeWorkerFolder(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined); // it does not exist, or belongs to the system
  await removeTree(folder, { retries: 20 });
}

/**
 * Creates the directory of one rollout and returns its path. Throws StudioError `config` for an attachment that would
 * be outside of it.
 */
export async function makeWorkDirectory(
  parent: string,
  task: TaskRecord,
  readBlob: (sha: string) => Promise<Uint8Array>,
  shared = false,
): Promise<string> {
  const directory = path.join(parent, randomBytes(16).toString('hex'));
  // Every rollout has a directory, and few use it. A synchronous call is faster than passing it to another thread.
  mkdirSync(directory, { mode: shared ? 0o770 : 0o700 });
  try {
    await addAttachments(directory, task, readBlob);
  } catch (error) {
    await removeWorkDirectory(directory);
    throw error;
  }
  return directory;
}

async function addAttachments(
  directory: string,
  task: TaskRecord,
  readBlob: (sha: string) => Promise<Uint8Array>,
): Promise<void> {
  const folder = new WorkFolder(directory);
  for (const { name, sha } of task.files ?? []) {
    const content = await readBlob(sha);
    try {
      await folder.write(name, content);
    } catch (error) {
      const isOutside = error instanceof ClassedError;
      if (!isOutside && systemCodeOf(error) !== 'EISDIR') throw error;
      const problem = isOutside ? 'is outside the working directory' : 'has the name of a folder';
      throw new StudioError('config', `The attachment “${name}” of task ${task.id} ${problem}.`, {
        hint: 'Use attachment names without “..” and without a leading slash.',
        cause: error,
      });
    }
  }
}

/** Removes the directory with its contents; a process that is just ending may still hold a file. */
export async function removeWorkDirectory(directory: string): Promise<void> {
  try {
    // The rollout is over, so nothing waits for it: other rollouts need not wait for the disk either.
    await rmdir(directory);
  } catch {
    // It is not empty, or was never created.
    await removeTree(directory);
  }
}
