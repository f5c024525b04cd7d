/** Renames a symbol everywhere, in all kinds of files. Files are also renamed on disk. */
import type { Position, Range, TextEdit, WorkspaceEdit } from 'vscode-languageserver-types';
import { StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { formatOf } from '../../config/dataset/dataset.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import { isTopLevelName } from '../names/codeNames.ts';
import { headsOf, MAX_DATASET_BYTES, roleOf } from '../names/columnUses.ts';
import type { Place } from '../names/place.ts';
import { placesOf } from '../names/places.ts';
import { type StudioSymbol, symbolAt } from '../names/symbol.ts';
import { moduleToolsOf } from '../workspace/relations.ts';
import { lspRange } from '../workspace/text.ts';
import { toolsOf } from '../workspace/tools.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

/** Returns undefined if there is nothing to rename. Throws StudioError `usage` if the symbol cannot be renamed. */
export async function prepareRename(
  workspace: Workspace,
  path: string,
  position: Position,
): Promise<{ readonly range: Range; readonly placeholder: string } | undefined> {
  const found = await symbolAt(workspace, path, position);
  if (found === undefined) return undefined;
  await checkRenamable(workspace, found.symbol);
  return { range: lspRange(found.range), placeholder: nameOf(found.symbol) };
}

/** Throws StudioError `usage` for an invalid name. */
export async function rename(
  workspace: Workspace,
  path: string,
  position: Position,
  newName: string,
): Promise<WorkspaceEdit | undefined> {
  const found = await symbolAt(workspace, path, position);
  if (found === undefined) return undefined;
  const { symbol } = found;
  await checkRenamable(workspace, symbol);
  const oldName = nameOf(symbol);
  const name = newName.trim();
  if (name === oldName) return { changes: {} };
  await checkName(workspace, symbol, name);
  const places = await placesOf(workspace, symbol);
  if (symbol.kind === 'export') await checkUnused(workspace, symbol.name, places, name);
  const changes = editsOf(places, (place) => newText(symbol, place, name));
  if (symbol.kind !== 'file') return { changes };
  // Order matters: edits of the file come before its rename.
  const edits = Object.entries(changes).map(([uri, list]) => ({ textDocument: { uri, version: null }, edits: list }));
  return {
    documentChanges: [
      ...edits,
      { kind: 'rename', oldUri: uriOf(symbol.file), newUri: uriOf(joinPath(dirname(symbol.file), name)) },
    ],
  };
}

function editsOf(places: readonly Place[], textAt: (place: Place) => string): Record<string, TextEdit[]> {
  const changes: Record<string, TextEdit[]> = {};
  const done = new Set<string>();
  for (const place of places) {
    const { file, range, fixed } = place;
    const key = `${file}\n${range.line}:${range.column}`;
    if (fixed === true || done.has(key)) continue;
    done.add(key);
    (changes[uriOf(file)] ??= []).push({ range: lspRange(range), newText: textAt(place) });
  }
  return changes;
}

/** Imports of a module use its name without the extension. */
function newText(symbol: StudioSymbol, { file }: Place, name: string): string {
  return symbol.kind === 'file' && fileKind(file) === undefined ? name.replace(/\.[^.]+$/, '') : name;
}

function nameOf(symbol: StudioSymbol): string {
  switch (symbol.kind) {
    case 'file':
      return basename(symbol.file);
    case 'column':
      return symbol.column;
    default:
      return symbol.name;
  }
}

async function checkRenamable(workspace: Workspace, symbol: StudioSymbol): Promise<void> {
  if (symbol.kind === 'file') {
    if ((await workspace.files.stat(symbol.file))?.kind !== 'file')
      throw new StudioError('usage', `File not found: ${basename(symbol.file)}.`, { hint: 'Create it first.' });
    return;
  }
  if (symbol.kind !== 'column') return;
  const heads = await headsOf(workspace, symbol.dataset);
  for (const head of heads) {
    const role = roleOf(head, symbol.column);
    if (role !== undefined && !head.mapping.explicit.has(role)) {
      throw new StudioError(
        'usage',
        `${basename(head.batch)} uses the column \`${symbol.column}\` by its default name.`,
        { hint: `Add \`${role}: ${symbol.column}\` to its \`dataset\` first.` },
      );
    }
  }
  if (((await workspace.files.stat(symbol.dataset))?.bytes ?? 0) > MAX_DATASET_BYTES) {
    throw new StudioError(
      'usage',
      `${basename(symbol.dataset)} is larger than ${MAX_DATASET_BYTES / 1024 / 1024} MiB, so its columns cannot be ` +
        'renamed here.',
      { hint: 'Rename the column with a script, then update the files that reference it.' },
    );
  }
}

async function checkName(workspace: Workspace, symbol: StudioSymbol, name: string): Promise<void> {
  const fail = (message: string, hint: string): never => {
    throw new StudioError('usage', message, { hint });
  };
  switch (symbol.kind) {
    case 'export':
      if (!/^[A-Za-z_]\w{0,63}$/.test(name))
        fail(
          `\`${name}\` is not a valid tool name.`,
          'Use up to 64 letters, digits, and underscores, not starting with a digit.',
        );
      return;
    case 'variable':
      if (!/^[A-Za-z_]\w*$/.test(name))
        fail(`\`${name}\` is not a valid environment variable name.`, 'Use letters, digits, and underscores.');
      return;
    case 'column':
      if (name === '' || /["\\{},\n]|^\s|\s$/.test(name))
        fail(`\`${name}\` is not a valid column name.`, 'Do not use quotes, braces, commas, or backslashes.');
      if ((await headsOf(workspace, symbol.dataset)).some(({ columns }) => columns.includes(name)))
        fail(`The dataset already has a column \`${name}\`.`, 'Choose another name.');
      return;
    case 'file': {
      const kind = fileKind(symbol.file);
      if (name === '' || /[\\/:*?"<>|\n]/.test(name))
        fail(`\`${name}\` is not a valid file name.`, 'Enter only the name, without folders.');
      if (
        fileKind(name) !== kind ||
        formatOf(name) !== formatOf(symbol.file) ||
        extensionOf(name) !== extensionOf(symbol.file)
      )
        fail(
          `\`${name}\` has a different extension than ${basename(symbol.file)}.`,
          'Keep the extension, which determines the kind of the file.',
        );
      if ((await workspace.files.stat(joinPath(dirname(symbol.file), name))) !== undefined)
        fail(`The file ${name} already exists.`, 'Choose another name.');
    }
  }
}

/** Throws StudioError `usage` if the name is already used by another tool or function. */
async function checkUnused(
  workspace: Workspace,
  oldName: string,
  places: readonly Place[],
  name: string,
): Promise<void> {
  const nameInUse = (where: string): StudioError =>
    new StudioError('usage', `${where} already has \`${name}\`.`, { hint: 'Choose another name.' });
  for (const file of new Set(places.map((place) => place.file))) {
    if (fileKind(file) !== undefined) continue;
    const code = (await workspace.roleOf(file)) === 'module' ? await workspace.text(file) : undefined;
    if (code !== undefined && isTopLevelName(code, name)) throw nameInUse(basename(file));
  }
  for (const file of await workspace.configFiles()) {
    if (fileKind(file) !== 'agent') continue;
    const tools = new Set((await moduleToolsOf(workspace, file)).map((tool) => tool.name));
    if (tools.has(oldName) && (tools.has(name) || (await hasTool(workspace, file, name))))
      throw nameInUse(basename(file));
  }
}

/** Returns whether an agent has a tool with this name, even without a location in code. */
async function hasTool(workspace: Workspace, agent: string, name: string): Promise<boolean> {
  return (await toolsOf(workspace, agent)).tools.some((tool) => tool.name === name);
}

function extensionOf(path: string): string {
  return /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? '';
}
