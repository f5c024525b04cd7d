/** What the lint finds in the scenario that a world file names, as far as it is known. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import type { Files } from '../../config/files.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import type { Problem } from '../../config/source/problem.ts';
import type { Workspace } from '../workspace.ts';

/**
 * Files of a single scenario: code that was extracted, and the collections and tools of an Agent-World environment.
 * Problems are shown in them.
 */
const OWN = /\.(py|json)$/;
/** Of larger ones, only the size is compared. */
const MAX_READ_BYTES = 1_000_000;

/** What was linted last, by world file: it counts while a file has unsaved changes, because the lint reads the disk. */
const linted = new WeakMap<Workspace, Map<string, string>>();

/**
 * Returns the problems: in files of the scenario where they are, and the others, which are in files of many megabytes,
 * at the name of the scenario. `files`: notes what is read.
 */
export async function healthProblems(workspace: Workspace, files: Files, path: string): Promise<Problem[]> {
  if (fileKind(path) !== 'world' || !workspace.files.isSaved(path)) return [];
  const parsed = await workspace.parsed(path);
  const value = parsed?.value;
  if (parsed === undefined || !isJsonObject(value) || value['kind'] !== 'code') return [];
  const { scenario, from } = value;
  if (typeof scenario !== 'string' || typeof from !== 'string') return [];
  const found = workspace.facts.worldProblems(
    path,
    await stampOf(workspace, files, path, [parsed.text, from, scenario]),
  );
  if (found === undefined) return [];
  return found.map((problem) => {
    const { file, line, column, code, severity, message, hint } = problem;
    if (file === path || OWN.test(file)) return problem;
    const place = `${basename(file)}:${line}:${column}`;
    return parsed.problem(['scenario'], { code, severity, message: `${message} (${place})`, hint });
  });
}

/** Returns what changes when a file of the scenario is saved. */
async function stampOf(
  workspace: Workspace,
  files: Files,
  world: string,
  [text, from, scenario]: readonly [string, string, string],
): Promise<string> {
  const read: string[] = [];
  const stamp = JSON.stringify([text, await contentsOf(files, joinPath(dirname(world), from), scenario, read)]);
  const stamps = linted.get(workspace) ?? new Map<string, string>();
  linted.set(workspace, stamps);
  const last = stamps.get(world);
  if (last !== undefined && !read.every((file) => workspace.files.isSaved(file))) return last;
  stamps.set(world, stamp);
  return stamp;
}

/** Returns the contents, or sizes, of the published files of a scenario. `read`: receives the files that were read. */
async function contentsOf(files: Files, from: string, scenario: string, read: string[]): Promise<string[]> {
  const isFolder = (await files.stat(from))?.kind === 'folder';
  const folder = isFolder ? from : dirname(from);
  const contents: string[] = [];
  for (const name of await files.list(folder)) {
    const file = joinPath(folder, name);
    if (name.endsWith('/')) contents.push(...(await ownContents(files, file, scenario, read)));
    else if (OWN.test(name)) contents.push(await contentOf(files, file, read));
    else if (name.endsWith('.jsonl')) contents.push(`${name} ${(await files.stat(file))?.bytes}`);
  }
  return contents;
}

/** Returns those of the files of a scenario in a folder, and in the folder of the scenario within it. */
async function ownContents(files: Files, folder: string, scenario: string, read: string[]): Promise<string[]> {
  const contents: string[] = [];
  for (const name of await files.list(folder)) {
    const file = joinPath(folder, name);
    if (name === `${scenario}/`) contents.push(...(await ownContents(files, file, '', read)));
    else if (name.startsWith(scenario) && OWN.test(name)) contents.push(await contentOf(files, file, read));
  }
  return contents;
}

async function contentOf(files: Files, file: string, read: string[]): Promise<string> {
  const bytes = (await files.stat(file))?.bytes ?? 0;
  if (bytes > MAX_READ_BYTES) return `${file} ${bytes}`;
  read.push(file);
  return await files.readText(file);
}
