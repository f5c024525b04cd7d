/** Builds text and file edits of the protocol. */
import type { CreateFile, TextDocumentEdit, TextEdit, WorkspaceEdit } from 'vscode-languageserver-types';
import { isJsonObject } from '../../../common/json.ts';
import type { ParsedFile, Path } from '../../../config/source/parse.ts';
import { Lines, lspRange } from '../../workspace/text.ts';
import { uriOf } from '../../workspace/uris.ts';
import { valueAt } from '../../workspace/valueAt.ts';

export function change(path: string, edits: readonly TextEdit[]): TextDocumentEdit {
  return { textDocument: { uri: uriOf(path), version: null }, edits: [...edits] };
}

/** Creates a file with a text. */
export function create(path: string, text: string): (CreateFile | TextDocumentEdit)[] {
  return [
    { kind: 'create', uri: uriOf(path), options: { ignoreIfExists: true } },
    change(path, [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: text }]),
  ];
}

export function edit(...documentChanges: (CreateFile | TextDocumentEdit)[]): WorkspaceEdit {
  return { documentChanges };
}

/** Removes a key with its value, or a list item. Returns undefined for complex syntax. */
export function removal(parsed: ParsedFile, path: Path): TextEdit | undefined {
  const range = parsed.wholeRange(path);
  const key = typeof path.at(-1) === 'string' ? parsed.keyRange(path) : undefined;
  const first = key ?? range;
  const last = range ?? key;
  if (first === undefined || last === undefined) return undefined;
  const lines = new Lines(parsed.text);
  const start = lines.offsetAt({ line: first.line - 1, character: first.column - 1 });
  const end = Math.max(lines.offsetAt({ line: last.endLine - 1, character: last.endColumn - 1 }), start);
  const before = lines.line(first.line - 1).slice(0, first.column - 1);
  const after = lines.line(last.endLine - 1).slice(last.endColumn - 1);
  const isWholeLines =
    (typeof path.at(-1) === 'number' ? /^\s*- $/ : /^\s*$/).test(before) && /^\s*(#.*)?$/.test(after);
  if (isWholeLines)
    return {
      range: { start: { line: first.line - 1, character: 0 }, end: { line: last.endLine, character: 0 } },
      newText: '',
    };
  // When removing the first key of an item, keep the dash for the next one.
  const item = /^(\s*- )$/.exec(before)?.[1];
  if (item !== undefined && /^\s*(#.*)?$/.test(after)) {
    const next = lines.line(last.endLine);
    const same = next.startsWith(' '.repeat(item.length)) && next.trim() !== '' ? item.length : undefined;
    return same === undefined
      ? undefined
      : {
          range: {
            start: { line: first.line - 1, character: item.length },
            end: { line: last.endLine, character: same },
          },
          newText: '',
        };
  }
  // In brackets, also remove the comma after it, or else the one before it.
  const trailingComma = /^\s*,\s*/.exec(parsed.text.slice(end));
  const leadingComma = /,\s*$/.exec(parsed.text.slice(0, start));
  const from = trailingComma === null && leadingComma !== null ? start - leadingComma[0].length : start;
  return {
    range: { start: lines.positionAt(from), end: lines.positionAt(end + (trailingComma?.[0].length ?? 0)) },
    newText: '',
  };
}

/** Inserts a key into the group at `path`. */
export function insertion(parsed: ParsedFile, path: Path, key: string, value: string): TextEdit | undefined {
  const lines = new Lines(parsed.text);
  const group = valueAt(parsed.value, path);
  const members = isJsonObject(group) ? Object.keys(group) : [];
  const range = parsed.wholeRange(path);
  const opening = range === undefined ? '' : lines.line(range.line - 1).charAt(range.column - 1);
  if (range !== undefined && opening === '{') {
    const at = { line: range.endLine - 1, character: range.endColumn - 1 };
    const inside = lines.slice(range).slice(1, -1);
    const end = lines.offsetAt(at) - 1 - (inside.length - inside.trimEnd().length);
    return {
      range: { start: lines.positionAt(end), end: lines.positionAt(end) },
      newText: members.length === 0 ? ` ${key}: ${value}` : `, ${key}: ${value}`,
    };
  }
  // Insert after the first key of the group, which is `version` at the top of a file.
  const [first] = members;
  const anchor = first === undefined ? undefined : parsed.keyRange([...path, first]);
  if (first !== undefined && anchor !== undefined) {
    const indent = ' '.repeat(anchor.column - 1);
    const firstRange = parsed.wholeRange([...path, first]) ?? anchor;
    // Only keys of the group itself: merged keys (`<<`) are elsewhere.
    const at = { line: Math.max(anchor.line, firstRange.endLine) - 1, character: 0 };
    const end = lines.line(at.line).length;
    return {
      range: { start: { ...at, character: end }, end: { ...at, character: end } },
      newText: `\n${indent}${key}: ${value}`,
    };
  }
  if (path.length === 0)
    return {
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      newText: `${key}: ${value}\n`,
    };
  const parent = parsed.keyRange(path);
  if (parent === undefined || members.length > 0) return undefined;
  const end = { line: parent.line - 1, character: lines.line(parent.line - 1).length };
  return { range: { start: end, end }, newText: `\n${' '.repeat(parent.column + 1)}${key}: ${value}` };
}

export function replacement(problem: Parameters<typeof lspRange>[0], newText: string): TextEdit {
  return { range: lspRange(problem), newText };
}
