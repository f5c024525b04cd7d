/**
 * Locates the cursor in YAML that is being typed and may be invalid, based on indentation and brackets. Unlike the
 * parser (`ParsedFile.at`), it also finds where something could be inserted.
 */
import type { Position, Range } from 'vscode-languageserver-types';
import type { Path } from '../../config/source/parse.ts';
import type { Lines } from './text.ts';

export interface Cursor {
  /**
   * For `key`: path of the group for a new key or list item. For `value`: path of the value. For `text`: path of the
   * text block.
   */
  readonly on: 'key' | 'value' | 'text';
  readonly path: Path;
  /** Typed text before the cursor, without an opening quote. */
  readonly typed: string;
  /** Range that a completion replaces: the whole word. */
  readonly range: Range;
  /** Zero-based column of the group's keys; undefined in brackets. */
  readonly indent: number | undefined;
}

interface Entry {
  /** Column of the first key or dash. */
  readonly column: number;
  readonly dashes: readonly number[];
  /** Column of the key or value after the dashes. */
  readonly start: number;
  readonly key: string | undefined;
  /** Column after the key and its colon, or after the dashes. */
  readonly rest: string;
  readonly restStart: number;
}

const KEY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"{}[\],&*!|>%@`-][^:#]*?|-[^\s:][^:#]*?)\s*:(?=\s|$)/;

function entryOf(line: string): Entry | undefined {
  const column = line.search(/\S/);
  if (column === -1 || line[column] === '#') return undefined;
  const dashes: number[] = [];
  let start = column;
  for (let match = /^-(\s+|$)/.exec(line.slice(start)); match !== null; match = /^-(\s+|$)/.exec(line.slice(start))) {
    dashes.push(start);
    start += match[0].length;
  }
  const found = KEY.exec(line.slice(start));
  const after = found === null ? start : start + found[0].length;
  const rest = line.slice(after);
  const blank = rest.length - rest.trimStart().length;
  return {
    column,
    dashes,
    start,
    key: found?.[1]?.replace(/^(["'])(.*)\1$/s, '$2'),
    rest: rest.trimStart(),
    restStart: after + blank,
  };
}

export function cursorAt(lines: Lines, position: Position): Cursor {
  const line = lines.line(position.line);
  const before = line.slice(0, position.character);
  const own = entryOf(before);
  const depth = own === undefined ? before.length : own.start;
  const column = own === undefined ? before.length : own.column;
  const block = blockAbove(lines, position.line, column);
  if (block !== undefined) return cursorFor(lines, position, 'text', block, '', before.length, undefined);
  const above = pathAbove(lines, position.line, column, own?.dashes ?? []);
  if (own === undefined) return cursorFor(lines, position, 'key', above, '', before.length, depth);
  const key = own.key;
  const path: Path = key === undefined ? above : [...above, key];
  if (key !== undefined && own.restStart > before.length)
    return cursorFor(lines, position, 'value', path, '', before.length, undefined);
  if (/^[{[]/.test(own.rest)) return cursorInBrackets(lines, position, path, own.rest, own.restStart);
  if (/^[|>]/.test(own.rest) && key !== undefined)
    return cursorFor(lines, position, 'value', path, own.rest, own.restStart, undefined);
  return cursorFor(
    lines,
    position,
    key === undefined ? 'key' : 'value',
    path,
    own.rest,
    own.restStart,
    key === undefined ? depth : undefined,
  );
}

/** Returns the key of the text block (after `|` or `>`) that contains a line with this indentation. */
function blockAbove(lines: Lines, row: number, column: number): Path | undefined {
  let limit = column;
  for (let above = row - 1; above >= 0 && limit > 0; above--) {
    const entry = entryOf(lines.line(above));
    if (entry === undefined || entry.column >= limit) continue;
    if (entry.key !== undefined && entry.start < limit && /^[|>][\d+-]*\s*(#.*)?$/.test(entry.rest))
      return [...pathAbove(lines, above, entry.column, entry.dashes), entry.key];
    limit = entry.column;
  }
  return undefined;
}

/** Returns the path to a line with this indentation. */
function pathAbove(lines: Lines, row: number, column: number, dashes: readonly number[]): Path {
  const path: (string | number)[] = [];
  let limit = column;
  /** Column of the dash whose list index is being counted. */
  let counting: number | undefined = dashes[0];
  let count = 0;
  const pending = [...dashes];
  // Lists that start on the cursor's line have one item so far.
  for (let index = pending.length - 1; index > 0; index--) path.unshift(0);
  for (let above = row - 1; above >= 0; above--) {
    const entry = entryOf(lines.line(above));
    if (entry === undefined) continue;
    if (counting !== undefined) {
      if (entry.column > counting) continue;
      if (entry.column === counting && entry.dashes[0] === counting) {
        count++;
        continue;
      }
      // The key of the list can be in the same column.
      path.unshift(count);
      limit = entry.start === counting ? counting + 1 : counting;
      counting = undefined;
    }
    if (entry.column >= limit) continue;
    // Scan backwards: the key, then the dashes to the left of the target column.
    if (entry.key !== undefined && entry.start < limit) path.unshift(entry.key);
    const before = limit;
    limit = entry.column;
    const marks = entry.dashes.filter((dash) => dash < before);
    for (let index = marks.length - 1; index > 0; index--) path.unshift(0);
    if (marks[0] !== undefined) [counting, count] = [marks[0], 0];
    if (limit === 0 && counting === undefined) break;
  }
  if (counting !== undefined) path.unshift(count);
  return path;
}

function cursorInBrackets(lines: Lines, position: Position, path: Path, text: string, start: number): Cursor {
  interface Level {
    readonly path: Path;
    readonly list: boolean;
    key: string | undefined;
    index: number;
  }
  const levels: Level[] = [];
  let from = 0;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    const top = levels.at(-1);
    if (quote !== '') {
      if (char === quote) quote = '';
      continue;
    }
    switch (char) {
      case '"':
      case "'":
        if (text.slice(from, at).trim() === '') quote = char;
        continue;
      case '$':
        // `${env:NAME}` is not a group of keys.
        if (text[at + 1] === '{') at = text.indexOf('}', at) === -1 ? text.length : text.indexOf('}', at);
        continue;
      case '{':
      case '[':
        levels.push({ path: top === undefined ? path : levelPath(top), list: char === '[', key: undefined, index: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (top !== undefined) [top.key, top.index] = [undefined, top.index + 1];
        break;
      case ':':
        if (top === undefined || top.list || top.key !== undefined || !/^(\s|$)/.test(text.slice(at + 1))) continue;
        top.key = text
          .slice(from, at)
          .trim()
          .replace(/^(["'])(.*)\1$/s, '$2');
        break;
      default:
        continue;
    }
    from = at + 1;
  }
  const top = levels.at(-1);
  const typed = text.slice(from);
  const wordStart = start + from + (typed.length - typed.trimStart().length);
  if (top === undefined) return cursorFor(lines, position, 'value', path, typed.trimStart(), wordStart, undefined);
  const on = !top.list && top.key === undefined ? 'key' : top.list ? 'key' : 'value';
  return cursorFor(lines, position, on, levelPath(top), typed.trimStart(), wordStart, undefined);
}

function levelPath({
  path,
  list,
  key,
  index,
}: {
  readonly path: Path;
  readonly list: boolean;
  readonly key: string | undefined;
  readonly index: number;
}): Path {
  return list ? [...path, index] : key === undefined ? path : [...path, key];
}

function cursorFor(
  lines: Lines,
  position: Position,
  on: Cursor['on'],
  path: Path,
  typed: string,
  start: number,
  indent: number | undefined,
): Cursor {
  const quoted = /^["']/.test(typed) ? 1 : 0;
  const after = /^[^\s,:{}[\]"'#]*/.exec(lines.line(position.line).slice(position.character))?.[0] ?? '';
  return {
    on,
    path,
    typed: typed.slice(quoted),
    indent,
    range: {
      start: { line: position.line, character: Math.min(start + quoted, position.character) },
      end: { line: position.line, character: position.character + after.length },
    },
  };
}
