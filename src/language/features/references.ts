/** Finds all references to the symbol at the cursor: a tool, file, dataset column, or environment variable. */
import type { Location, Position } from 'vscode-languageserver-types';
import { placesOf } from '../names/places.ts';
import { symbolAt } from '../names/symbol.ts';
import { lspRange } from '../workspace/text.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

export async function findReferences(
  workspace: Workspace,
  path: string,
  position: Position,
  options: { readonly declaration: boolean },
): Promise<Location[]> {
  const found = await symbolAt(workspace, path, position);
  if (found === undefined) return [];
  const places = await placesOf(workspace, found.symbol);
  return places
    .filter(({ role }) => options.declaration || role === 'use')
    .map(({ file, range }) => ({ uri: uriOf(file), range: lspRange(range) }));
}
