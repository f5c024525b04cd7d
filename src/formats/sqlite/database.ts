/**
 * Reads the tables of a SQLite database file without SQLite, page by page: for pages in a browser, and for files that
 * somebody else made. Indexes, views, and virtual tables are left out.
 */
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import { parseTable, type SqlColumn, type SqlTable } from '../sql/ddl.ts';
import { recordOf, textDecoder, varintAt } from './pages.ts';

/** Returns `length` bytes of the file; fewer at its end. */
export type ReadBytes = (at: number, length: number) => Promise<Uint8Array>;

export interface DatabaseTable {
  readonly name: string;
  /** Names of its columns. Those that are computed are left out. */
  readonly columns: readonly string[];
  /** Their types, as written. */
  readonly types: readonly string[];
  /** Columns of its key. Empty: rows are identified by their position, the rowid. */
  readonly key: readonly string[];
}

export interface DatabaseRow {
  /** The value of its key; several are a list. */
  readonly key: Json;
  /** In the order of the columns. */
  readonly values: readonly Json[];
}

interface Layout {
  readonly root: number;
  readonly stored: readonly SqlColumn[];
  /** Index of the column that is the rowid; −1: none is. */
  readonly rowid: number;
  /** Index in a record of each column of the table. */
  readonly at: readonly number[];
  readonly keyAt: readonly number[];
}

interface Entry {
  readonly rowid: number;
  readonly payload: Uint8Array;
}

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The deepest tree: far above that of the largest database. */
const MAX_DEPTH = 40;
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
const PAGE = { innerIndex: 2, innerTable: 5, leafIndex: 10, leafTable: 13 } as const;

/** Whether a file that begins with these bytes is a SQLite database. */
export function isDatabase(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC.length)) === MAGIC;
}

export class DatabaseFile {
  readonly tables: readonly DatabaseTable[];
  readonly #pages: Pages;
  readonly #layouts: ReadonlyMap<DatabaseTable, Layout>;

  private constructor(pages: Pages, layouts: ReadonlyMap<DatabaseTable, Layout>) {
    this.#pages = pages;
    this.#layouts = layouts;
    this.tables = [...layouts.keys()];
  }

  /** Throws StudioError `config` if the file is not a database. */
  static async open(read: ReadBytes): Promise<DatabaseFile> {
    const pages = await Pages.open(read);
    const layouts = new Map<DatabaseTable, Layout>();
    for await (const { payload } of pages.entries(1)) {
      const [type, name, , root, sql] = recordOf(payload, pages.decoder);
      if (type !== 'table' || typeof name !== 'string' || typeof sql !== 'string' || typeof root !== 'number') continue;
      const parsed = name.startsWith('sqlite_') || root === 0 ? undefined : parseTable(sql);
      if (parsed === undefined) continue;
      const layout = layoutOf(parsed, sql, root);
      const columns = parsed.columns.filter(({ computed }) => computed === undefined);
      const names = columns.map((column) => column.name);
      layouts.set({ name, columns: names, types: columns.map(({ type }) => type), key: parsed.key }, layout);
    }
    return new DatabaseFile(pages, layouts);
  }

  /** Yields the rows of one of `tables`, in the order in which they are stored. */
  async *rows(table: DatabaseTable): AsyncGenerator<DatabaseRow> {
    const layout = this.#layouts.get(table);
    if (layout === undefined) return;
    for await (const { payload, rowid } of this.#pages.entries(layout.root)) {
      const record = recordOf(payload, this.#pages.decoder);
      const valueAt = (at: number): Json => {
        if (at === layout.rowid) return rowid;
        const value = record[at];
        if (value !== undefined) return value;
        // The column was added after the row was written.
        const fallback = layout.stored[at]?.default ?? null;
        return typeof fallback === 'object' ? null : fallback;
      };
      const keys = layout.keyAt.map(valueAt);
      yield {
        key: keys.length === 0 ? rowid : keys.length === 1 ? (keys[0] ?? null) : keys,
        values: layout.at.map(valueAt),
      };
    }
  }
}

function layoutOf(table: SqlTable, sql: string, root: number): Layout {
  const hasRowid = !/\bWITHOUT\s+ROWID\b[^)]*$/i.test(sql);
  const stored = table.columns.filter(({ computed }) => computed !== 'virtual');
  const isKey = ({ name }: SqlColumn): boolean => table.key.includes(name);
  const keys = table.key.flatMap((name) => stored.find((column) => column.name === name) ?? []);
  // Without a rowid, a record begins with the key.
  const order = hasRowid ? stored : [...keys, ...stored.filter((column) => !isKey(column))];
  const [only, ...others] = keys;
  const isRowid = hasRowid && others.length === 0 && only?.type.toUpperCase() === 'INTEGER';
  return {
    root,
    stored: order,
    rowid: isRowid ? order.indexOf(only) : -1,
    at: stored.filter(({ computed }) => computed === undefined).map((column) => order.indexOf(column)),
    keyAt: keys.map((column) => order.indexOf(column)),
  };
}

/** The trees of pages of a database. */
class Pages {
  readonly decoder: InstanceType<typeof TextDecoder>;
  readonly #read: ReadBytes;
  readonly #size: number;
  /** Bytes of a page that hold content. */
  readonly #usable: number;

  private constructor(read: ReadBytes, size: number, reserved: number, encoding: number) {
    this.#read = read;
    this.#size = size;
    this.#usable = size - reserved;
    this.decoder = textDecoder(encoding);
  }

  static async open(read: ReadBytes): Promise<Pages> {
    const head = await read(0, HEADER_BYTES);
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
    const written = head.length < HEADER_BYTES || !isDatabase(head) ? 0 : view.getUint16(16);
    const size = written === 1 ? 65_536 : written;
    if (size < 512) throw damaged('it does not begin like one');
    return new Pages(read, size, view.getUint8(20), view.getUint32(56));
  }

  /** Yields the entries of a tree in order. */
  async *entries(root: number, depth = 0): AsyncGenerator<Entry> {
    if (depth > MAX_DEPTH) throw damaged('its pages refer to each other');
    const page = await this.#page(root);
    const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
    const start = root === 1 ? HEADER_BYTES : 0;
    const type = view.getUint8(start);
    const isInner = type === PAGE.innerTable || type === PAGE.innerIndex;
    if (!isInner && type !== PAGE.leafTable && type !== PAGE.leafIndex) throw damaged(`its page ${root} is no tree`);
    const isIndex = type === PAGE.innerIndex || type === PAGE.leafIndex;
    const count = view.getUint16(start + 3);
    const cells = start + (isInner ? 12 : 8);
    for (let index = 0; index < count; index++) {
      let at = view.getUint16(cells + index * 2);
      if (isInner) {
        yield* this.entries(view.getUint32(at), depth + 1);
        at += 4;
      }
      if (type !== PAGE.innerTable) yield await this.#entry(page, at, isIndex);
    }
    if (isInner) yield* this.entries(view.getUint32(start + 8), depth + 1);
  }

  async #entry(page: Uint8Array, at: number, isIndex: boolean): Promise<Entry> {
    const length = varintAt(page, at);
    const rowid = isIndex ? { value: 0, next: length.next } : varintAt(page, length.next);
    return { rowid: rowid.value, payload: await this.#payload(page, rowid.next, length.value, isIndex) };
  }

  /** Returns the content of an entry. What does not fit into its page is in a chain of others. */
  async #payload(page: Uint8Array, at: number, length: number, isIndex: boolean): Promise<Uint8Array> {
    const usable = this.#usable;
    const most = isIndex ? Math.floor(((usable - 12) * 64) / 255) - 23 : usable - 35;
    if (length <= most) return page.subarray(at, at + length);
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const wanted = least + ((length - least) % (usable - 4));
    const local = wanted <= most ? wanted : least;
    if (length > MAX_PAYLOAD_BYTES) throw damaged('a row is larger than 64 MB');
    const payload = new Uint8Array(length);
    payload.set(page.subarray(at, at + local));
    let next = new DataView(page.buffer, page.byteOffset, page.byteLength).getUint32(at + local);
    for (let filled = local; filled < length; ) {
      if (next === 0) throw damaged('a row is cut off');
      const more = await this.#page(next);
      const part = more.subarray(4, Math.min(usable, 4 + length - filled));
      payload.set(part, filled);
      filled += part.length;
      next = new DataView(more.buffer, more.byteOffset, more.byteLength).getUint32(0);
    }
    return payload;
  }

  async #page(number: number): Promise<Uint8Array> {
    const page = await this.#read((number - 1) * this.#size, this.#size);
    if (page.length < this.#size) throw damaged(`its page ${number} is missing`);
    return page;
  }
}

function damaged(why: string): StudioError {
  return new StudioError('config', `The database cannot be read: ${why}.`);
}
