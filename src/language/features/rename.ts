/** Renames a thing at every place it is named, in whatever kind of file; a file is renamed on the disk as well. */

import type { Position, Range, TextEdit, WorkspaceEdit } from 'vscode-languageserver-types';
import { StudioError } from '../../common/errors.ts';
import { fileKind } from '../../common/fileKinds.ts';
import { formatOf } from '../../config/dataset/dataset.ts';
import { basename, dirname, joinPath } from '../../config/paths.ts';
import { isTopLevelName } from '../names/codeNames.ts';
import { headsOf, MAX_DATASET_BYTES, roleOf } from '../names/columnUses.ts';
import type { Place } from '../names/place.ts';
import { placesOf } from '../names/places.ts';
import { type SymbolAt, thingAt } from '../names/symbol.ts';
import { moduleToolsOf } from '../workspace/relations.ts';
import { lspRange } from '../workspace/text.ts';
import { toolsOf } from '../workspace/tools.ts';
import { uriOf } from '../workspace/uris.ts';
import type { Workspace } from '../workspace.ts';

/** undefined where nothing can be renamed. Throws StudioError `usage` where it is known why not. */
export async function prepareRename(
  workspace: Workspace,
  path: string,
  position: Position,
): Promise<{ readonly range: Range; readonly placeholder: string } | undefined> {
  const found = await thingAt(workspace, path, position);
  if (found === undefined) return undefined;
  await mustBeRenamable(workspace, found.thing);
  return { range: lspRange(found.range), placeholder: nameOf(found.thing) };
}

/** Throws StudioError `usage` for a name that cannot be. */
export async function rename(
  workspace: Workspace,
  path: string,
  position: Position,
  newName: string,
): Promise<WorkspaceEdit | undefined> {
  const found = await thingAt(workspace, path, position);
  if (found === undefined) return undefined;
  const { thing } = found;
  await mustBeRenamable(workspace, thing);
  const old = nameOf(thing);
  const name = newName.trim();
  if (name === old) return { changes: {} };
  await mustBeName(workspace, thing, name);
  const places = await placesOf(workspace, thing);
  if (thing.kind === 'export') await mustBeFree(workspace, thing.name, places, name);
  const changes = editsOf(places, (place) => newText(thing, place, name));
  if (thing.kind !== 'file') return { changes };
  // One list, in this order: the file itself may be edited before it goes.
  const edits = Object.entries(changes).map(([uri, list]) => ({ textDocument: { uri, version: null }, edits: list }));
  return {
    documentChanges: [
      ...edits,
      { kind: 'rename', oldUri: uriOf(thing.file), newUri: uriOf(joinPath(dirname(thing.file), name)) },
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

/** Of a module, imports name no more than what stands before the ending. */
function newText(thing: SymbolAt, { file }: Place, name: string): string {
  return thing.kind === 'file' && fileKind(file) === undefined ? name.replace(/\.[^.]+$/, '') : name;
}

function nameOf(thing: SymbolAt): string {
  switch (thing.kind) {
    case 'file':
      return basename(thing.file);
    case 'column':
      return thing.column;
    default:
      return thing.name;
  }
}

async function mustBeRenamable(workspace: Workspace, thing: SymbolAt): Promise<void> {
  if (thing.kind === 'file') {
    if ((await workspace.files.stat(thing.file))?.kind !== 'file')
      throw new StudioError('usage', `There is no file ${basename(thing.file)}.`, { hint: 'Create it first.' });
    return;
  }
  if (thing.kind !== 'column') return;
  const heads = await headsOf(workspace, thing.dataset);
  for (const head of heads) {
    const role = roleOf(head, thing.column);
    if (role !== undefined && !head.mapping.explicit.has(role)) {
      throw new StudioError(
        'usage',
        `${basename(head.batch)} takes the column \`${thing.column}\` by its usual name.`,
        { hint: `Write \`${role}: ${thing.column}\` under its \`dataset\` first.` },
      );
    }
  }
  if (((await workspace.files.stat(thing.dataset))?.bytes ?? 0) > MAX_DATASET_BYTES) {
    throw new StudioError(
      'usage',
      `${basename(thing.dataset)} is larger than ${MAX_DATASET_BYTES / 1024 / 1024} MiB: its columns are not ` +
        'renamed here.',
      { hint: 'Rename the column with a program, then in the files that name it.' },
    );
  }
}

async function mustBeName(workspace: Workspace, thing: SymbolAt, name: string): Promise<void> {
  const refuse = (message: string, hint: string): never => {
    throw new StudioError('usage', message, { hint });
  };
  switch (thing.kind) {
    case 'export':
      if (!/^[A-Za-z_]\w{0,63}$/.test(name))
        refuse(`\`${name}\` cannot be the name of a tool.`, 'Use letters, digits and _, 64 at most, no digit first.');
      return;
    case 'variable':
      if (!/^[A-Za-z_]\w*$/.test(name))
        refuse(`\`${name}\` cannot be the name of an environment variable.`, 'Use letters, digits and _.');
      return;
    case 'column':
      if (name === '' || /["\\{},\n]|^\s|\s$/.test(name))
        refuse(`\`${name}\` cannot be the name of a column here.`, 'Leave out quotes, braces, commas and backslashes.');
      if ((await headsOf(workspace, thing.dataset)).some(({ columns }) => columns.includes(name)))
        refuse(`The dataset has a column \`${name}\` already.`, 'Choose another name.');
      return;
    case 'file': {
      const kind = fileKind(thing.file);
      if (name === '' || /[\\/:*?"<>|\n]/.test(name))
        refuse(`\`${name}\` cannot be the name of a file.`, 'Write the name alone, without folders.');
      if (fileKind(name) !== kind || formatOf(name) !== formatOf(thing.file) || endingOf(name) !== endingOf(thing.file))
        refuse(
          `\`${name}\` has another ending than ${basename(thing.file)}.`,
          'Keep the ending: it tells what the file is.',
        );
      if ((await workspace.files.stat(joinPath(dirname(thing.file), name))) !== undefined)
        refuse(`There is a file ${name} already.`, 'Choose another name.');
    }
  }
}

/** Throws StudioError `usage` where a tool or function of that name would stand beside another one. */
async function mustBeFree(workspace: Workspace, old: string, places: readonly Place[], name: string): Promise<void> {
  const taken = (where: string): StudioError =>
    new StudioError('usage', `${where} already has \`${name}\`.`, { hint: 'Choose another name.' });
  for (const file of new Set(places.map((place) => place.file))) {
    if (fileKind(file) !== undefined) continue;
    const code = (await workspace.roleOf(file)) === 'module' ? await workspace.text(file) : undefined;
    if (code !== undefined && isTopLevelName(code, name)) throw taken(basename(file));
  }
  for (const file of await workspace.configFiles()) {
    if (fileKind(file) !== 'agent') continue;
    const tools = new Set((await moduleToolsOf(workspace, file)).map((tool) => tool.name));
    if (tools.has(old) && (tools.has(name) || (await hasTool(workspace, file, name)))) throw taken(basename(file));
  }
}

/** Whether one of an agent's own tools is called so, also where it has no place in code. */
async function hasTool(workspace: Workspace, agent: string, name: string): Promise<boolean> {
  return (await toolsOf(workspace, agent)).tools.some((tool) => tool.name === name);
}

function endingOf(path: string): string {
  return /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? '';
}
