/** Finds files in the workspace. */
import * as vscode from 'vscode';
import { type FileKind, fileGlob, filePattern } from '../../common/fileKinds.ts';

const EXCLUDED_FOLDERS = ['node_modules', '.git', 'dist', '.rollout'];
/** Maximum number of folders to search in a virtual file system, which can be slow. */
const MAX_FOLDERS = 500;

/** Returns whether a name is probably a folder to search: most file names have a dot. */
export function mayContainFiles({ path }: vscode.Uri): boolean {
  const names = path.split('/');
  return !names.at(-1)?.includes('.') && !names.some((name) => EXCLUDED_FOLDERS.includes(name));
}

/** Finds up to `max` files of a kind in each folder. */
export async function findFiles(folders: readonly vscode.Uri[], kind: FileKind, max: number): Promise<vscode.Uri[]> {
  const files = await Promise.all(
    folders.map((folder) =>
      folder.scheme === 'file'
        ? vscode.workspace.findFiles(
            new vscode.RelativePattern(folder, fileGlob(kind)),
            `**/{${EXCLUDED_FOLDERS.join()}}/**`,
            max,
          )
        : findVirtual(folder, new RegExp(filePattern(kind)), max),
    ),
  );
  return files.flat();
}

/** Searches a virtual file system, because VS Code's search never returns if no extension provides one. */
async function findVirtual(top: vscode.Uri, matches: RegExp, max: number): Promise<vscode.Uri[]> {
  const files: vscode.Uri[] = [];
  // Breadth-first: the list grows during iteration.
  const folders = [top];
  for (const folder of folders) {
    for (const [name, type] of await entriesOf(folder)) {
      const uri = vscode.Uri.joinPath(folder, name);
      if ((type & vscode.FileType.Directory) !== 0) {
        if (!EXCLUDED_FOLDERS.includes(name) && folders.length < MAX_FOLDERS) folders.push(uri);
      } else if (matches.test(name) && files.length < max) files.push(uri);
    }
  }
  return files;
}

/** Returns no entries if the folder cannot be read, so that the search continues. */
async function entriesOf(folder: vscode.Uri): Promise<[string, vscode.FileType][]> {
  try {
    return await vscode.workspace.fs.readDirectory(folder);
  } catch (error) {
    if (error instanceof vscode.FileSystemError) return [];
    throw error;
  }
}
