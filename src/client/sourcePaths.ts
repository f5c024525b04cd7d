/** Finds local paths of a trajectory’s source files. */
import path from 'node:path';
import type { SubmittedModule } from '../config/submission.ts';
import { AGENT_WORLD_FOLDERS } from '../formats/agentWorld.ts';

/**
 * Returns possible local paths of `file`, best first. `file` is relative to the submitted workspace and uses `/`. The
 * absolute paths of submitted modules reveal the workspace folder.
 */
export function candidatesOf(
  file: string,
  modules: readonly Pick<SubmittedModule, 'file' | 'path'>[],
  folders: readonly string[],
): string[] {
  if (path.isAbsolute(file)) return [file];
  const own = modules.flatMap((module) => (module.file === file && module.path !== undefined ? [module.path] : []));
  const roots = modules.flatMap((module) => {
    const root = module.path === undefined ? undefined : rootOf(module.path, module.file);
    return root === undefined ? [] : [root];
  });
  const parts = file.split('/');
  return [...new Set([...own, ...[...roots, ...folders].map((root) => path.join(root, ...parts))])];
}

/**
 * Returns the scenario whose code is in a row of a published file, by the path that its failures name:
 * `FOLDER/gen_envs.jsonl/KEY.py` or `FOLDER/environment_mix/CHECKPOINT.json/KEY.py`. Returns undefined for other paths.
 * `published`: the file with the row.
 */
export function scenarioCodeOf(
  file: string,
): { readonly from: string; readonly key: string; readonly published: string } | undefined {
  const published = path.dirname(file);
  if (!/\.jsonl?$/.test(published) || !file.endsWith('.py')) return undefined;
  const folder = path.dirname(published);
  const key = path.basename(file, '.py');
  // A checkpoint is next to the folder of its environment, or in it.
  const environments = path.basename(folder) === key ? path.dirname(folder) : folder;
  const isAgentWorld = path.basename(environments) === AGENT_WORLD_FOLDERS.environments;
  return { from: isAgentWorld ? path.dirname(environments) : folder, key, published };
}

/** Returns the folder that `file` is relative to if its absolute path is `absolute`. */
export function rootOf(absolute: string, file: string): string | undefined {
  const end = path.sep + file.split('/').join(path.sep);
  return absolute.endsWith(end) ? absolute.slice(0, -end.length) : undefined;
}
