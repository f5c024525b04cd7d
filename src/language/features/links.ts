/** Provides links for paths in config files. */
import type { DocumentLink } from 'vscode-languageserver-types';
import { basename } from '../../config/paths.ts';
import { lspRange } from '../workspace/text.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

export async function documentLinks(workspace: Workspace, path: string): Promise<DocumentLink[]> {
  const links: DocumentLink[] = [];
  for (const { kind, file, range } of await workspace.references(path)) {
    if (file === undefined || kind === 'export' || (await workspace.files.stat(file))?.kind !== 'file') continue;
    links.push({ range: lspRange(range), target: uriOf(file), tooltip: `Open ${basename(file)}` });
  }
  return links;
}
