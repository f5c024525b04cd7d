/**
 * A value prepared for display as a tree, lines, or a table. Runs in the page for small values and in a worker for
 * large ones, so all results are small: expanded rows and visible lines.
 */
import { isJsonObject, type Json } from '../../src/common/json.ts';
import { escapeKeys, isBlobRef, unescapeKeys } from '../../src/trace/values/keys.ts';

export type Form = 'tree' | 'table' | 'text' | 'json' | 'image';

export interface Shape {
  readonly forms: readonly Form[];
  readonly table?: { readonly columns: readonly string[]; readonly rows: number };
  /** URL of a `data:` image. */
  readonly image?: string;
}

type Scalar = 'string' | 'number' | 'boolean' | 'null' | 'blob';

/** How a row differs from the baseline. */
type RowChange = 'changed' | 'added' | 'removed';

export interface ValueRow {
  /** JSON pointer, followed by `#from-to` for a range of a long list. */
  readonly key: string;
  readonly depth: number;
  /** Member name or index; '' for the root. */
  readonly name: string;
  readonly open?: boolean;
  readonly kind: Scalar | 'object' | 'array' | 'range';
  /** The text of a scalar; for a container, `{3}` with its first keys, or `[12]`. */
  readonly text: string;
  /** Whether the text is truncated. */
  readonly cut?: boolean;
  readonly change?: RowChange;
  /** Text in the baseline. */
  readonly oldText?: string;
}

/** Longer lists are folded into ranges of this size. */
export const RANGE = 200;
const ROW_CHARS = 400;
const AUTO_OPEN_ROWS = 40;
const TABLE_COLUMNS = 40;
/** Longer lines are wrapped. */
const LINE_CHARS = 2_000;

export class ValueDocument {
  /** As stored: user keys that start with `$` are escaped, to distinguish them from references. */
  readonly value: Json;
  readonly #baseline: Json | undefined;
  #text: readonly string[] | undefined;
  #json: readonly string[] | undefined;

  /** `stored`: the value in an event. `baseline`: the value to compare it with. */
  constructor(stored: Json, baseline?: Json) {
    this.value = parseText(stored);
    this.#baseline = baseline === undefined ? undefined : parseText(baseline);
  }

  shape(): Shape {
    const { value } = this;
    const container = typeof value === 'object' && value !== null && !isBlobRef(value);
    const image =
      typeof value === 'string' && /^data:image\/(png|jpeg|gif|webp);base64,/.test(value) ? value : undefined;
    const table = tableOf(value);
    const forms: Form[] = [];
    if (image !== undefined) forms.push('image');
    if (table !== undefined) forms.push('table');
    if (container) forms.push('tree', 'json');
    else forms.push('text');
    return {
      forms,
      ...(table === undefined ? {} : { table }),
      ...(image === undefined ? {} : { image }),
    };
  }

  /** Returns the number of lines of a form. Lines are created on first use. */
  count(form: 'text' | 'json'): number {
    return (form === 'text' ? this.#textLines() : this.#jsonLines()).length;
  }

  /** Returns the lines from `from` up to, but not including, `to`. */
  lines(form: 'text' | 'json', from: number, to: number): readonly string[] {
    return (form === 'text' ? this.#textLines() : this.#jsonLines()).slice(from, to);
  }

  /** Returns the whole value, for copying or opening in an editor. */
  whole(): { readonly text: string; readonly language: 'json' | 'plaintext' } {
    return typeof this.value === 'string'
      ? { text: this.value, language: 'plaintext' }
      : { text: JSON.stringify(unescapeKeys(this.value), null, 2), language: 'json' };
  }

  /** Returns the keys that are initially expanded: as many levels as fit on a screen. */
  firstOpen(): string[] {
    const open: string[] = [];
    let level: { key: string; value: Json }[] = [{ key: '', value: this.value }];
    let rows = 0;
    while (level.length > 0) {
      const next: { key: string; value: Json }[] = [];
      for (const { key, value } of level) {
        const count = countOf(value);
        if (count === 0 || (key !== '' && rows + count > AUTO_OPEN_ROWS)) continue;
        rows += Math.min(count, RANGE);
        open.push(key);
        if (count <= RANGE)
          for (const [name, member] of membersOf(value))
            next.push({ key: `${key}/${escapePointer(name)}`, value: member });
      }
      level = next;
    }
    return open;
  }

  /** Returns the rows of the tree. `open`: keys of the expanded rows. */
  rows(open: ReadonlySet<string>): ValueRow[] {
    const rows: ValueRow[] = [];
    const { value } = this;
    if (countOf(value) === 0) {
      rows.push(this.#row('', 0, '', value, open));
      return rows;
    }
    this.#members(rows, '', 0, value, this.#baseline, open);
    return rows;
  }

  /** Returns the cells of the rows from `from` up to, but not including, `to`. */
  cells(from: number, to: number): readonly (readonly string[])[] {
    const columns = tableOf(this.value)?.columns ?? [];
    if (!Array.isArray(this.value)) return [];
    return this.value
      .slice(from, to)
      .map((row) =>
        columns.map((column) => (isJsonObject(row) && row[column] !== undefined ? shortText(row[column]).text : '')),
      );
  }

  #members(
    rows: ValueRow[],
    key: string,
    depth: number,
    value: Json,
    baseline: Json | undefined,
    open: ReadonlySet<string>,
  ): void {
    const members = membersOf(value);
    const before = baseline !== undefined && sameKind(value, baseline) ? baseline : undefined;
    if (members.length > RANGE) {
      for (let from = 0; from < members.length; from += RANGE) {
        const to = Math.min(from + RANGE, members.length);
        const rangeKey = `${key}#${from}-${to}`;
        const isOpen = open.has(rangeKey);
        rows.push({ key: rangeKey, depth, name: `${from} … ${to - 1}`, kind: 'range', text: '', open: isOpen });
        if (isOpen)
          for (const [name, member] of members.slice(from, to))
            this.#member(rows, key, depth + 1, name, member, before, open);
      }
      return;
    }
    for (const [name, member] of members) this.#member(rows, key, depth, name, member, before, open);
    if (before === undefined) return;
    const names = new Set(members.map(([name]) => name));
    for (const [name, member] of membersOf(before).slice(0, RANGE)) {
      if (!names.has(name))
        rows.push({
          key: `${key}/${escapePointer(name)}`,
          depth,
          name: unescapeKey(name),
          change: 'removed',
          ...summary(member),
        });
    }
  }

  #member(
    rows: ValueRow[],
    parent: string,
    depth: number,
    name: string,
    value: Json,
    before: Json | undefined,
    open: ReadonlySet<string>,
  ): void {
    const key = `${parent}/${escapePointer(name)}`;
    const old = before === undefined ? undefined : memberOf(before, name);
    const row = this.#row(key, depth, unescapeKey(name), value, open);
    const change: RowChange | undefined =
      before === undefined ? undefined : old === undefined ? 'added' : equal(old, value) ? undefined : 'changed';
    rows.push(
      change === undefined
        ? row
        : {
            ...row,
            change,
            ...(change === 'changed' && countOf(value) === 0 && old !== undefined
              ? { oldText: shortText(old).text }
              : {}),
          },
    );
    if (row.open === true) this.#members(rows, key, depth + 1, value, old, open);
  }

  #row(key: string, depth: number, name: string, value: Json, open: ReadonlySet<string>): ValueRow {
    const count = countOf(value);
    return { key, depth, name, ...summary(value), ...(count === 0 ? {} : { open: open.has(key) }) };
  }

  #textLines(): readonly string[] {
    return (this.#text ??= wrapLines(typeof this.value === 'string' ? this.value : shortText(this.value).text));
  }

  #jsonLines(): readonly string[] {
    return (this.#json ??= wrapLines(JSON.stringify(unescapeKeys(this.value), null, 2)));
  }
}

/** Returns a key as the user wrote it (trace/values/keys.ts). */
function unescapeKey(key: string): string {
  return key.startsWith('$$') ? key.slice(1) : key;
}

/** Parses a text that contains a JSON object or array. Returns other values unchanged. */
function parseText(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return escapeKeys(JSON.parse(value) as Json, () => false);
  } catch {
    return value; // not JSON
  }
}

/** Returns the lines of a text, with long ones wrapped. */
function wrapLines(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.length <= LINE_CHARS) lines.push(line);
    else for (let at = 0; at < line.length; at += LINE_CHARS) lines.push(line.slice(at, at + LINE_CHARS));
  }
  return lines;
}

/** Returns the table of a list of objects with mostly the same scalar members, else undefined. */
function tableOf(value: Json): { columns: readonly string[]; rows: number } | undefined {
  if (!Array.isArray(value) || value.length < 2) return undefined;
  const columns = new Set<string>();
  let cells = 0;
  for (const row of value.slice(0, 100)) {
    if (!isJsonObject(row) || isBlobRef(row)) return undefined;
    for (const [name, member] of Object.entries(row)) {
      if (countOf(member) > 0) return undefined;
      columns.add(name);
      cells += 1;
    }
  }
  const sampled = Math.min(value.length, 100);
  return columns.size === 0 || columns.size > TABLE_COLUMNS || cells < columns.size * sampled * 0.5
    ? undefined
    : { columns: [...columns], rows: value.length };
}

function countOf(value: Json): number {
  if (typeof value !== 'object' || value === null || isBlobRef(value)) return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function membersOf(value: Json): [string, Json][] {
  if (Array.isArray(value)) return value.map((member, index): [string, Json] => [String(index), member]);
  return isJsonObject(value) ? Object.entries(value) : [];
}

function memberOf(value: Json, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)];
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function sameKind(a: Json, b: Json): boolean {
  return Array.isArray(a) === Array.isArray(b) && typeof a === typeof b && (a === null) === (b === null);
}

function equal(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  return JSON.stringify(a) === JSON.stringify(b);
}

function summary(value: Json): Pick<ValueRow, 'kind' | 'text' | 'cut'> {
  const count = countOf(value);
  if (Array.isArray(value)) return { kind: 'array', text: `[${count}]` };
  if (isJsonObject(value) && !isBlobRef(value)) {
    const keys = Object.keys(value).map(unescapeKey);
    return {
      kind: 'object',
      text: count === 0 ? '{}' : `{${count}} ${keys.slice(0, 4).join(', ')}${count > 4 ? ', …' : ''}`,
    };
  }
  return shortText(value);
}

function shortText(value: Json): { kind: Scalar; text: string; cut?: boolean } {
  if (isBlobRef(value)) return { kind: 'blob', text: `${value.head.slice(0, ROW_CHARS)}…`, cut: true };
  if (value === null) return { kind: 'null', text: 'null' };
  switch (typeof value) {
    case 'string':
      return value.length > ROW_CHARS
        ? { kind: 'string', text: value.slice(0, ROW_CHARS), cut: true }
        : { kind: 'string', text: value };
    case 'number':
      return { kind: 'number', text: String(value) };
    case 'boolean':
      return { kind: 'boolean', text: String(value) };
    default: {
      const text = JSON.stringify(value);
      return text.length > ROW_CHARS
        ? { kind: 'string', text: text.slice(0, ROW_CHARS), cut: true }
        : { kind: 'string', text };
    }
  }
}

/** Escapes a member name for a JSON pointer (RFC 6901). */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
