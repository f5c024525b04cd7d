/** Resolves the symbol at the cursor, to find or rename all its occurrences. */
import type { Position } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import { formatOf } from '../../config/dataset/dataset.ts';
import { basename } from '../../config/paths.ts';
import type { Range } from '../../config/source/problem.ts';
import { type DatasetHead, datasetOf } from '../workspace/columns.ts';
import type { Reference } from '../workspace/references.ts';
import { datasetsFor, moduleToolsOf, referencingFiles } from '../workspace/relations.ts';
import { type Lines, touches } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { columnPlaces } from './columnPlaces.ts';
import { codePlaces } from './exportPlaces.ts';
import { nameRange, wordAt } from './words.ts';

export type StudioSymbol =
  /** An export of a module: a tool, or a scorer's function. */
  | { readonly kind: 'export'; readonly module: string; readonly name: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'column'; readonly dataset: string; readonly column: string }
  | { readonly kind: 'variable'; readonly name: string };

interface FoundSymbol {
  readonly symbol: StudioSymbol;
  /** Range of the name at the cursor. */
  readonly range: Range;
}

/** Returns undefined if there is no symbol. */
export async function symbolAt(
  workspace: Workspace,
  path: string,
  position: Position,
): Promise<FoundSymbol | undefined> {
  const lines = await workspace.lines(path);
  if (lines === undefined) return undefined;
  const reference = await workspace.referenceAt(path, position);
  if (reference !== undefined) return symbolOfReference(workspace, path, lines, reference);
  switch (await workspace.roleOf(path)) {
    case 'module':
      return symbolInCode(workspace, path, lines, position);
    case 'dataset':
      return symbolInDataset(workspace, path, lines, position);
    case undefined:
      return undefined;
    default:
      return symbolInText(workspace, path, lines, position);
  }
}

async function symbolOfReference(
  workspace: Workspace,
  path: string,
  lines: Lines,
  reference: Reference,
): Promise<FoundSymbol | undefined> {
  const { kind, text, range, file } = reference;
  const found = (symbol: StudioSymbol, name: string): FoundSymbol | undefined => {
    const place = nameRange(lines, range, name);
    return place === undefined ? undefined : { symbol, range: place };
  };
  switch (kind) {
    case 'agent':
    case 'world':
    case 'prompt':
    case 'module':
    case 'dataset':
      return file === undefined ? undefined : found({ kind: 'file', file }, basename(file));
    case 'tool': {
      const tool = (await moduleToolsOf(workspace, path)).find(({ name }) => name === text);
      return tool === undefined ? undefined : found({ kind: 'export', module: tool.place.path, name: text }, text);
    }
    case 'export':
      return file === undefined ? undefined : found({ kind: 'export', module: file, name: text }, text);
    case 'column': {
      const use = await datasetOf(workspace, path);
      return use === undefined ? undefined : found({ kind: 'column', dataset: use.path, column: text }, text);
    }
    case 'placeholder': {
      const [use] = await datasetsFor(workspace, path);
      const column = use === undefined ? undefined : columnOfPlaceholder(use, text);
      if (use === undefined || column === undefined) return undefined;
      return found({ kind: 'column', dataset: use.path, column }, text.startsWith('meta.') ? column : text);
    }
    case 'env':
      return found({ kind: 'variable', name: text }, text);
    case 'builtin':
      return undefined;
  }
}

/** Returns the column of a placeholder's path. */
export function columnOfPlaceholder({ mapping }: DatasetHead, placeholder: string): string | undefined {
  const [first = '', second] = placeholder.split('.');
  if (first === 'meta') return second;
  return Object.hasOwn(mapping.names, first) ? mapping.names[first as keyof typeof mapping.names] : undefined;
}

async function symbolInCode(
  workspace: Workspace,
  path: string,
  lines: Lines,
  position: Position,
): Promise<FoundSymbol | undefined> {
  const word = wordAt(lines, position);
  if (word === undefined) return undefined;
  const matches = (await allTools(workspace)).filter(({ name }) => name === word.text);
  // Check the current module first, because it is the most likely.
  for (const tool of matches.sort((a, b) => Number(b.module === path) - Number(a.module === path))) {
    const spans = await codePlaces(workspace, tool, path);
    const span = spans
      .map(({ start, end }) => lines.range(start, end - start))
      .find((range) => touches(range, position));
    if (span !== undefined) return { symbol: tool, range: span };
  }
  return undefined;
}

/** Returns all tools of all agents. */
async function allTools(workspace: Workspace): Promise<Extract<StudioSymbol, { kind: 'export' }>[]> {
  const agents = (await workspace.configFiles()).filter((file) => fileKind(file) === 'agent');
  const tools = (await Promise.all(agents.map((agent) => moduleToolsOf(workspace, agent)))).flat();
  const symbols = tools.map(({ place, name }) => ({ kind: 'export' as const, module: place.path, name }));
  return [...new Map(symbols.map((symbol) => [`${symbol.module}\n${symbol.name}`, symbol])).values()];
}

async function symbolInDataset(
  workspace: Workspace,
  path: string,
  lines: Lines,
  position: Position,
): Promise<FoundSymbol | undefined> {
  const format = formatOf(path);
  if (format === undefined || (await referencingFiles(workspace, path, 'batch')).length === 0) return undefined;
  const text = lines.line(position.line);
  const match = [...text.matchAll(format === 'csv' ? /[^",\s][^",]*/g : /(?<=")(?:[^"\\]|\\.)+(?=")/g)].find(
    ({ 0: whole, index }) => index <= position.character && position.character <= index + whole.length,
  );
  const column = match?.[0].trim();
  if (column === undefined) return undefined;
  const range = columnPlaces(lines.text, format, column)
    .map(({ start, end }) => lines.range(start, end - start))
    .find((place) => touches(place, position));
  return range === undefined ? undefined : { symbol: { kind: 'column', dataset: path, column }, range };
}

/** Finds a tool name in a prompt file or an agent's inline prompt. */
async function symbolInText(
  workspace: Workspace,
  path: string,
  lines: Lines,
  position: Position,
): Promise<FoundSymbol | undefined> {
  const word = wordAt(lines, position);
  if (word === undefined) return undefined;
  if (fileKind(path) !== undefined && !isPromptPlace((await workspace.nodeAt(path, position))?.path)) return undefined;
  const agents = fileKind(path) === 'agent' ? [path] : await referencingFiles(workspace, path, 'agent');
  for (const agent of agents) {
    const tool = (await moduleToolsOf(workspace, agent)).find(({ name }) => name === word.text);
    if (tool !== undefined)
      return { symbol: { kind: 'export', module: tool.place.path, name: tool.name }, range: word.range };
  }
  return undefined;
}

function isPromptPlace(place: readonly (string | number)[] | undefined): boolean {
  return place?.length === 1 && place[0] === 'prompt';
}
