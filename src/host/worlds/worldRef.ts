/** Reads what a world file refers to, even if the file is incomplete. */

import { isJsonObject, type Json } from '../../common/json.ts';
import { type Files, textOf } from '../../config/files.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import { parseFile } from '../../config/source/parse.ts';
import { toolsOfSources, worldToolSources } from '../../config/tools/worldTools.ts';
import { type SimulationRef, simulationRef } from './simulationRef.ts';

export interface WorldRef {
  readonly path: string;
  readonly name: string;
  readonly kind: string;
  /** Path of the module. */
  readonly module?: string;
  /** Path of the folder with published scenarios, or of one of its files. */
  readonly from?: string;
  /** Of a recorded world: the batches, tasks, attempts, rollouts, and files that it answers from. */
  readonly recordings?: readonly string[];
  /** The only scenario of the folder that it uses. Absent: each task names its own. */
  readonly scenario?: string;
  /** IDs of tasks that batches leave out. */
  readonly setAside?: readonly string[];
  /** Of a simulated world: its domain, and the parts of its prompt. */
  readonly simulation?: SimulationRef;
  /** Of a simulated world: the tools of its files. */
  readonly tools?: ToolCount;
  /** What is wrong with the text of the file. */
  readonly problem?: string;
}

/** How many tools a world has, as far as files say. */
export interface ToolCount {
  readonly known: number;
  /** Whether these are all. */
  readonly complete: boolean;
}

/** Reads a world file and, if a model plays it, what defines its tools. */
export async function readWorldRef(path: string, files: Files): Promise<WorldRef> {
  const text = await files.readText(path);
  const ref = worldRef(path, text);
  if (ref.simulation === undefined) return ref;
  const { sources } = await worldToolSources(path, text, (file) => textOf(files, file));
  const { tools, complete } = toolsOfSources(sources);
  return { ...ref, tools: { known: tools.length, complete } };
}

export function worldRef(path: string, text: string): WorldRef {
  const parsed = parseFile(path, text);
  const { value, problems } = parsed;
  const simulation = simulationRef(parsed);
  const file = isJsonObject(value) ? value : {};
  const { name, kind, module, from, scenario, set_aside: setAside } = file;
  const at = (reference: string): string => joinPath(dirname(path), reference);
  const problem = problems[0]?.message;
  return {
    path,
    name: typeof name === 'string' ? name : basename(path).replace(/\.world\.\w+$/i, ''),
    kind: typeof kind === 'string' ? kind : '',
    ...(typeof module === 'string' ? { module: at(module) } : {}),
    ...(kind === 'code' && typeof from === 'string' ? { from: at(from) } : {}),
    ...(kind === 'recorded' ? { recordings: texts(from) } : {}),
    ...(typeof scenario === 'string' ? { scenario } : {}),
    ...(Array.isArray(setAside) ? { setAside: texts(setAside) } : {}),
    ...(simulation === undefined ? {} : { simulation }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function texts(value: Json | undefined): string[] {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
}
