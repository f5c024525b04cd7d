/** Variables of the debugger. Values are trees of variables, created page by page when the client expands them. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { joinedLines, plural } from '../../common/text.ts';
import { compact } from '../../common/units.ts';
import type { BlobRef } from '../../trace/schema.ts';
import { wholeValue } from '../../trace/spill.ts';
import { inline } from '../../trace/text/values.ts';
import { isBlobRef, unescapeKeys } from '../../trace/values/keys.ts';

/** The target of an edit. */
export interface EditTarget {
  /** An event (seq) or a message (m). */
  readonly of: { readonly seq?: number; readonly m?: number };
  /** JSON pointer. */
  readonly path: string;
}

interface Page {
  readonly start: number;
  /** Infinity for all. */
  readonly count: number;
}

export interface VariableNodes {
  /** Number of items of a list, which clients request page by page. */
  readonly indexed?: number;
  list(page: Page, signal: AbortSignal): Promise<Node[]> | Node[];
}

export interface Node {
  readonly name: string;
  readonly value: string;
  readonly type?: string;
  readonly children?: VariableNodes;
  /** A CEL expression for the value. */
  readonly expression?: string;
  readonly edit?: EditTarget;
  /** What a data breakpoint on it watches, as its `dataId`. */
  readonly data?: string;
  /** The value, for edits. */
  readonly json?: Json;
}

export type ReadBlob = (ref: BlobRef, signal: AbortSignal) => Promise<Uint8Array>;

export interface ValueOptions {
  readonly readBlob: ReadBlob;
  readonly expression?: string | undefined;
  readonly edit?: EditTarget | undefined;
}

/** Longer texts are expandable, with a variable for each line; longer values are shortened. */
const LINE = 300;
/** Records with more members are shown in groups, because the protocol pages only indexed items. */
const GROUP = 1_000;

/** Returns a node for a stored value, whose keys are escaped and whose large parts are references. */
export function valueNode(name: string, stored: Json, options: ValueOptions): Node {
  const about = {
    name,
    json: stored,
    ...(options.expression === undefined ? {} : { expression: options.expression }),
    ...(options.edit === undefined ? {} : { edit: options.edit }),
  };
  if (isBlobRef(stored))
    return {
      ...about,
      value: `${compact(stored.bytes)} bytes, ${stored.media}: ${cut(stored.head)}`,
      type: stored.media,
      children: blobChildren(stored, options),
    };
  if (typeof stored === 'string') {
    const children = textChildren(stored);
    return {
      ...about,
      value: cut(JSON.stringify(stored.length > LINE * 2 ? stored.slice(0, LINE * 2) : stored)),
      type: 'string',
      ...(children === undefined ? {} : { children }),
    };
  }
  if (Array.isArray(stored))
    return {
      ...about,
      value: `(${stored.length}) ${summary(stored)}`,
      type: 'list',
      ...(stored.length === 0 ? {} : { children: listChildren(stored, options) }),
    };
  if (isJsonObject(stored)) {
    const keys = Object.keys(stored);
    return {
      ...about,
      value: summary(stored),
      type: 'map',
      ...(keys.length === 0 ? {} : { children: recordChildren(stored, options) }),
    };
  }
  return { ...about, value: JSON.stringify(stored), type: stored === null ? 'null' : typeof stored };
}

/** Returns a node for a named value; nothing if the value is undefined. */
export function factNode(name: string, value: string | number | boolean | null | undefined): Node[] {
  return value === undefined
    ? []
    : [
        {
          name,
          value: typeof value === 'string' ? cut(joinedLines(value, ' ⏎ ')) : String(value),
          ...(typeof value === 'string' ? optional(textChildren(value)) : {}),
        },
      ];
}

/** Returns children that need no loading. */
export function fixed(nodes: readonly Node[]): VariableNodes {
  return { list: ({ start, count }) => nodes.slice(start, start + count) };
}

export function recordChildren(record: { readonly [key: string]: Json }, options: ValueOptions): VariableNodes {
  const keys = Object.keys(record);
  const list = (names: readonly string[]): Node[] =>
    names.map((key) => valueNode(displayKey(key), record[key] ?? null, member(options, displayKey(key))));
  if (keys.length <= GROUP) return { list: ({ start, count }) => list(keys.slice(start, start + count)) };
  const groups = Array.from({ length: Math.ceil(keys.length / GROUP) }, (_, index): Node => {
    const names = keys.slice(index * GROUP, (index + 1) * GROUP);
    return {
      name: `[${index * GROUP}…${index * GROUP + names.length - 1}]`,
      value: `${displayKey(names[0] ?? '')} … ${displayKey(names.at(-1) ?? '')}`,
      children: { list: ({ start, count }) => list(names.slice(start, start + count)) },
    };
  });
  return fixed(groups);
}

function listChildren(items: readonly Json[], options: ValueOptions): VariableNodes {
  return {
    indexed: items.length,
    list: ({ start, count }) =>
      items
        .slice(start, start + count)
        .map((item, index) => valueNode(String(start + index), item, element(options, start + index))),
  };
}

/**
 * Returns the children of a stored blob: the lines of its text, or the members of its value. Reads it when expanded.
 */
function blobChildren(ref: BlobRef, options: ValueOptions): VariableNodes {
  return {
    list: async (page, signal) => {
      const whole = wholeValue(ref, await options.readBlob(ref, signal));
      const node = valueNode('', isBlobRef(whole) ? ref.head : whole, options);
      if (node.children === undefined) return [{ ...node, name: 'value' }];
      // Put a long list one level deeper, because only there it can be paged.
      return node.children.indexed === undefined ? node.children.list(page, signal) : [{ ...node, name: 'value' }];
    },
  };
}

function textChildren(text: string): VariableNodes | undefined {
  if (text.length <= LINE && !text.includes('\n')) return undefined;
  const lines = text
    .split('\n')
    .flatMap((line) =>
      line.length <= 10 * LINE ? [line] : (line.match(new RegExp(`[^]{1,${10 * LINE}}`, 'g')) ?? []),
    );
  return {
    indexed: lines.length,
    list: ({ start, count }) =>
      lines.slice(start, start + count).map((line, index) => ({ name: String(start + index + 1), value: line })),
  };
}

function member(options: ValueOptions, key: string): ValueOptions {
  const { expression, edit } = options;
  return {
    readBlob: options.readBlob,
    ...(expression === undefined
      ? {}
      : { expression: /^[A-Za-z_]\w*$/.test(key) ? `${expression}.${key}` : `${expression}[${JSON.stringify(key)}]` }),
    ...(edit === undefined
      ? {}
      : { edit: { of: edit.of, path: `${edit.path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` } }),
  };
}

function element(options: ValueOptions, index: number): ValueOptions {
  const { expression, edit } = options;
  return {
    readBlob: options.readBlob,
    ...(expression === undefined ? {} : { expression: `${expression}[${index}]` }),
    ...(edit === undefined ? {} : { edit: { of: edit.of, path: `${edit.path}/${index}` } }),
  };
}

/** Stored keys that begin with `$` have an additional `$`. */
function displayKey(key: string): string {
  return key.startsWith('$$') ? key.slice(1) : key;
}

/** Returns the start of a list or record, without formatting all of a large one. */
function summary(value: Json[] | { [key: string]: Json }): string {
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[${value.slice(0, 3).map(brief).join(', ')}${value.length > 3 ? ', …' : ''}]`;
  const keys = Object.keys(value);
  if (keys.length === 0) return '{}';
  return `{${keys
    .slice(0, 5)
    .map((key) => `${displayKey(key)}: ${brief(value[key] ?? null)}`)
    .join(', ')}${keys.length > 5 ? `, … ${plural(keys.length - 5, 'more')}` : ''}}`;
}

function brief(value: Json): string {
  if (isBlobRef(value)) return `<${compact(value.bytes)} bytes>`;
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `(${value.length}) […]`;
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? '{}' : '{…}';
  return typeof value === 'string' && value.length > 60
    ? `${JSON.stringify(value.slice(0, 60)).slice(0, -1)}…"`
    : inline(unescapeKeys(value));
}

function cut(text: string): string {
  return text.length > LINE ? `${text.slice(0, LINE)}…` : text;
}

function optional(children: VariableNodes | undefined): { children?: VariableNodes } {
  return children === undefined ? {} : { children };
}
