/**
 * Parses a long file in parts, each cached by its text, so that a keystroke only reparses the changed part. Parts are
 * the top-level groups of a file and the items of the lists below them.
 */
import { type ParsedFile, type Path, parseFile } from './parse.ts';
import type { Problem, Range } from './problem.ts';

/** Shorter files are parsed as a whole, which is fast enough. */
const SHORT = 16_000;
const TOP_KEY = /^[A-Za-z_][\w-]*:(\s|$)/;
const LIST_KEY = /^[A-Za-z_][\w-]*:\s*(#.*)?$/;
const ALIAS = /(^|[\s[{,])\*[\w-]+/m;

/** Caches the parts of one file between versions. */
export class Segments {
  #cache = new Map<string, ParsedFile>();

  parse(file: string, text: string): ParsedFile {
    const parts = text.length < SHORT ? undefined : partsOf(text);
    if (parts === undefined) {
      this.#cache.clear();
      return parseFile(file, text);
    }
    const now = new Map<string, ParsedFile>();
    const locatedParts = parts.map((part): PlacedPart => {
      const parsed = now.get(part.text) ?? this.#cache.get(part.text) ?? parseFile(file, part.text);
      now.set(part.text, parsed);
      return { ...part, parsed };
    });
    this.#cache = now;
    // An alias may refer to an anchor in another part.
    if (locatedParts.some(({ parsed }) => parsed.problems.length > 0) && ALIAS.test(text)) return parseFile(file, text);
    return merge(file, text, locatedParts);
  }
}

interface Part {
  readonly key: string;
  /** Index in the list below `key`; absent if the part is the whole key. */
  readonly index?: number;
  readonly text: string;
  /** Lines above it. */
  readonly linesBefore: number;
}

interface PlacedPart extends Part {
  readonly parsed: ParsedFile;
}

/** Splits a text into parts; undefined unless it clearly consists of keys at line starts. */
function partsOf(text: string): Part[] | undefined {
  if (text.includes('\t')) return undefined;
  const lines = text.split('\n');
  const starts: number[] = [];
  for (const [index, line] of lines.entries()) {
    if (TOP_KEY.test(line)) starts.push(index);
    else if (line !== '' && !/^[ #\r]/.test(line) && !(starts.length > 0 && /^-(\s|$)/.test(line))) return undefined;
  }
  const parts: Part[] = [];
  const seen = new Set<string>();
  for (const [number, start] of starts.entries()) {
    const key = lines[start]?.split(':', 1)[0] ?? '';
    if (seen.has(key)) return undefined; // the parser reports it
    seen.add(key);
    const end = starts[number + 1] ?? lines.length;
    parts.push(...(itemsOf(lines, key, start, end) ?? [{ key, text: textOf(lines, start, end), linesBefore: start }]));
  }
  return starts.length === 0 ? undefined : parts;
}

/** Joins lines, keeping the final line break, which belongs to block text after `|`. */
function textOf(lines: readonly string[], start: number, end: number): string {
  const text = lines.slice(start, end).join('\n');
  return end < lines.length ? `${text}\n` : text;
}

/** Splits a block-style list into its items. */
function itemsOf(lines: readonly string[], key: string, start: number, end: number): Part[] | undefined {
  if (!LIST_KEY.test(lines[start] ?? '')) return undefined;
  const begins: number[] = [];
  let indent: number | undefined;
  for (let index = start + 1; index < end; index++) {
    const line = lines[index] ?? '';
    const depth = line.search(/[^ \r]/);
    if (depth === -1) continue;
    if (/^-(\s|$)/.test(line.slice(depth)) && (indent === undefined || depth === indent)) {
      indent ??= depth;
      begins.push(index);
    } else if (line[depth] !== '#' && (indent === undefined || depth <= indent)) {
      return undefined;
    }
  }
  if (begins.length < 2) return undefined;
  // The key with an empty list provides its location.
  const head: Part = { key, text: textOf(lines, start, begins[0] ?? end), linesBefore: start };
  return [
    head,
    ...begins.map((begin, index) => ({
      key,
      index,
      text: textOf(lines, begin, begins[index + 1] ?? end),
      linesBefore: begin,
    })),
  ];
}

function merge(file: string, text: string, locatedParts: readonly PlacedPart[]): ParsedFile {
  const heads = new Map<string, PlacedPart>();
  const items = new Map<string, PlacedPart[]>();
  const value: Record<string, unknown> = {};
  const problems: Problem[] = [];
  let brokenAt: number | undefined;
  for (const part of locatedParts) {
    const { key, index, parsed, linesBefore } = part;
    if (index === undefined) heads.set(key, part);
    else {
      const list = items.get(key);
      if (list === undefined) items.set(key, [part]);
      else list.push(part);
    }
    problems.push(...parsed.problems.map((problem) => ({ ...problem, ...shiftRange(problem, linesBefore) })));
    if (parsed.brokenAt !== undefined) brokenAt = Math.min(brokenAt ?? Infinity, parsed.brokenAt + linesBefore);
    if (index === undefined && typeof parsed.value === 'object' && parsed.value !== null)
      Object.assign(value, parsed.value);
  }
  for (const [key, list] of items)
    value[key] = list.map(({ parsed }) => (Array.isArray(parsed.value) ? (parsed.value[0] as unknown) : null));

  /** Returns the part that contains a path, and the path within it. */
  const inside = (path: Path): { part: PlacedPart; path: Path } | undefined => {
    const [key, index, ...rest] = path;
    const list = items.get(String(key));
    if (list !== undefined && index !== undefined) {
      const part = typeof index === 'number' ? list[index] : undefined;
      return part === undefined ? undefined : { part, path: [0, ...rest] };
    }
    const part = heads.get(String(key));
    return part === undefined ? undefined : { part, path };
  };
  const ranged = (path: Path, locate: (parsed: ParsedFile, path: Path) => Range | undefined): Range | undefined => {
    const found = inside(path);
    const range = found === undefined ? undefined : locate(found.part.parsed, found.path);
    return found === undefined || range === undefined ? undefined : shiftRange(range, found.part.linesBefore);
  };
  const first = shiftRange(
    { line: 1, column: 1, endLine: 1, endColumn: (locatedParts[0]?.text.split('\n', 1)[0] ?? '').length + 1 },
    locatedParts[0]?.linesBefore ?? 0,
  );
  const keyRange = (path: Path): Range | undefined => ranged(path, (parsed, inner) => parsed.keyRange(inner));
  const valueRange = (path: Path): Range => {
    for (let length = path.length; length > 0; length--) {
      const steps = path.slice(0, length);
      const list = length === 1 ? items.get(String(steps[0]))?.[0] : undefined;
      const range =
        list === undefined
          ? ranged(steps, (parsed, inner) => parsed.valueRange(inner))
          : shiftRange(list.parsed.valueRange([]), list.linesBefore);
      if (range !== undefined) return range;
    }
    return first;
  };
  return {
    file,
    text,
    value,
    problems,
    brokenAt,
    keyRange,
    valueRange,
    wholeRange(path) {
      const [key] = path;
      const last = locatedParts.at(-1);
      if (key === undefined) return last === undefined ? undefined : { ...first, ...endOf(last) };
      const list = path.length === 1 ? items.get(String(key)) : undefined;
      const [from, to] = [list?.[0], list?.at(-1)];
      if (from === undefined || to === undefined) return ranged(path, (parsed, inner) => parsed.wholeRange(inner));
      return { ...shiftRange(from.parsed.valueRange([]), from.linesBefore), ...endOf(to) };
    },
    at(line, column) {
      const part = locatedParts.findLast(({ linesBefore }) => linesBefore < line);
      const found = part?.parsed.at(line - part.linesBefore, column);
      if (part?.index === undefined || found === undefined) return found;
      return { ...found, path: [part.key, part.index, ...found.path.slice(1)] };
    },
    has: (path) => {
      if (path.length === 0) return true;
      const found = inside(path);
      return found !== undefined && found.part.parsed.has(found.path);
    },
    problem: (path, what, at = 'value') => ({
      file,
      ...(at === 'key' ? (keyRange(path) ?? valueRange(path)) : valueRange(path)),
      severity: 'error',
      ...what,
    }),
  };
}

function endOf({ parsed, linesBefore }: PlacedPart): Pick<Range, 'endLine' | 'endColumn'> {
  const { endLine = 1, endColumn = 1 } = parsed.wholeRange([]) ?? {};
  return { endLine: endLine + linesBefore, endColumn };
}

function shiftRange(range: Range, linesBefore: number): Range {
  return {
    line: range.line + linesBefore,
    column: range.column,
    endLine: range.endLine + linesBefore,
    endColumn: range.endColumn,
  };
}
