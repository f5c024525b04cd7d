/**
 * Implements the `Files` interface of `config` for the workspace, including unsaved editors and virtual file systems.
 */
import * as vscode from 'vscode';
import { diskFiles } from '../../client/disk.ts';
import { StudioError } from '../../common/errors.ts';
import type { Files } from '../../config/files.ts';
import { joinPath, normalizePath } from '../../config/paths.ts';

/** Returns the path of a file for `config`. */
export function pathOf(uri: vscode.Uri): string {
  return uri.scheme === 'file' ? normalizePath(uri.fsPath) : uri.path;
}

/** @param base A file or folder in the same file system as the path. */
export function uriOf(base: vscode.Uri, path: string): vscode.Uri {
  return base.scheme === 'file' ? vscode.Uri.file(path) : base.with({ path });
}

/** Resolves relative paths against `folder`. */
export function workspaceFiles(folder: vscode.Uri): Files {
  const absolute = (path: string): string => joinPath(pathOf(folder), path);
  const at = (path: string): vscode.Uri => uriOf(folder, absolute(path));
  const saved: Files = folder.scheme === 'file' ? diskFiles(folder.fsPath) : virtualFiles(at, absolute);
  const unsavedDocument = (path: string): vscode.TextDocument | undefined => {
    const uri = at(path).toString();
    return vscode.workspace.textDocuments.find((document) => document.isDirty && document.uri.toString() === uri);
  };
  return {
    ...saved,
    absolute,
    readText: async (path) => unsavedDocument(path)?.getText() ?? saved.readText(path),
    async *bytes(path) {
      const document = unsavedDocument(path);
      if (document === undefined) yield* saved.bytes(path);
      else yield new TextEncoder().encode(document.getText());
    },
  };
}

function virtualFiles(at: (path: string) => vscode.Uri, absolute: (path: string) => string): Files {
  const read = async (path: string): Promise<Uint8Array> => {
    try {
      return await vscode.workspace.fs.readFile(at(path));
    } catch (cause) {
      throw isMissing(cause)
        ? new StudioError('not_found', `File not found: ${path}.`, { cause, hint: 'Check the path.' })
        : new StudioError(
            'unavailable',
            `Cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
            { cause },
          );
    }
  };
  return {
    absolute,
    async readText(path) {
      const bytes = await read(path);
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } catch (cause) {
        throw new StudioError('config', 'it is not UTF-8 text', {
          cause,
          hint: 'Save the file as UTF-8.',
        });
      }
    },
    async *bytes(path) {
      yield await read(path);
    },
    async stat(path) {
      try {
        const stat = await vscode.workspace.fs.stat(at(path));
        return { kind: (stat.type & vscode.FileType.Directory) === 0 ? 'file' : 'folder', bytes: stat.size };
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw new StudioError('unavailable', `Cannot access ${path}.`, { cause });
      }
    },
    async list(path) {
      try {
        const entries = await vscode.workspace.fs.readDirectory(at(path));
        return entries.map(([name, type]) => ((type & vscode.FileType.Directory) === 0 ? name : `${name}/`)).sort();
      } catch (cause) {
        if (isMissing(cause)) return [];
        throw new StudioError('unavailable', `Cannot list ${path}.`, { cause });
      }
    },
  };
}

function isMissing(error: unknown): boolean {
  return error instanceof vscode.FileSystemError && error.code === 'FileNotFound';
}

/** Returns the workspace folder of a file, or else its own folder. */
export function folderOf(uri: vscode.Uri): vscode.Uri {
  return vscode.workspace.getWorkspaceFolder(uri)?.uri ?? vscode.Uri.joinPath(uri, '..');
}

export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch (error) {
    if (error instanceof vscode.FileSystemError) return false;
    throw error;
  }
}
