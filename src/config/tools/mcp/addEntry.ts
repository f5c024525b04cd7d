/** Puts an entry into `tools:` of an agent file: everything else in it stays as it is written, to the blank. */
import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, stringify } from 'yaml';
import { StudioError } from '../../../common/errors.ts';
import type { McpServer } from './clientFile.ts';

export interface NewEntry {
  readonly mcp: McpServer;
  /** The name it is shown under. */
  readonly name?: string;
  /** Only these of its tools. */
  readonly tools?: readonly string[];
}

/**
 * The text with the entry behind the others. Throws StudioError `config` for a file that is no mapping, or whose
 * `tools` is no list.
 */
export function addEntry(file: string, text: string, entry: NewEntry): string {
  const before = parsed(file, text);
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const added = insert(file, before, text, entry, newline);
  const after = parsed(file, added);
  if (count(after) !== count(before) + 1)
    throw new StudioError('internal', `The entry could not be put into ${file}.`, {
      hint: `Write it yourself:\n${blockOf(entry)}`,
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
    return `${head}${head === '' || head.endsWith('\n') ? '' : newline}tools:${newline}${lines('  ')}${text.slice(end)}`;
  }
  const { value } = pair;
  if (isSeq(value) && value.flow === true) {
    const end = rangeOf(value)[1] - 1; // where its bracket is
    const last = value.items.at(-1);
    if (last !== undefined) {
      const at = rangeOf(last)[1];
      return `${text.slice(0, at)}, ${flowOf(entry)}${text.slice(at)}`;
    }
    if (isJson(document)) return `${text.slice(0, end)}${flowOf(entry)}${text.slice(end)}`;
    const [start] = rangeOf(value);
    // `tools: []` becomes a list of lines; what stands behind it on its line stays there.
    return afterLine(`${text.slice(0, start).trimEnd()}${text.slice(end + 1)}`, start - 1, newline, lines('  '));
  }
  if (isSeq(value)) {
    const first = rangeOf(value)[0];
    const indent = ' '.repeat(first - (text.lastIndexOf('\n', first - 1) + 1));
    const last = value.items.at(-1);
    return afterLine(text, contentEnd(text, last === undefined ? first : rangeOf(last)[1]), newline, lines(indent));
  }
  if (value === null || (isScalar(value) && value.value === null)) {
    const [start, end] = value === null ? [0, 0] : rangeOf(value); // a null may be written out
    return afterLine(text.slice(0, start) + text.slice(end), rangeOf(pair.key)[1], newline, lines('  '));
  }
  throw new StudioError('config', `\`tools\` of ${file} is no list.`, {
    hint: 'Make it one, with a `-` before each entry.',
  });
}

/** Behind the line that `at` is in. */
function afterLine(text: string, at: number, newline: string, lines: string): string {
  const end = text.indexOf('\n', at);
  return end === -1 ? `${text}${newline}${lines}` : `${text.slice(0, end + 1)}${lines}${text.slice(end + 1)}`;
}

/** The end of what an item says: a block ends only where the next thing begins. */
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
      // Short lists on one line, as one writes them.
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

/** A plain text of a block list may hold what means something inside of brackets. */
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
    throw new StudioError('config', `${file}: ${error.message}`, { hint: 'Fix that first.', cause: error });
  if (document.contents !== null && !isMap(document.contents))
    throw new StudioError('config', `${file} is no agent file: it should be a group of keys.`);
  return document;
}

function toolsOf(file: string, document: Document.Parsed): Pair | undefined {
  const map: unknown = document.contents;
  if (map === null) return undefined;
  if (!isMap(map)) throw new StudioError('config', `${file} is no agent file.`);
  return map.items.find(({ key }) => isScalar(key) && key.value === 'tools');
}

function count(document: Document.Parsed): number {
  const tools: unknown = document.get('tools');
  return isSeq(tools) ? tools.items.length : 0;
}

function isJson(document: Document.Parsed): boolean {
  return isMap(document.contents) && document.contents.flow === true;
}

/** [start, end of the value, end with what follows]. */
function rangeOf(node: unknown): readonly [number, number, number] {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : undefined;
  if (!Array.isArray(range)) throw new StudioError('internal', 'A parsed node has no place.');
  return range as unknown as readonly [number, number, number]; // as the parser sets it
}
