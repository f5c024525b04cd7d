/** Finds the workspace's own files. */

import * as vscode from 'vscode';
import { type FileKind, fileGlob, filePattern } from '../../common/fileKinds.ts';

/** Kinds that the views list. */
export type StudioFileKind = Exclude<FileKind, 'world'>;

const LEFT_OUT = ['node_modules', '.git', 'dist', '.rollout'];
/** Folders of a virtual file system that are looked into: it may answer slowly. */
const MAX_FOLDERS = 500;

/** Whether it may be a folder with files of ours: names of files mostly have a dot. */
export function mayHoldFiles({ path }: vscode.Uri): boolean {
  const names = path.split('/');
  return !names.at(-1)?.includes('.') && !names.some((name) => LEFT_OUT.includes(name));
}

/** At most `most` files of a kind in each of the folders. */
export async function findFiles(
  folders: readonly vscode.Uri[],
  kind: StudioFileKind,
  most: number,
): Promise<vscode.Uri[]> {
  const found = await Promise.all(
    folders.map((folder) =>
      folder.scheme === 'file'
        ? vscode.workspace.findFiles(
            new vscode.RelativePattern(folder, fileGlob(kind)),
            `**/{${LEFT_OUT.join()}}/**`,
            most,
          )
        : findVirtual(folder, new RegExp(filePattern(kind)), most),
    ),
  );
  return found.flat();
}

/** Where no extension can search a virtual file system, VS Code's own search waits for one for ever. */
async function findVirtual(top: vscode.Uri, matches: RegExp, most: number): Promise<vscode.Uri[]> {
  const found: vscode.Uri[] = [];
  // Grows while it is gone through: what is near the top comes first.
  const folders = [top];
  for (const folder of folders) {
    for (const [name, type] of await entriesOf(folder)) {
      const uri = vscode.Uri.joinPath(folder, name);
      if ((type & vscode.FileType.Directory) !== 0) {
        if (!LEFT_OUT.includes(name) && folders.length < MAX_FOLDERS) folders.push(uri);
      } else if (matches.test(name) && found.length < most) found.push(uri);
    }
  }
  return found;
}

/** None where the folder cannot be read: the others still are. */
async function entriesOf(folder: vscode.Uri): Promise<[string, vscode.FileType][]> {
  try {
    return await vscode.workspace.fs.readDirectory(folder);
  } catch (error) {
    if (error instanceof vscode.FileSystemError) return [];
    throw error;
  }
}
