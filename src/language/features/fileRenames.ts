/**
 * Updates references in config files before files or folders are renamed. The language server of the code updates
 * imports.
 */
import type { TextEdit, WorkspaceEdit } from 'vscode-languageserver-types';
import { dirname, relative } from '../../config/paths.ts';
import { nameRange } from '../names/words.ts';
import { lspRange } from '../workspace/text.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

interface FileRename {
  readonly from: string;
  readonly to: string;
}

/** The edits use the current file names. */
export async function renameFiles(workspace: Workspace, renames: readonly FileRename[]): Promise<WorkspaceEdit> {
  const moved = (path: string): string => {
    const rename = renames.find(({ from }) => path === from || path.startsWith(`${from}/`));
    return rename === undefined ? path : rename.to + path.slice(rename.from.length);
  };
  const changes: Record<string, TextEdit[]> = {};
  for (const file of await workspace.configFiles()) {
    const lines = await workspace.lines(file);
    for (const { kind, range, text, file: target } of await workspace.references(file)) {
      if (
        lines === undefined ||
        target === undefined ||
        kind === 'export' ||
        (moved(target) === target && moved(file) === file)
      )
        continue;
      const written = relative(dirname(moved(file)), moved(target));
      const place = nameRange(lines, range, text);
      if (place === undefined || relative(dirname(file), target) === written) continue;
      (changes[uriOf(file)] ??= []).push({ range: lspRange(place), newText: written });
    }
  }
  return { changes };
}
