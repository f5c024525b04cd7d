import type { FileTask } from '../dataset/columns.ts';
import { readTasks } from '../dataset/dataset.ts';
import type { Files } from '../files.ts';
import type { LoadedBatch } from '../load.ts';
import { type Problem, problemsError } from '../source/problem.ts';

/**
 * Reads the tasks of a batch, without the records that its format leaves out. Throws StudioError `config` for an
 * invalid one.
 */
export async function* fileTasks(loaded: LoadedBatch, files: Files): AsyncGenerator<FileTask> {
  const stop = (problem: Problem): void => {
    if (problem.severity === 'error') throw problemsError([problem], loaded.root);
  };
  for await (const { task } of readTasks(files, loaded.dataset.spec, stop)) yield task;
}
