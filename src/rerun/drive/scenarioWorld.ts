/** A scenario of a code world for one of its published tasks: what a driven session needs, without a batch. */
import path from 'node:path';
import { diskFiles } from '../../client/disk.ts';
import { submitPorts } from '../../client/submitFile.ts';
import { workspaceRoot } from '../../client/workspace.ts';
import { StudioError } from '../../common/errors.ts';
import { seedOf } from '../../common/hash.ts';
import { plural } from '../../common/text.ts';
import { columnsOf, type FileTask } from '../../config/dataset/columns.ts';
import { readTasks } from '../../config/dataset/dataset.ts';
import { DEFAULTS } from '../../config/defaults.ts';
import type { Files } from '../../config/files.ts';
import { checkScenario, type Scenarios, scenarioName } from '../../config/load/scenarios.ts';
import type { LoadedCodeWorld, LoadedWorld } from '../../config/load/world.ts';
import { loadWorld } from '../../config/load.ts';
import { problemsError } from '../../config/source/problem.ts';
import { DEFAULT_SANDBOX } from '../../config/submission.ts';
import { buildScenario } from '../../config/submit.ts';
import { worldSeed } from '../../rollout/world.ts';
import { keptBlobs, type TaskWorld } from '../tryInWorld.ts';

/** Reads a world file. Throws StudioError `config` for problems in it. */
export async function readWorldFile(file: string, cwd: string): Promise<LoadedWorld> {
  const files = diskFiles(cwd);
  const { value, problems } = await loadWorld(files, file);
  if (value === undefined) throw problemsError(problems, files.absolute(cwd));
  return value;
}

/** Returns the scenario that a world file names, or the only one of its folder. */
export function ownScenarioOf({ file, scenarios }: LoadedCodeWorld): string | undefined {
  if (file.scenario !== undefined) return file.scenario;
  const [name, ...others] = scenarios.names;
  return others.length === 0 ? name : undefined;
}

/**
 * Reads a scenario for one of its own tasks. `id`: its ID as in datasets (`library-0`), or its number; absent: the
 * first. Throws StudioError `not_found` for an unknown scenario or task, and `config` if the scenario cannot run.
 */
export async function readScenarioWorld(
  loaded: LoadedCodeWorld,
  written: string,
  id: string | undefined,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<TaskWorld> {
  const root = workspaceRoot(loaded.path, cwd);
  const files = diskFiles(cwd);
  checkScenario(loaded.scenarios, written, ({ message, hint }) => {
    throw new StudioError('not_found', `${loaded.file.name}: ${message}.`, { hint });
  });
  const scenario = scenarioName(loaded.scenarios, written);
  if (loaded.file.scenario !== undefined && scenarioName(loaded.scenarios, loaded.file.scenario) !== scenario)
    throw new StudioError('usage', `The world ${loaded.file.name} has only the scenario ${loaded.file.scenario}.`, {
      hint: 'Remove `scenario` from the world file to use the others.',
    });
  const task = await taskOf(files, loaded.scenarios, scenario, id, root);
  const { world, blobs } = await buildScenario(loaded, scenario, root, submitPorts(files, root, env, undefined));
  const { seed } = DEFAULTS;
  return {
    root,
    world,
    task,
    seed: worldSeed(task, seed),
    callSeed: seedOf(seed, task.id, 1),
    seconds: DEFAULTS.limits.tool_seconds,
    sandbox: { ...DEFAULT_SANDBOX, hide: [path.resolve(loaded.scenarios.folder)] },
    blobs: await keptBlobs(blobs),
  };
}

async function taskOf(
  files: Files,
  { format, folder }: Scenarios,
  scenario: string,
  id: string | undefined,
  root: string,
): Promise<Omit<FileTask, 'files' | 'messages'>> {
  const spec = { path: folder, format, columns: columnsOf({ format }), offset: 0, scenarios: new Set([scenario]) };
  const problems: Parameters<Parameters<typeof readTasks>[2]>[0][] = [];
  let count = 0;
  for await (const { task } of readTasks(files, spec, (problem) => void problems.push(problem))) {
    if (id === undefined || task.id === id || task.id === `${scenario}-${id}`) {
      const { files: _, messages: __, ...rest } = task; // tasks of published worlds have none
      return rest;
    }
    count += 1;
  }
  // A broken row of another scenario does not matter, unless no task was found.
  if (count === 0 && problems.length > 0) throw problemsError(problems, root);
  throw new StudioError(
    'not_found',
    id === undefined
      ? `The scenario ${scenario} has no tasks in ${folder}.`
      : `The scenario ${scenario} has no task ${id}.`,
    {
      hint:
        count === 0
          ? 'Name a batch file with --batch: its dataset says which tasks there are.'
          : `It has ${plural(count, 'task')}: ${scenario}-0${count === 1 ? '' : ` to ${scenario}-${count - 1}`}.`,
    },
  );
}
