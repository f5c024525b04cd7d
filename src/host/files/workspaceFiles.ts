/**
 * The workspace's files as `config` reads them: what is open and not saved comes first. Also of a virtual file system.
 */
import * as vscode from 'vscode';
import { diskFiles } from '../../client/disk.ts';
import { StudioError } from '../../common/errors.ts';
import type { Files } from '../../config/files.ts';
import { joinPath, normalizePath } from '../../config/paths.ts';

/** The path by which `config` knows a file. */
export function pathOf(uri: vscode.Uri): string {
  return uri.scheme === 'file' ? normalizePath(uri.fsPath) : uri.path;
}

/** `base`: a file or folder of the file system that the path is in. */
export function uriOf(base: vscode.Uri, path: string): vscode.Uri {
  return base.scheme === 'file' ? vscode.Uri.file(path) : base.with({ path });
}

/** Paths that are not absolute are taken from `folder`. */
export function workspaceFiles(folder: vscode.Uri): Files {
  const absolute = (path: string): string => joinPath(pathOf(folder), path);
  const at = (path: string): vscode.Uri => uriOf(folder, absolute(path));
  const saved: Files = folder.scheme === 'file' ? diskFiles(folder.fsPath) : virtualFiles(at, absolute);
  const edited = (path: string): vscode.TextDocument | undefined => {
    const uri = at(path).toString();
    return vscode.workspace.textDocuments.find((document) => document.isDirty && document.uri.toString() === uri);
  };
  return {
    ...saved,
    absolute,
    readText: async (path) => edited(path)?.getText() ?? saved.readText(path),
    async *bytes(path) {
      const document = edited(path);
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
        ? new StudioError('not_found', `There is no file ${path}.`, { cause, hint: 'Check the path.' })
        : new StudioError(
            'unavailable',
            `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
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
        const found = await vscode.workspace.fs.stat(at(path));
        return { kind: (found.type & vscode.FileType.Directory) === 0 ? 'file' : 'folder', bytes: found.size };
      } catch (cause) {
        if (isMissing(cause)) return undefined;
        throw new StudioError('unavailable', `${path} cannot be looked at.`, { cause });
      }
    },
    async list(path) {
      try {
        const entries = await vscode.workspace.fs.readDirectory(at(path));
        return entries.map(([name, type]) => ((type & vscode.FileType.Directory) === 0 ? name : `${name}/`)).sort();
      } catch (cause) {
        if (isMissing(cause)) return [];
        throw new StudioError('unavailable', `${path} cannot be listed.`, { cause });
      }
    },
  };
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof vscode.FileSystemError && thrown.code === 'FileNotFound';
}

/** Where a file is seen from: its workspace folder, else its own. */
export function folderOf(uri: vscode.Uri): vscode.Uri {
  return vscode.workspace.getWorkspaceFolder(uri)?.uri ?? vscode.Uri.joinPath(uri, '..');
}
