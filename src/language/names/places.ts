/** Finds all occurrences of a symbol. */
import { basename } from '../../config/paths.ts';
import type { ReferenceKind } from '../workspace/references.ts';
import type { Workspace } from '../workspace.ts';
import { specifiersIn } from './codeNames.ts';
import { columnUses } from './columnUses.ts';
import { codeFiles, exportPlaces, resolvesTo } from './exportPlaces.ts';
import type { Place } from './place.ts';
import type { StudioSymbol } from './symbol.ts';
import { nameRange } from './words.ts';

export async function placesOf(workspace: Workspace, symbol: StudioSymbol): Promise<Place[]> {
  switch (symbol.kind) {
    case 'export':
      return exportPlaces(workspace, symbol);
    case 'column':
      return columnUses(workspace, symbol);
    case 'file':
      return filePlaces(workspace, symbol.file);
    case 'variable':
      return referencesTo(workspace, 'env', symbol.name);
  }
}

/** Finds references to a file: the last part of its path. */
async function filePlaces(workspace: Workspace, file: string): Promise<Place[]> {
  const found: Place[] = [];
  for (const mention of await workspace.mentionsOf(file)) {
    const lines = await workspace.lines(mention.file);
    const range =
      mention.reference.kind === 'export' || lines === undefined
        ? undefined
        : nameRange(lines, mention.reference.range, basename(file));
    if (range !== undefined) found.push({ file: mention.file, range, role: 'use' });
  }
  if ((await workspace.roleOf(file)) === 'module') found.push(...(await importsOf(workspace, file)));
  return found;
}

/** Finds imports of a module, by its name without the extension. */
async function importsOf(workspace: Workspace, module: string): Promise<Place[]> {
  const found: Place[] = [];
  const moduleName = basename(module).replace(/\.[^.]+$/, '');
  for (const file of await codeFiles(workspace, module)) {
    const lines = file === module ? undefined : await workspace.lines(file);
    if (lines?.text.includes(moduleName) !== true) continue;
    for (const { text, start } of specifiersIn(lines.text)) {
      const at = text.lastIndexOf(moduleName);
      if (at === -1 || !resolvesTo(file, text, new Set([module]))) continue;
      found.push({ file, range: lines.range(start + at, moduleName.length), role: 'use' });
    }
  }
  return found;
}

async function referencesTo(workspace: Workspace, kind: ReferenceKind, name: string): Promise<Place[]> {
  const found: Place[] = [];
  for (const file of await workspace.configFiles()) {
    const lines = await workspace.lines(file);
    for (const reference of await workspace.references(file)) {
      const range =
        lines === undefined || reference.kind !== kind || reference.text !== name
          ? undefined
          : nameRange(lines, reference.range, name);
      if (range !== undefined) found.push({ file, range, role: 'use' });
    }
  }
  return found;
}
