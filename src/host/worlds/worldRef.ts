/** Reads what a world file refers to, even if the file is incomplete. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import { parseFile } from '../../config/source/parse.ts';

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
  /** What is wrong with the text of the file. */
  readonly problem?: string;
}

export function worldRef(path: string, text: string): WorldRef {
  const { value, problems } = parseFile(path, text);
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
    ...(problem === undefined ? {} : { problem }),
  };
}

function texts(value: Json | undefined): string[] {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
}
