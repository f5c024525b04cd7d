// Tables of a database file, read without SQLite, against what SQLite itself answers.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { DatabaseFile, type ReadBytes } from '../../../../src/formats/sqlite/database.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'database-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** Makes a database with these statements. Returns its bytes, and what SQLite answers to queries. */
function made(...statements: readonly string[]): { bytes: Buffer; all: (sql: string) => unknown[] } {
  const file = path.join(folder, `${count++}.db`);
  const database = new DatabaseSync(file);
  for (const sql of statements) database.exec(sql);
  const all = (sql: string): unknown[] => database.prepare(sql).all();
  return { bytes: readFileSync(file), all };
}

const reader =
  (bytes: Buffer): ReadBytes =>
  (at, length) =>
    Promise.resolve(bytes.subarray(at, at + length));

async function rowsOf(bytes: Buffer, name: string) {
  const database = await DatabaseFile.open(reader(bytes));
  const table = database.tables.find((each) => each.name === name);
  assert.ok(table !== undefined);
  const rows = await Array.fromAsync(database.rows(table));
  return {
    table,
    rows,
    named: rows.map(({ values }) => Object.fromEntries(table.columns.map((c, i) => [c, values[i]]))),
  };
}

/** Compares them one by one: the difference of two long lists takes minutes to print. */
function assertRows(rows: readonly unknown[], expected: readonly unknown[]): void {
  assert.equal(rows.length, expected.length);
  for (const [index, row] of rows.entries()) assert.deepEqual(row, { ...(expected[index] as object) });
}

describe('a database file', () => {
  it('has its tables with their columns, types, and keys, without indexes, views, and tables of SQLite', async () => {
    const { bytes } = made(
      'CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT)',
      'CREATE TABLE places (shelf TEXT, slot INT, book INT, PRIMARY KEY (slot, shelf))',
      'CREATE TABLE log (text)',
      'CREATE INDEX titles ON books (title)',
      'CREATE VIEW all_books AS SELECT * FROM books',
    );
    assert.deepEqual((await DatabaseFile.open(reader(bytes))).tables, [
      { name: 'books', columns: ['id', 'title'], types: ['INTEGER', 'TEXT'], key: ['id'] },
      { name: 'places', columns: ['shelf', 'slot', 'book'], types: ['TEXT', 'INT', 'INT'], key: ['slot', 'shelf'] },
      { name: 'log', columns: ['text'], types: [''], key: [] },
    ]);
  });

  it('has the rows that SQLite answers, over many pages', async () => {
    const { bytes, all } = made(
      'CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, price REAL, count INTEGER)',
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
       INSERT INTO books
       SELECT i * 3 - 40000, 'book ' || i, i / 8.0, CASE i % 5 WHEN 0 THEN NULL ELSE i - 200 END FROM n`,
    );
    const { named, rows } = await rowsOf(bytes, 'books');
    assertRows(named, all('SELECT * FROM books ORDER BY id'));
    assert.deepEqual(
      rows.slice(0, 2).map(({ key }) => key),
      [-39_997, -39_994],
    );
  });

  it('has texts and binary values that fill many pages, and numbers of any size', async () => {
    const long = 'é…🙂'.repeat(20_000);
    const { bytes } = made(
      'CREATE TABLE t (name TEXT PRIMARY KEY, value)',
      `INSERT INTO t VALUES ('long', '${long}'), ('bytes', x'00ff10'), ('large', 9007199254740993),
       ('least', -9223372036854775808), ('float', 1.5), ('infinite', 9e999), ('minus', -1), ('none', NULL),
       ('small', -129), ('zero', 0), ('one', 1), ('six', -140737488355327), ('three', 8388607)`,
    );
    const { rows } = await rowsOf(bytes, 't');
    assert.deepEqual(Object.fromEntries(rows.map(({ key, values }) => [key, values[1]])), {
      long,
      bytes: { base64: 'AP8Q' },
      large: '9007199254740993',
      least: '-9223372036854775808',
      float: 1.5,
      infinite: 'inf',
      minus: -1,
      none: null,
      small: -129,
      zero: 0,
      one: 1,
      six: -140_737_488_355_327,
      three: 8_388_607,
    });
  });

  it('has keys of several columns, rows without a rowid, and rowids where there is no key', async () => {
    const { bytes, all } = made(
      'CREATE TABLE places (shelf TEXT, slot INT, book TEXT, PRIMARY KEY (slot, shelf)) WITHOUT ROWID',
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
       INSERT INTO places SELECT 'shelf ' || (i % 7), i, 'a book with a long name ' || i FROM n`,
      'CREATE TABLE log (text TEXT)',
      "INSERT INTO log VALUES ('first'), ('second'), ('third')",
      'DELETE FROM log WHERE rowid = 2',
    );
    const { named, rows } = await rowsOf(bytes, 'places');
    assertRows(named, all('SELECT * FROM places ORDER BY slot, shelf'));
    assert.deepEqual(rows[6]?.key, [7, 'shelf 0']);
    assert.deepEqual((await rowsOf(bytes, 'log')).rows, [
      { key: 1, values: ['first'] },
      { key: 3, values: ['third'] },
    ]);
  });

  it('has columns that were added later, and none that are computed', async () => {
    const { bytes } = made(
      'CREATE TABLE t (a INT, twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL, thrice INT AS (a * 3) STORED, b TEXT)',
      "INSERT INTO t (a, b) VALUES (5, 'x')",
      "ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'later'",
    );
    const { table, rows } = await rowsOf(bytes, 't');
    assert.deepEqual(table.columns, ['a', 'b', 'c']);
    assert.deepEqual(rows, [{ key: 1, values: [5, 'x', 'later'] }]);
  });

  it('has texts of any encoding, and pages of any size', async () => {
    for (const pragmas of ["encoding = 'UTF-16le'", "encoding = 'UTF-16be'", 'page_size = 512', 'page_size = 65536']) {
      const { bytes } = made(
        `PRAGMA ${pragmas}`,
        'CREATE TABLE t (text TEXT)',
        `INSERT INTO t VALUES ('größer'), ('${'lang '.repeat(500)}')`,
      );
      assert.deepEqual(
        (await rowsOf(bytes, 't')).rows.map(({ values }) => values[0]),
        ['größer', 'lang '.repeat(500)],
        pragmas,
      );
    }
  });

  it('that is damaged is refused, however it is damaged', async () => {
    const { bytes } = made('CREATE TABLE t (text TEXT)', `INSERT INTO t VALUES ('${'long '.repeat(5_000)}')`);
    await assert.rejects(DatabaseFile.open(reader(Buffer.from('{"books.json": []}'))), /cannot be read/);
    await assert.rejects(rowsOf(bytes.subarray(0, bytes.length - 4096), 't'), /cannot be read/);
    const looping = Buffer.from(bytes);
    looping.fill(0, 4096, 8192);
    looping.writeUInt8(5, 4096); // an inner page without entries that names itself as the last one
    looping.writeUInt32BE(2, 4096 + 8);
    await assert.rejects(rowsOf(looping, 't'), /refer to each other/);
  });
});
