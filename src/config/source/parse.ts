/** YAML (and JSON, which is YAML) to values, with the place of everything and all syntax errors at once. */

import type { Document, Node, YAMLError, YAMLMap } from 'yaml';
import { isAlias, isCollection, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { Fix, Problem, ProblemCode, Range } from './problem.ts';

/** Keys and list positions (from 0) from the root to a value. */
export type Path = readonly (string | number)[];

export interface ParsedFile {
  readonly file: string;
  readonly text: string;
  /** What could be read; undefined when that is nothing. */
  readonly value: unknown;
  /** Syntax errors, duplicate keys, broken anchors. */
  readonly problems: readonly Problem[];
  /** First line that could not be understood: what is read from there on is a guess. */
  readonly brokenAt: number | undefined;
  /** Whether the file itself has a value there (not a default). */
  has(path: Path): boolean;
  /** Place of a key's name. */
  keyRange(path: Path): Range | undefined;
  /** Place of a value; of the nearest enclosing one when there is none. Of a group or list only its first line. */
  valueRange(path: Path): Range;
  /** Place of a value with all its lines; undefined when there is none. */
  wholeRange(path: Path): Range | undefined;
  /** What stands at a place (1-based), as deep as it goes; undefined behind the end and between the groups. */
  at(line: number, column: number): PlaceInFile | undefined;
  /** A problem at a value, or at its key's name. */
  problem(path: Path, what: ProblemText, at?: 'key' | 'value'): Problem;
}

export interface PlaceInFile {
  readonly path: Path;
  readonly on: 'key' | 'value';
}

export interface ProblemText {
  readonly code: ProblemCode;
  readonly message: string;
  readonly hint: string;
  readonly severity?: 'error' | 'warning';
  readonly variable?: string;
  readonly fixes?: readonly Fix[];
}

/** `file` is the path that problems name. Never throws. */
export function parseFile(file: string, text: string): ParsedFile {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    merge: true,
    logLevel: 'error',
  });
  const range = (start: number, end: number): Range => {
    const from = lines.linePos(start);
    const to = lines.linePos(Math.max(start, end));
    return {
      line: Math.max(1, from.line),
      column: Math.max(1, from.col),
      endLine: Math.max(1, to.line),
      endColumn: Math.max(1, to.col),
    };
  };
  /** Of something that spans lines only the first is marked. */
  const nodeRange = (node: Node): Range => {
    const [start, end] = node.range ?? [0, 0];
    if (!isCollection(node)) return range(start, end);
    const newline = text.indexOf('\n', start);
    return range(start, newline === -1 ? end : Math.min(end, newline));
  };

  const problems: Problem[] = [];
  const add = (start: number, end: number, what: ProblemText): void => {
    problems.push({ file, ...range(start, end), severity: 'error', ...what });
  };
  let brokenAt: number | undefined;
  const brokenLines = new Set<number>();
  for (const error of [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0])) {
    const line = Math.max(1, lines.linePos(error.pos[0]).line);
    if (error.code === 'DUPLICATE_KEY') {
      const key = /^("[^"\n]*"|'[^'\n]*'|[^\s:]+)/.exec(text.slice(error.pos[0]))?.[0] ?? '';
      add(error.pos[0], error.pos[0] + key.length, {
        code: 'duplicate_key',
        message: `\`${key}\` is written twice`,
        hint: 'Keep one of the two.',
      });
    } else if (!brokenLines.has(line) && (brokenAt === undefined || !error.message.includes('in YAML stream'))) {
      // One slip makes the parser stumble several times in the same line, and then over whatever is left of the file.
      brokenLines.add(line);
      brokenAt ??= line;
      add(error.pos[0], error.pos[1], { code: 'syntax', ...syntaxText(error, lineAt(text, error.pos[0])) });
    }
  }
  visit(document, {
    Alias(_, node) {
      if (node.resolve(document) !== undefined) return;
      const [start, end] = node.range ?? [0, 0];
      brokenAt ??= lines.linePos(start).line;
      add(start, end, {
        code: 'syntax',
        message: `there is no anchor \`&${node.source}\` before this \`*${node.source}\``,
        hint: 'Name a value with & first, or put the text in quotes.',
      });
    },
  });

  let value: unknown;
  if (!document.errors.some((error) => error.code === 'NON_STRING_KEY')) {
    try {
      value = document.toJS({ maxAliasCount: 1000 });
      if (containsItself(value, new Set())) throw new ReferenceError('an anchor contains itself');
    } catch (thrown) {
      value = undefined;
      if (problems.length === 0) {
        const message = thrown instanceof Error ? thrown.message : String(thrown);
        add(0, 0, {
          code: 'syntax',
          message: `the anchors of this file cannot be followed: ${message}`,
          hint: 'Write the values out instead of repeating them by `*`.',
        });
      }
    }
  }

  const find = (path: Path): FoundValue => walk(document, path);
  const valueRange = (path: Path): Range => {
    for (let length = path.length; length >= 0; length--) {
      const found = find(path.slice(0, length));
      if (found.value != null) return nodeRange(found.value);
      if (found.key != null) return nodeRange(found.key);
    }
    return range(0, 0);
  };
  const keyRange = (path: Path): Range | undefined => {
    const { key } = find(path);
    return key == null ? undefined : nodeRange(key);
  };
  const wholeRange = (path: Path): Range | undefined => {
    const [start, end] = find(path).value?.range ?? [];
    return start === undefined || end === undefined
      ? undefined
      : range(start, start + text.slice(start, end).trimEnd().length);
  };
  return {
    file,
    text,
    value,
    problems,
    brokenAt,
    keyRange,
    valueRange,
    wholeRange,
    at(line, column) {
      const start = lines.lineStarts[line - 1];
      return start === undefined || document.contents === null
        ? undefined
        : placeAt(document.contents, start + column - 1, []);
    },
    has: (path) => {
      const found = find(path);
      return found.key != null || found.value != null;
    },
    problem: (path, what, at = 'value') => ({
      file,
      ...(at === 'key' ? (keyRange(path) ?? valueRange(path)) : valueRange(path)),
      severity: 'error',
      ...what,
    }),
  };
}

/** The deepest key or value that an offset lies in; a cursor behind the last character still lies in it. */
function placeAt(node: Node, offset: number, path: Path): PlaceInFile | undefined {
  const inside = ({ range }: Node): boolean => range != null && range[0] <= offset && offset <= range[1];
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      const here = [...path, String(key.value)];
      if (inside(key)) return { path: here, on: 'key' };
      const found = isNode(value) && inside(value) ? placeAt(value, offset, here) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) {
      const found = isNode(item) && inside(item) ? placeAt(item, offset, [...path, index]) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return inside(node) ? { path, on: 'value' } : undefined;
}

interface FoundValue {
  readonly key?: Node | null;
  readonly value?: Node | null;
}

/** Follows a path through maps, lists, aliases and merged maps. */
function walk(document: Document.Parsed, path: Path): FoundValue {
  let found: FoundValue = { value: document.contents };
  for (const step of path) {
    const node = resolved(document, found.value);
    if (isMap(node)) found = member(document, node, String(step), 0);
    else if (isSeq(node) && typeof step === 'number') found = { value: (node.items[step] ?? null) as Node | null };
    else return {};
    if (found.key == null && found.value == null) return {};
  }
  return found;
}

function member(document: Document.Parsed, map: YAMLMap, name: string, depth: number): FoundValue {
  for (const pair of map.items) {
    if (isScalar(pair.key) && pair.key.value === name) return { key: pair.key, value: pair.value as Node | null };
  }
  if (depth > 20) return {};
  for (const pair of map.items) {
    if (!isScalar(pair.key) || pair.key.source !== '<<') continue;
    const merged = resolved(document, pair.value as Node | null);
    for (const source of isSeq(merged) ? merged.items : [merged]) {
      const node = resolved(document, source as Node | null);
      if (!isMap(node)) continue;
      const found = member(document, node, name, depth + 1);
      if (found.key != null) return found;
    }
  }
  return {};
}

function resolved(document: Document.Parsed, node: Node | null | undefined): Node | null | undefined {
  return isAlias(node) ? node.resolve(document) : node;
}

function containsItself(value: unknown, above: Set<object>): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (above.has(value)) return true;
  above.add(value);
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  const found = members.some((item) => containsItself(item, above));
  above.delete(value);
  return found;
}

function lineAt(text: string, offset: number): string {
  const end = text.indexOf('\n', offset);
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, end === -1 ? text.length : end);
}

/** The library's errors in words for somebody who does not know YAML's grammar. */
function syntaxText(error: YAMLError, line: string): { message: string; hint: string } {
  if (line.includes('${')) {
    return {
      message: 'inside [ ] and { } a text with ${…} cannot stand without quotes',
      hint: 'Write it in quotes: "${env:NAME}".',
    };
  }
  if (line.includes('{{')) {
    return {
      message: 'a text that begins with {{ cannot stand without quotes',
      hint: 'Put the text in quotes, or begin it on the next line after |.',
    };
  }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return { message: 'this line is indented by a tab, YAML knows only spaces', hint: 'Replace the tab by spaces.' };
    case 'BAD_INDENT':
      if (error.message.startsWith('Flow'))
        return {
          message: 'a [ or { above is not closed before this line',
          hint: 'Close it with ] or }, or indent what belongs to it.',
        };
      return {
        message: 'this line is indented unlike those it stands with',
        hint: 'Give all keys of one group the same number of spaces.',
      };
    case 'MISSING_CHAR':
      if (error.message.includes('quote'))
        return { message: 'a quote that was opened is never closed', hint: 'Close the quote.' };
      break;
    case 'MULTIPLE_DOCS':
      return { message: 'a second document begins here (`---`)', hint: 'Keep one document per file.' };
    case 'BAD_SCALAR_START':
      return { message: 'a text cannot begin with this character', hint: 'Put the text in quotes.' };
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        message: 'a second `:` in one line can be read in two ways',
        hint: 'Put the text in quotes, or begin the inner key on its own line.',
      };
    case 'NON_STRING_KEY':
      return { message: 'a key must be a plain text', hint: 'Write the key as a single word or in quotes.' };
    case 'TAG_RESOLVE_FAILED':
      return { message: 'a text cannot begin with an unknown tag (`!…`)', hint: 'Put the text in quotes.' };
    default:
      break;
  }
  const said = error.message.replace(/: ".*"$/s, ''); // what the file says may be a secret
  return {
    message: `this is not YAML: ${said.charAt(0).toLowerCase()}${said.slice(1)}`,
    hint: 'Look at indentation, quotes and brackets here and in the line above.',
  };
}
