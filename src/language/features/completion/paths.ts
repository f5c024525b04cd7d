/** Completes paths of files with a role, relative to the referencing file. */
import { CompletionItemKind } from 'vscode-languageserver-types';
import { fileKind } from '../../../common/fileKinds.ts';
import { formatOf } from '../../../config/dataset/dataset.ts';
import { isWorldFolder } from '../../../config/load/scenarios.ts';
import { MODULE_ENDINGS } from '../../../config/load/tools.ts';
import { dirname, joinPath, relative } from '../../../config/paths.ts';
import type { FileRole } from '../../workspace/references.ts';
import type { Workspace } from '../../workspace.ts';
import type { Suggestion } from './names.ts';

/** Limits for listed files and searched folders. Users can type part of the path to narrow the search. */
const MAX_FILES = 200;
const MAX_FOLDERS = 300;

/** Lists matching files in the workspace folder, or near the typed path if it leads out of it. */
export async function pathSuggestions(
  workspace: Workspace,
  from: string,
  role: FileRole,
  typed: string,
): Promise<Suggestion[]> {
  const folderOfFile = dirname(from);
  const typedFolder = joinPath(folderOfFile, typed.slice(0, typed.lastIndexOf('/') + 1) || '.');
  const root = workspace.folders.find((folder) => `${from}/`.startsWith(`${folder}/`)) ?? folderOfFile;
  const start = `${typedFolder}/`.startsWith(`${root}/`) ? root : typedFolder;
  const files = await filesUnder(workspace, start, (path) => path !== from && hasRole(role, path));
  return files.map((file) => ({ name: relative(folderOfFile, file), kind: CompletionItemKind.File }));
}

/** Lists folders with published worlds, relative to the referencing file. */
export async function worldFolderSuggestions(workspace: Workspace, from: string): Promise<Suggestion[]> {
  const folderOfFile = dirname(from);
  const root = workspace.folders.find((folder) => `${from}/`.startsWith(`${folder}/`)) ?? folderOfFile;
  const found: string[] = [];
  await walk(workspace, root, (folder, names) => {
    const isPublished = isWorldFolder(names);
    if (isPublished) found.push(folder);
    return isPublished ? 'over' : found.length < MAX_FILES;
  });
  return found.sort().map((folder) => ({
    name: `${relative(folderOfFile, folder)}/`,
    kind: CompletionItemKind.Folder,
    detail: 'published worlds',
  }));
}

function hasRole(role: FileRole, path: string): boolean {
  switch (role) {
    case 'agent':
    case 'world':
      return fileKind(path) === role;
    case 'prompt':
      return /\.(md|txt)$/i.test(path) && !/\/(README|CHANGELOG|LICENSE)\.\w+$/i.test(path);
    case 'module':
      return MODULE_ENDINGS.some((ending) => path.endsWith(ending)) && !/\.(d|test)\.\w+$/.test(path);
    case 'dataset':
      return (
        formatOf(path) !== undefined &&
        fileKind(path) === undefined &&
        !/\/(package|package-lock|tsconfig)\.json$/.test(path)
      );
  }
}

async function filesUnder(workspace: Workspace, root: string, isMatch: (path: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  await walk(workspace, root, (folder, names) => {
    for (const name of names) {
      const path = joinPath(folder, name);
      if (!name.endsWith('/') && isMatch(path)) found.push(path);
    }
    return found.length < MAX_FILES;
  });
  return found.sort();
}

/**
 * Visits folders, the nearest first, without hidden and installed ones. `visit` returns whether to go on, or `over` to
 * leave out what is below the folder.
 */
async function walk(
  workspace: Workspace,
  root: string,
  visit: (folder: string, names: readonly string[]) => boolean | 'over',
): Promise<void> {
  const folders = [root];
  for (let index = 0; index < folders.length && index < MAX_FOLDERS; index++) {
    const folder = folders[index] ?? root;
    const names = (await workspace.files.list(folder)).filter(
      (name) => !name.startsWith('.') && name !== 'node_modules/' && name !== 'dist/',
    );
    const next = visit(folder, names);
    if (next === false) return;
    if (next === 'over') continue;
    for (const name of names) if (name.endsWith('/')) folders.push(joinPath(folder, name));
  }
}
