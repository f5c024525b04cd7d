/** Parses YAML (and JSON, a subset of it) to values with their locations, and collects all syntax errors. */

import type { Document, Node, YAMLError, YAMLMap } from 'yaml';
import { isAlias, isCollection, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import { isOverflow, MAX_DEPTH, tooDeep } from './depth.ts';
import type { Fix, Problem, ProblemCode, Range } from './problem.ts';

/** Keys and list positions (from 0) from the root to a value. */
export type Path = readonly (string | number)[];

export interface ParsedFile {
  readonly file: string;
  readonly text: string;
  /** The parsed value; undefined if nothing could be read. */
  readonly value: unknown;
  /** Syntax errors, duplicate keys, broken anchors. */
  readonly problems: readonly Problem[];
  /** First line with a syntax error: what is read from there on is a guess. */
  readonly brokenAt: number | undefined;
  /** Returns whether the file has a value at a path (defaults do not count). */
  has(path: Path): boolean;
  /** Returns the range of a key's name. */
  keyRange(path: Path): Range | undefined;
  /** Returns the range of a value, or of the nearest enclosing one; for a group or list, only its first line. */
  valueRange(path: Path): Range;
  /** Returns the range of a value with all its lines; undefined if there is no value. */
  wholeRange(path: Path): Range | undefined;
  /** Returns the innermost key or value at a position (1-based); undefined after the end and between groups. */
  at(line: number, column: number): PlaceInFile | undefined;
  /** Creates a problem at a value, or at the name of its key. */
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

/** Parses a file. `file` is the path for problems. Never throws. */
export function parseFile(file: string, text: string): ParsedFile {
  const lines = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    merge: true,
    logLevel: 'error',
  });
  const deepAt = (parsed.errors.find(isOverflow)?.pos ?? tooDeep(parsed.contents)?.range)?.[0];
  // Of a file that is nested too deeply, nothing is read: whoever reads it recurses.
  const document = deepAt === undefined ? parsed : parseDocument('');
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
  /** Returns the range of a node; of a collection, only the first line. */
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
  if (deepAt !== undefined) {
    brokenAt = lines.linePos(deepAt).line;
    add(deepAt, deepAt + 1, {
      code: 'syntax',
      message: `lists and groups are nested too deeply, in more than ${MAX_DEPTH} levels`,
      hint: 'Close the lists and groups that were opened by mistake, or use fewer levels.',
    });
  }
  const brokenLines = new Set<number>();
  for (const error of [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0])) {
    const line = Math.max(1, lines.linePos(error.pos[0]).line);
    if (error.code === 'DUPLICATE_KEY') {
      const key = /^("[^"\n]*"|'[^'\n]*'|[^\s:]+)/.exec(text.slice(error.pos[0]))?.[0] ?? '';
      add(error.pos[0], error.pos[0] + key.length, {
        code: 'duplicate_key',
        message: `duplicate key \`${key}\``,
        hint: 'Remove one of them.',
      });
    } else if (!brokenLines.has(line) && (brokenAt === undefined || !error.message.includes('in YAML stream'))) {
      // One mistake often causes several errors in its line and in the rest of the file: report only the first.
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
        hint: 'Define the anchor with & first, or put the text in quotes.',
      });
    },
  });

  let value: unknown;
  if (deepAt === undefined && !document.errors.some((error) => error.code === 'NON_STRING_KEY')) {
    try {
      value = document.toJS({ maxAliasCount: 1000 });
      if (containsItself(value, new Set())) throw new ReferenceError('an anchor contains itself');
    } catch (thrown) {
      value = undefined;
      if (problems.length === 0) {
        const message = thrown instanceof Error ? thrown.message : String(thrown);
        add(0, 0, {
          code: 'syntax',
          message: `cannot resolve the anchors of this file: ${message}`,
          hint: 'Write out the values instead of repeating them with `*`.',
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

/** Returns the innermost key or value at an offset; the position after the last character belongs to it. */
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

/** Translates errors of the YAML library for people who do not know YAML's grammar. */
function syntaxText(error: YAMLError, line: string): { message: string; hint: string } {
  if (line.includes('${')) {
    return {
      message: 'inside [ ] and { }, text with ${…} must be in quotes',
      hint: 'Add quotes: "${env:NAME}".',
    };
  }
  if (line.includes('{{')) {
    return {
      message: 'text that starts with {{ must be in quotes',
      hint: 'Put the text in quotes, or start it on the next line after |.',
    };
  }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return {
        message: 'this line is indented with a tab, but YAML allows only spaces',
        hint: 'Replace the tab with spaces.',
      };
    case 'BAD_INDENT':
      if (error.message.startsWith('Flow'))
        return {
          message: 'a [ or { is not closed before this line',
          hint: 'Close it with ] or }, or indent its contents.',
        };
      return {
        message: 'the indentation of this line does not match the lines around it',
        hint: 'Indent all keys of a group with the same number of spaces.',
      };
    case 'MISSING_CHAR':
      if (error.message.includes('quote')) return { message: 'a quote is not closed', hint: 'Close the quote.' };
      break;
    case 'MULTIPLE_DOCS':
      return { message: 'a second document starts here (`---`)', hint: 'Keep one document per file.' };
    case 'BAD_SCALAR_START':
      return { message: 'text cannot start with this character', hint: 'Put the text in quotes.' };
    case 'BLOCK_AS_IMPLICIT_KEY':
      return {
        message: 'a second `:` in a line is ambiguous',
        hint: 'Put the text in quotes, or start the inner key on its own line.',
      };
    case 'NON_STRING_KEY':
      return { message: 'a key must be plain text', hint: 'Write the key as a single word or in quotes.' };
    case 'TAG_RESOLVE_FAILED':
      return { message: 'text cannot start with an unknown tag (`!…`)', hint: 'Put the text in quotes.' };
    default:
      break;
  }
  const reason = error.message.replace(/: ".*"$/s, ''); // the content of the file may be a secret
  return {
    message: `invalid YAML: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
    hint: 'Check the indentation, quotes, and brackets in this line and the line above.',
  };
}
