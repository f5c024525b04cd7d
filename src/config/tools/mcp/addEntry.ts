/** Adds an entry to `tools:` of an agent file, leaving the rest of the text unchanged. */
import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, stringify } from 'yaml';
import { StudioError } from '../../../common/errors.ts';
import type { McpServer } from './clientFile.ts';

export interface NewEntry {
  readonly mcp: McpServer;
  /** Display name. */
  readonly name?: string;
  /** Tools to use. */
  readonly tools?: readonly string[];
}

/**
 * Returns the text with the entry after the others. Throws StudioError `config` if the file is not a mapping, or
 * `tools` is not a list.
 */
export function addEntry(file: string, text: string, entry: NewEntry): string {
  const before = parsed(file, text);
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const added = insert(file, before, text, entry, newline);
  const after = parsed(file, added);
  if (count(after) !== count(before) + 1)
    throw new StudioError('internal', `Cannot add the entry to ${file}.`, {
      hint: `Add it manually:\n${blockOf(entry)}`,
    });
  return added;
}

function insert(file: string, document: Document.Parsed, text: string, entry: NewEntry, newline: string): string {
  const lines = (indent: string): string =>
    blockOf(entry)
      .trimEnd()
      .split('\n')
      .map((line) => `${indent}${line}${newline}`)
      .join('');
  const pair = toolsOf(file, document);
  if (pair === undefined) {
    if (isMap(document.contents) && document.contents.flow === true) return intoFlowMap(document, text, entry);
    const end = text.length - (/\.\.\.\s*$/.exec(text)?.[0].length ?? 0);
    const head = text.slice(0, end);
    const separator = head === '' || head.endsWith('\n') ? '' : newline;
    return `${head}${separator}tools:${newline}${lines('  ')}${text.slice(end)}`;
  }
  const { value } = pair;
  if (isSeq(value) && value.flow === true) {
    const end = rangeOf(value)[1] - 1; // position of the closing bracket
    const last = value.items.at(-1);
    if (last !== undefined) {
      const at = rangeOf(last)[1];
      return `${text.slice(0, at)}, ${flowOf(entry)}${text.slice(at)}`;
    }
    if (isJson(document)) return `${text.slice(0, end)}${flowOf(entry)}${text.slice(end)}`;
    const [start] = rangeOf(value);
    // Expands `tools: []` to a block list; keeps what follows on the same line.
    return afterLine(`${text.slice(0, start).trimEnd()}${text.slice(end + 1)}`, start - 1, newline, lines('  '));
  }
  if (isSeq(value)) {
    const first = rangeOf(value)[0];
    const indent = ' '.repeat(first - (text.lastIndexOf('\n', first - 1) + 1));
    const last = value.items.at(-1);
    return afterLine(text, contentEnd(text, last === undefined ? first : rangeOf(last)[1]), newline, lines(indent));
  }
  if (value === null || (isScalar(value) && value.value === null)) {
    const [start, end] = value === null ? [0, 0] : rangeOf(value); // null may be written explicitly
    return afterLine(text.slice(0, start) + text.slice(end), rangeOf(pair.key)[1], newline, lines('  '));
  }
  throw new StudioError('config', `\`tools\` in ${file} is not a list.`, {
    hint: 'Write a list with `-` before each entry.',
  });
}

/** Inserts lines after the line that contains `at`. */
function afterLine(text: string, at: number, newline: string, lines: string): string {
  const end = text.indexOf('\n', at);
  return end === -1 ? `${text}${newline}${lines}` : `${text.slice(0, end + 1)}${lines}${text.slice(end + 1)}`;
}

/** Returns the end of an item without trailing whitespace, which the parser counts as part of a block. */
function contentEnd(text: string, end: number): number {
  let at = end;
  while (at > 0 && /\s/.test(text[at - 1] ?? '')) at--;
  return at;
}

function intoFlowMap(document: Document.Parsed, text: string, entry: NewEntry): string {
  const map = document.contents;
  if (!isMap(map)) return text;
  const last = map.items.at(-1);
  const at = last === undefined ? rangeOf(map)[0] + 1 : rangeOf(last.value ?? last.key)[1];
  return `${text.slice(0, at)}${last === undefined ? '' : ', '}"tools": [${flowOf(entry)}]${text.slice(at)}`;
}

function blockOf({ mcp, name, tools }: NewEntry): string {
  const server: Record<string, unknown> = { ...mcp };
  const text = stringify(
    [{ mcp: server, ...(name === undefined ? {} : { name }), ...(tools === undefined ? {} : { tools: [...tools] }) }],
    {
      lineWidth: 0,
      // Writes short lists on one line.
      collectionStyle: 'any',
    },
  );
  return text.replaceAll(
    /^( *)(- )?(args|tools):\n((?:\1(?: {2})? *- .*\n)+)/gm,
    (whole, indent: string, dash: string | undefined, key: string, items: string) => {
      const each = items
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().slice(2));
      return each.every((item) => !/^[|>]/.test(item))
        ? `${indent}${dash ?? ''}${key}: [${each.map(inFlow).join(', ')}]\n`
        : whole;
    },
  );
}

/** Quotes a plain string of a block list if it contains characters that are special inside brackets. */
function inFlow(item: string): string {
  return /^["']/.test(item) || !/[,[\]{}#:]/.test(item) ? item : JSON.stringify(item);
}

function flowOf({ mcp, name, tools }: NewEntry): string {
  return JSON.stringify({ mcp, ...(name === undefined ? {} : { name }), ...(tools === undefined ? {} : { tools }) });
}

function parsed(file: string, text: string): Document.Parsed {
  const document = parseDocument(text, { version: '1.2' });
  const [error] = document.errors;
  if (error !== undefined)
    throw new StudioError('config', `${file}: ${error.message}`, { hint: 'Fix this error first.', cause: error });
  if (document.contents !== null && !isMap(document.contents))
    throw new StudioError('config', `${file} is not an agent file: expected a group of keys.`);
  return document;
}

function toolsOf(file: string, document: Document.Parsed): Pair | undefined {
  const map: unknown = document.contents;
  if (map === null) return undefined;
  if (!isMap(map)) throw new StudioError('config', `${file} is not an agent file.`);
  return map.items.find(({ key }) => isScalar(key) && key.value === 'tools');
}

function count(document: Document.Parsed): number {
  const tools: unknown = document.get('tools');
  return isSeq(tools) ? tools.items.length : 0;
}

function isJson(document: Document.Parsed): boolean {
  return isMap(document.contents) && document.contents.flow === true;
}

/** Returns [start, end of the value, end including what follows]. */
function rangeOf(node: unknown): readonly [number, number, number] {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
  if (!Array.isArray(range)) throw new StudioError('internal', 'A parsed node has no range.');
  return range as unknown as readonly [number, number, number]; // set by the parser
}
