/** Working directories: one per rollout, below the worker's folder, with the task's attachments. */
import { mkdirSync, rmdirSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { TaskRecord } from '../../trace/task.ts';

/** Creates the directory. Throws StudioError `config` for an attachment that would be outside of it. */
export async function makeWorkDirectory(
  parent: string,
  rollout: string,
  task: TaskRecord,
  readBlob: (sha: string) => Promise<Uint8Array>,
): Promise<string> {
  const directory = path.join(parent, rollout);
  // Every rollout has a directory, and few use it. A synchronous call is faster than passing it to another thread.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const { name, sha } of task.files ?? []) {
    const target = path.resolve(directory, name);
    const relative = path.relative(directory, target);
    if (relative === '' || relative.startsWith('..') || path.isAbsolute(relative)) {
      throw new StudioError('config', `The attachment “${name}” of task ${task.id} is outside the working directory.`, {
        hint: 'Use attachment names without “..” and without a leading slash.',
      });
    }
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, await readBlob(sha));
  }
  return directory;
}

/** Removes the directory with its contents; a process that is just ending may still hold a file. */
export async function removeWorkDirectory(parent: string, rollout: string): Promise<void> {
  const directory = path.join(parent, rollout);
  try {
    rmdirSync(directory);
  } catch {
    // It is not empty, or was never created.
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
