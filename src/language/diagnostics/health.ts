/** What the lint finds in the scenario that a world file names, as far as it is known. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import type { Files } from '../../config/files.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import type { Problem } from '../../config/source/problem.ts';
import type { Workspace } from '../workspace.ts';

/** Files with code that are published on their own, or were extracted: problems are shown in them. */
const CODE = /\.py$/;

/**
 * Returns the problems: in files with code where they are, and the others, which are in files of many megabytes, at the
 * name of the scenario. `files`: notes what is read.
 */
export async function healthProblems(workspace: Workspace, files: Files, path: string): Promise<Problem[]> {
  if (fileKind(path) !== 'world' || !workspace.files.isSaved(path)) return [];
  const parsed = await workspace.parsed(path);
  const value = parsed?.value;
  if (parsed === undefined || !isJsonObject(value) || value['kind'] !== 'code') return [];
  const { scenario, from } = value;
  if (typeof scenario !== 'string' || typeof from !== 'string') return [];
  const stamp = await stampOf(files, joinPath(dirname(path), from));
  const found = workspace.facts.worldProblems(path, JSON.stringify([parsed.text, stamp])) ?? [];
  return found.map((problem) => {
    const { file, line, column, code, severity, message, hint } = problem;
    if (file === path || CODE.test(file)) return problem;
    const place = `${basename(file)}:${line}:${column}`;
    return parsed.problem(['scenario'], { code, severity, message: `${message} (${place})`, hint });
  });
}

/** Returns what changes with the published files. */
async function stampOf(files: Files, from: string): Promise<string> {
  const isFolder = (await files.stat(from))?.kind === 'folder';
  const folder = isFolder ? from : dirname(from);
  const stamps: string[] = [];
  for (const name of await files.list(folder)) {
    const file = joinPath(folder, name);
    if (/\.jsonl?$/.test(name)) stamps.push(`${name} ${(await files.stat(file))?.bytes}`);
    // Code that was extracted is in a folder next to the file that it replaces.
    const inside = name.endsWith('/') ? (await files.list(file)).map((each) => joinPath(file, each)) : [file];
    for (const code of inside) if (CODE.test(code)) stamps.push(await files.readText(code));
  }
  return stamps.join('\n');
}
