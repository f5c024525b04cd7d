/** The batches whose world has a tool: the worlds it can be tried in. */

import { StudioError } from '../../../common/errors.ts';
import { isJsonObject } from '../../../common/json.ts';
import type { Files } from '../../../config/files.ts';
import { dirname, joinPath } from '../../../config/paths.ts';
import { parseFile } from '../../../config/source/parse.ts';
import { moduleTools, type ReadText, type ToolPlace } from '../../../config/tools/toolModules.ts';
import type { TryWorld } from '../../../protocol/tryPage.ts';
import { type BatchRefs, firstTasks } from '../../files/batchRefs.ts';

/** So many tasks are offered; others are entered by their id. */
const MAX_TASKS = 100;

export interface NamedBatch extends Pick<BatchRefs, 'world' | 'dataset'> {
  readonly file: string;
  /** As people know it. */
  readonly name: string;
}

/** `tool`: its name, and the path of the module it is written in. In the order of the batches. */
export async function toolWorlds(
  batches: readonly NamedBatch[],
  tool: Pick<ToolPlace, 'name' | 'path'>,
  files: Files,
): Promise<TryWorld[]> {
  const readText: ReadText = (path) => orNothing(files.readText(path));
  const known = new Map<string, Promise<boolean>>();
  const found = await Promise.all(
    batches.map(async ({ file, name, world, dataset }): Promise<TryWorld | undefined> => {
      if (world === undefined || dataset === undefined) return undefined;
      const has = known.get(world) ?? hasTool(world, tool, readText);
      known.set(world, has);
      if (!(await has)) return undefined;
      const tasks = ((await orNothing(firstTasks(files, dataset, MAX_TASKS + 1))) ?? []).map(({ task }) => task.id);
      return { batch: file, name, tasks: tasks.slice(0, MAX_TASKS), more: tasks.length > MAX_TASKS };
    }),
  );
  return found.filter((each) => each !== undefined);
}

async function hasTool(world: string, tool: Pick<ToolPlace, 'name' | 'path'>, readText: ReadText): Promise<boolean> {
  const text = await readText(world);
  const { value } = text === undefined ? {} : parseFile(world, text);
  if (!isJsonObject(value) || typeof value['module'] !== 'string') return false;
  const tools = (await moduleTools(joinPath(dirname(world), value['module']), 'reached', readText)) ?? [];
  return tools.some(({ name, path }) => name === tool.name && path === tool.path);
}

/** What cannot be read offers nothing. */
async function orNothing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (StudioError.is(error)) return undefined;
    throw error;
  }
}
