/** Finds the worlds for trying a tool: batches whose world has the tool. */

import { StudioError } from '../../../common/errors.ts';
import { isJsonObject, type Json } from '../../../common/json.ts';
import type { Files } from '../../../config/files.ts';
import { dirname, joinPath } from '../../../config/paths.ts';
import { parseFile } from '../../../config/source/parse.ts';
import { moduleTools, type ReadText, type ToolPlace } from '../../../config/tools/toolModules.ts';
import { matchesTool } from '../../../config/tools/toolPattern.ts';
import type { TryWorld } from '../../../protocol/tryPage.ts';
import { type BatchRefs, firstTasks } from '../../files/batchRefs.ts';

/** Maximum number of tasks to offer. Others can be entered by ID. */
const MAX_TASKS = 100;

interface NamedBatch extends Pick<BatchRefs, 'world' | 'dataset'> {
  readonly file: string;
  /** Display name. */
  readonly name: string;
}

/** Returns the worlds in the order of the batches. `tool` has the name and the path of its module. */
export async function toolWorlds(
  batches: readonly NamedBatch[],
  tool: Pick<ToolPlace, 'name' | 'path'>,
  files: Files,
): Promise<TryWorld[]> {
  const readText: ReadText = (path) => orUndefined(files.readText(path));
  const checked = new Map<string, Promise<boolean>>();
  const worlds = await Promise.all(
    batches.map(async ({ file, name, world, dataset }): Promise<TryWorld | undefined> => {
      if (world === undefined || dataset === undefined) return undefined;
      const has = checked.get(world) ?? hasTool(world, tool, readText);
      checked.set(world, has);
      if (!(await has)) return undefined;
      const tasks = ((await orUndefined(firstTasks(files, dataset, MAX_TASKS + 1))) ?? []).map(({ task }) => task.id);
      return { batch: file, name, tasks: tasks.slice(0, MAX_TASKS), more: tasks.length > MAX_TASKS };
    }),
  );
  return worlds.filter((each) => each !== undefined);
}

/** Returns whether calls in the world reach the code of a tool. A model answers those that `route` does not name. */
async function hasTool(
  world: string,
  tool: Pick<ToolPlace, 'name' | 'path'>,
  readText: ReadText,
  above: readonly string[] = [],
): Promise<boolean> {
  const text = await readText(world);
  const { value } = text === undefined ? {} : parseFile(world, text);
  if (!isJsonObject(value)) return false;
  const { module, real } = value;
  const isIn = async (written: string, tools: 'reached' | 'exported'): Promise<boolean> => {
    const found = (await moduleTools(joinPath(dirname(world), written), tools, readText)) ?? [];
    return found.some(({ name, path }) => name === tool.name && path === tool.path);
  };
  if (typeof module === 'string') return isIn(module, 'reached');
  if (!isJsonObject(real) || !isReal(value['route'], tool.name)) return false;
  const { world: named, tools: entries } = real;
  if (Array.isArray(entries)) {
    const modules = entries.flatMap((entry: Json) =>
      isJsonObject(entry) && typeof entry['module'] === 'string' ? [entry['module']] : [],
    );
    return (await Promise.all(modules.map((written) => isIn(written, 'exported')))).includes(true);
  }
  if (typeof named !== 'string') return false;
  const file = joinPath(dirname(world), named);
  return !above.includes(file) && (await hasTool(file, tool, readText, [...above, world]));
}

/** Returns whether a tool itself is called: the first route that names it applies. */
function isReal(routes: Json | undefined, name: string): boolean {
  const route = (Array.isArray(routes) ? routes : []).find(
    (each: Json) =>
      isJsonObject(each) &&
      Array.isArray(each['tools']) &&
      each['tools'].some((pattern) => typeof pattern === 'string' && matchesTool(pattern, name)),
  );
  return isJsonObject(route) && route['by'] !== 'simulated';
}

/** Returns no tasks for unreadable files. */
async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (StudioError.is(error)) return undefined;
    throw error;
  }
}
