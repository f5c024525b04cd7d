/** Provides definitions: referenced files, tool functions, and dataset columns. */
import type { Location, Position } from 'vscode-languageserver-types';
import { placesOf } from '../names/places.ts';
import { symbolAt } from '../names/symbol.ts';
import { lspRange, touches } from '../workspace/text.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

const START = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

export async function definition(workspace: Workspace, path: string, position: Position): Promise<Location[]> {
  const reference = await workspace.referenceAt(path, position);
  if (reference?.file !== undefined && reference.kind !== 'export') {
    return (await workspace.files.stat(reference.file))?.kind === 'file'
      ? [{ uri: uriOf(reference.file), range: START }]
      : [];
  }
  const found = await symbolAt(workspace, path, position);
  if (found === undefined) return [];
  const places = (await placesOf(workspace, found.symbol)).filter(({ role }) => role !== 'use');
  // Exclude the current location.
  const others = places.filter(({ file, range }) => file !== path || !touches(range, position));
  // A column is in every record; go to the first one.
  return others
    .slice(0, found.symbol.kind === 'column' ? 1 : undefined)
    .map(({ file, range }) => ({ uri: uriOf(file), range: lspRange(range) }));
}
