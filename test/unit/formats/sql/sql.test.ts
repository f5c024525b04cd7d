import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTable } from '../../../../src/formats/sql/ddl.ts';
import { insertedRows } from '../../../../src/formats/sql/rows.ts';

const LOANS = `CREATE TABLE IF NOT EXISTS "loans" (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- of the loan
  book_id INTEGER NOT NULL REFERENCES books(id) ON DELETE CASCADE,
  "member id" TEXT NOT NULL,
  fee DECIMAL(10, 2) DEFAULT -1.5 CHECK (fee > -2, 'a)'),
  state TEXT DEFAULT 'open' /* or, 'closed' */,
  at TEXT DEFAULT (datetime('now')),
  FOREIGN KEY ("member id") REFERENCES members,
  CONSTRAINT pair FOREIGN KEY (book_id, state) REFERENCES states (book, name)
)`;

describe('a table as SQL creates it', () => {
  it('has columns with types and keys, and foreign keys of columns and of the table', () => {
    const table = parseTable(LOANS);
    assert.deepEqual(
      table?.columns.map(({ name, type, isKey, isRequired }) => [name, type, isKey, isRequired]),
      [
        ['id', 'INTEGER', true, true],
        ['book_id', 'INTEGER', false, true],
        ['member id', 'TEXT', false, true],
        ['fee', 'DECIMAL(10, 2)', false, false],
        ['state', 'TEXT', false, false],
        ['at', 'TEXT', false, false],
      ],
    );
    assert.equal(table.name, 'loans');
    assert.deepEqual(table.foreignKeys, [
      { columns: ['book_id'], table: 'books', references: ['id'] },
      { columns: ['member id'], table: 'members', references: [] },
      { columns: ['book_id', 'state'], table: 'states', references: ['book', 'name'] },
    ]);
  });
  it('may have a key of several columns', () => {
    const columns = parseTable('CREATE TABLE t (a INT, `b` INT, PRIMARY KEY (A, b))')?.columns;
    assert.deepEqual(
      columns?.map(({ isKey }) => isKey),
      [true, true],
    );
  });
  it('is not in other texts', () => {
    for (const text of ['', 'CREATE INDEX i ON t (a)', 'CREATE TABLE t', 'SELECT (1)'])
      assert.equal(parseTable(text), undefined, text);
  });
});

describe('rows that SQL inserts', () => {
  const table = parseTable(LOANS);
  const rows = (...statements: string[]) => {
    assert.ok(table !== undefined);
    return insertedRows(table, statements);
  };
  it('have numbers, texts, null, defaults, and keys that count up', () => {
    const { rows: found, unread } = rows(
      `INSERT INTO loans (book_id, "member id") VALUES (3, 'O''Neill; (a, b)'), (4, NULL);`,
      'INSERT OR REPLACE INTO loans VALUES (9, -2, true, 1e3, NULL, datetime(\'now\', "-3 days"))',
      "INSERT INTO loans (book_id, state) VALUES (5, 'closed') -- the last",
    );
    const now = { sql: "datetime ( 'now' )" };
    assert.deepEqual(found, [
      [1, 3, "O'Neill; (a, b)", -1.5, 'open', now],
      [2, 4, null, -1.5, 'open', now],
      [9, -2, 1, 1000, null, { sql: 'datetime(\'now\', "-3 days")' }],
      [10, 5, null, -1.5, 'closed', now],
    ]);
    assert.deepEqual(unread, []);
  });
  it('are as many as can be read', () => {
    const { rows: found, unread } = rows(
      'INSERT INTO loans SELECT * FROM old',
      'UPDATE loans',
      "INSERT INTO loans (state) VALUES ('a",
    );
    assert.deepEqual([found.length, unread], [1, [0, 1]]);
  });
});
