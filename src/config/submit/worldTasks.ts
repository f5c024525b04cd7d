import type { TaskRecord } from '../../trace/task.ts';
import type { Files } from '../files.ts';
import type { LoadedCodeWorld } from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import { fileTasks } from './fileTasks.ts';
import { scenarioOf, scenariosOf } from './scenarios.ts';

/** The tasks for which a world is sent. */
export interface WorldTasks {
  readonly root: string;
  tasks(): AsyncIterable<Pick<TaskRecord, 'id' | 'question'>>;
  /** Returns the scenarios of a world that they name, sorted. */
  scenarios(world: LoadedCodeWorld): Promise<readonly string[]>;
}

/** Returns the tasks of a batch file. */
export function tasksOf(loaded: LoadedBatch, files: Files): WorldTasks {
  return {
    root: loaded.root,
    tasks: () => fileTasks(loaded, files),
    scenarios: (world) => scenariosOf(loaded, world, files),
  };
}

/** Returns recorded tasks as those of a batch file. */
export function recordedTasks(
  root: string,
  tasks: readonly Pick<TaskRecord, 'id' | 'question' | 'world'>[],
): WorldTasks {
  return {
    root,
    async *tasks() {
      for (const task of tasks) yield await Promise.resolve(task);
    },
    scenarios: (world) => Promise.resolve([...new Set(tasks.flatMap((task) => scenarioOf(task, world) ?? []))].sort()),
  };
}
