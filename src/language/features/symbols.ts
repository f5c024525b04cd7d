/** Provides the outline of a config file: its keys and list items. */
import { type DocumentSymbol, SymbolKind } from 'vscode-languageserver-types';
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { basename } from '../../config/paths.ts';
import type { ParsedFile, Path } from '../../config/source/parse.ts';
import { lspRange } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';

const MAX_DETAIL = 60;

export async function documentSymbols(workspace: Workspace, path: string): Promise<DocumentSymbol[]> {
  const parsed = fileKind(path) === undefined ? undefined : await workspace.parsed(path);
  return parsed === undefined ? [] : membersOf(parsed, [], parsed.value);
}

function membersOf(parsed: ParsedFile, path: Path, value: unknown): DocumentSymbol[] {
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) =>
      isJsonObject(item) ? symbolOf(parsed, [...path, index], itemName(item, index), item) : [],
    );
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => symbolOf(parsed, [...path, key], key, member));
}

function symbolOf(parsed: ParsedFile, path: Path, name: string, value: unknown): DocumentSymbol[] {
  const whole = parsed.wholeRange(path);
  const key = parsed.keyRange(path) ?? parsed.valueRange(path);
  // Skip repeated anchors, which have no location of their own.
  if (whole === undefined) return [];
  const selection = lspRange(key);
  const { end } = lspRange(whole);
  const children = membersOf(parsed, path, value);
  const detail = detailOf(value);
  return [
    {
      name: name === '' ? '""' : name,
      kind: kindOf(value),
      selectionRange: selection,
      range: { start: selection.start, end: isBefore(end, selection.end) ? selection.end : end },
      ...(detail === undefined ? {} : { detail }),
      ...(children.length === 0 ? {} : { children }),
    },
  ];
}

function isBefore(a: DocumentSymbol['range']['start'], b: DocumentSymbol['range']['start']): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

/** Labels a list item by what it references. */
function itemName(item: Readonly<Record<string, unknown>>, index: number): string {
  const [key = '', first] = Object.entries(item)[0] ?? [];
  if (key === 'module' && typeof first === 'string') return basename(first);
  if (Array.isArray(first)) return first.join(', ');
  const name = item['name'] ?? first;
  return typeof name === 'string' ? name : key === '' ? `#${index + 1}` : key;
}

function kindOf(value: unknown): SymbolKind {
  if (Array.isArray(value)) return SymbolKind.Array;
  switch (typeof value) {
    case 'number':
      return SymbolKind.Number;
    case 'boolean':
      return SymbolKind.Boolean;
    case 'string':
      return SymbolKind.String;
    default:
      return isJsonObject(value) ? SymbolKind.Module : SymbolKind.Null;
  }
}

function detailOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const [line = ''] = String(value).split('\n');
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL - 1)}…` : line;
}
