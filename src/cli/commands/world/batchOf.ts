import { glob } from 'node:fs/promises';
import path from 'node:path';
import { diskFiles } from '../../../client/disk.ts';
import { workspaceRoot } from '../../../client/workspace.ts';
import { fileGlob } from '../../../common/fileKinds.ts';
import { isJsonObject } from '../../../common/json.ts';
import { parseFile } from '../../../config/source/parse.ts';

/** Finds a batch file of the workspace that uses a world. Returns undefined if there is none. */
export async function batchOf(world: string, cwd: string): Promise<string | undefined> {
  const full = path.resolve(cwd, world);
  const root = workspaceRoot(full, cwd);
  const files = diskFiles(root);
  for await (const found of glob(fileGlob('batch'), { cwd: root, exclude: ['**/node_modules/**', '**/.git/**'] })) {
    const at = path.join(root, found);
    const { value } = parseFile(at, await files.readText(at));
    const named = isJsonObject(value) ? value['world'] : undefined;
    if (typeof named === 'string' && path.resolve(path.dirname(at), named) === full) return at;
  }
  return undefined;
}
