/** Working directories: one for each rollout, below the worker's own folder, with the task's attachments in it. */
import { mkdirSync, rmdirSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import type { TaskRecord } from '../../trace/task.ts';

/** Makes the directory. Throws StudioError `config` for an attachment that would lie outside of it. */
export async function makeWorkDirectory(
  parent: string,
  rollout: string,
  task: TaskRecord,
  readBlob: (sha: string) => Promise<Uint8Array>,
): Promise<string> {
  const directory = path.join(parent, rollout);
  // Every rollout has one and few use it. One call of the system is done sooner than it is handed to another thread.
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

/** Removes it with all that was put there; a process that is just ending may still hold a file. */
export async function removeWorkDirectory(parent: string, rollout: string): Promise<void> {
  const directory = path.join(parent, rollout);
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, or never made.
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
