/** The tables of a world at the start, read from its template: nothing is started. */
import { isJsonObject, type Json } from '../../src/common/json.ts';
import { DatabaseFile, type DatabaseTable, isDatabase } from '../../src/formats/sqlite/database.ts';
import { rowName } from '../../src/trace/model/changes.ts';
import type { Blobs } from './blobs.ts';

/** A row of a table as the changes of a world name it. */
export interface TemplateRow {
  /** `rowName` of the row. */
  readonly name: string;
  readonly key: Json;
  readonly value: Json;
}

export interface TemplateRows {
  readonly rows: readonly TemplateRow[];
  /** Whether there are more rows than are read. */
  readonly isPart: boolean;
}

export interface TemplateTable {
  readonly name: string;
  /** In the order of the table. Empty: its rows are not objects. */
  readonly columns: readonly string[];
}

type Keyed = Omit<TemplateRow, 'name'>;
type Source = AsyncGenerator<Keyed> | Generator<Keyed>;

/** Rows of a table that are read. */
export const MAX_TEMPLATE_ROWS = 50_000;
/** Time after which reading lets the page do something else. */
const SLICE_MS = 10;
/** Records that decide which columns a collection has. */
const SAMPLE = 200;
const HEAD_BYTES = 100;

export class WorldTemplate {
  readonly tables: readonly TemplateTable[];
  readonly #read: (name: string) => Source;
  readonly #rows = new Map<string, Promise<TemplateRows>>();

  private constructor(tables: readonly TemplateTable[], read: (name: string) => Source) {
    this.tables = tables;
    this.#read = read;
  }

  /** Opens a template: a SQLite database, or a JSON object of collections. */
  static async open(blobs: Blobs, sha: string): Promise<WorldTemplate> {
    if (isDatabase(await blobs.part(sha, 0, HEAD_BYTES))) {
      const database = await DatabaseFile.open((at, length) => blobs.part(sha, at, length));
      return new WorldTemplate(database.tables, (name) => databaseRows(database, name));
    }
    const whole = await blobs.json({ $blob: sha, bytes: 0 });
    const collections = isJsonObject(whole) ? whole : {};
    return new WorldTemplate(
      Object.entries(collections).map(([name, records]) => ({ name, columns: columnsOf(records) })),
      (name) => collectionRows(collections[name]),
    );
  }

  /** Returns the rows of a table, up to a limit. They are read once. */
  rows(name: string): Promise<TemplateRows> {
    let reading = this.#rows.get(name);
    if (reading === undefined) {
      reading = upTo(MAX_TEMPLATE_ROWS, name, this.#read(name));
      this.#rows.set(name, reading);
      reading.catch(() => this.#rows.delete(name)); // the next call retries
    }
    return reading;
  }
}

/** Returns the first rows. Lets the page render in between. */
async function upTo(most: number, table: string, source: Source): Promise<TemplateRows> {
  const rows: TemplateRow[] = [];
  let began = performance.now();
  for await (const row of source) {
    if (rows.length === most) return { rows, isPart: true };
    rows.push({ ...row, name: rowName({ table, key: row.key }) });
    if (performance.now() - began < SLICE_MS) continue;
    await new Promise((resolve) => setTimeout(resolve));
    began = performance.now();
  }
  return { rows, isPart: false };
}

async function* databaseRows(database: DatabaseFile, name: string): AsyncGenerator<Keyed> {
  const table = database.tables.find((each): each is DatabaseTable => each.name === name);
  if (table === undefined) return;
  for await (const { key, values } of database.rows(table)) {
    const value: Record<string, Json> = {};
    for (const [index, column] of table.columns.entries()) value[column] = values[index] ?? null;
    yield { key, value };
  }
}

/** A record is named by the field that identifies it in the changes of its world, or by its position. */
function* collectionRows(records: Json | undefined): Generator<Keyed> {
  if (!Array.isArray(records)) return;
  const field = keyOf(records);
  for (const [index, record] of records.entries())
    yield { key: field !== undefined && isJsonObject(record) ? (record[field] ?? index) : index, value: record };
}

/** Returns the first field that identifies each record, preferring `id` and names that end in it. */
function keyOf(records: readonly Json[]): string | undefined {
  const objects = records.filter(isJsonObject);
  const [first] = objects;
  if (first === undefined || objects.length < records.length) return undefined;
  const order = (name: string): number => (name === 'id' ? 0 : /(?:_id|Id)$/.test(name) ? 1 : 2);
  return Object.keys(first)
    .sort((a, b) => order(a) - order(b))
    .find((field) => {
      const values = objects.map((record) => record[field]);
      return (
        values.every((value) => typeof value === 'string' || typeof value === 'number') &&
        new Set(values).size === values.length
      );
    });
}

function columnsOf(records: Json | undefined): string[] {
  if (!Array.isArray(records)) return [];
  return [...new Set(records.slice(0, SAMPLE).flatMap((record) => (isJsonObject(record) ? Object.keys(record) : [])))];
}
