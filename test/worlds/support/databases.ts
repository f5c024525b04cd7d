/** Reads databases without the product: all rows of all tables, as SQLite returns them. */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { inflateSync } from 'node:zlib';
import { z } from 'zod';

const MAGIC = 'rollout-world 1\n';
const PAGE_SIZE_AT = 16;

const head = z.object({ bytes: z.number(), pages: z.array(z.number()) });

/** Returns the database that a snapshot describes: the pages that differ from the template. */
export function contentsOf(template: Uint8Array, snapshot: Uint8Array): Buffer {
  const saved = Buffer.from(snapshot);
  if (saved.subarray(0, MAGIC.length).toString() !== MAGIC) throw new Error('This is no snapshot of a code world.');
  const opened = inflateSync(saved.subarray(MAGIC.length));
  const end = opened.indexOf('\n');
  const { bytes, pages } = head.parse(JSON.parse(opened.subarray(0, end).toString()));
  const contents = Buffer.alloc(bytes);
  contents.set(template.subarray(0, bytes));
  const size = Buffer.from(template).readUInt16BE(PAGE_SIZE_AT);
  for (const [at, page] of pages.entries())
    contents.set(opened.subarray(end + 1 + at * size, end + 1 + (at + 1) * size), page * size);
  return contents;
}

export type Rows = Readonly<Record<string, readonly Record<string, SQLOutputValue>[]>>;

/** Returns all rows of a database, by table, in the order of their row IDs. Its file is only copied. */
export function rowsOf(database: string | Uint8Array): Rows {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rows-'));
  try {
    const file = path.join(folder, 'world.db');
    if (typeof database !== 'string') writeFileSync(file, database);
    else for (const end of ['', '-wal']) if (existsSync(database + end)) copyFileSync(database + end, file + end);
    const opened = new DatabaseSync(file);
    const tables = opened
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'")
      .all();
    const rows = Object.fromEntries(
      tables.map(({ name }) => [
        String(name),
        opened.prepare(`SELECT rowid AS "row", * FROM "${String(name)}" ORDER BY rowid`).all(),
      ]),
    );
    opened.close();
    return rows;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the number of rows. */
export function countRows(rows: Rows): number {
  return Object.values(rows).reduce((sum, { length }) => sum + length, 0);
}
