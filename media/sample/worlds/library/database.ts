/**
 * The tables and a journal of every change. Triggers write the journal, so no change goes unrecorded, and `diff`
 * costs nothing if nothing changed.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { WorldChange } from 'rollout-studio';

const COLUMNS = {
  members: ['id', 'name', 'address', 'card_expires'],
  books: ['id', 'title', 'author', 'year'],
  copies: ['id', 'book_id'],
  /** On loan while `returned` is null. */
  loans: ['id', 'copy_id', 'member_id', 'borrowed', 'due', 'renewals', 'returned'],
  /** status: waiting, ready (`copy_id` is on the hold shelf), fulfilled */
  holds: ['id', 'book_id', 'member_id', 'placed', 'status', 'copy_id'],
  /** Owed while `paid` is null. */
  fines: ['id', 'member_id', 'loan_id', 'reason', 'cents', 'paid'],
  journal: ['n', 'tbl', 'key', 'op', 'before', 'after'],
} as const;

type Table = keyof typeof COLUMNS;
export type Row = Record<string, string | number | null>;
/** Every row of every table: the whole library as plain JSON. */
export type Rows = Record<Table, Row[]>;

const TABLES = Object.keys(COLUMNS) as Table[];
/** The desk never changes the other tables. */
const JOURNALED: readonly Table[] = ['loans', 'holds', 'fines'];

const SCHEMA = `
  ${TABLES.map((table) => `CREATE TABLE ${table} (${COLUMNS[table].map((column, i) => column + (i > 0 ? '' : column === 'n' ? ' INTEGER PRIMARY KEY' : ' TEXT PRIMARY KEY')).join(', ')});`).join('\n')}
  CREATE INDEX copies_of ON copies (book_id);
  CREATE INDEX loans_by ON loans (member_id);
  CREATE INDEX loans_of ON loans (copy_id);`;
const TRIGGERS = JOURNALED.map(triggers).join('\n');

function triggers(table: Table): string {
  const json = (row: 'old' | 'new'): string => `json_object(${COLUMNS[table].map((column) => `'${column}', ${row}.${column}`).join(', ')})`;
  const trigger = (op: string, key: 'old' | 'new', before: string, after: string): string =>
    `CREATE TRIGGER ${table}_${op} AFTER ${op} ON ${table} BEGIN
       INSERT INTO journal (tbl, key, op, before, after) VALUES ('${table}', ${key}.id, '${op}', ${before}, ${after});
     END;`;
  return [
    trigger('insert', 'new', 'NULL', json('new')),
    trigger('update', 'new', json('old'), json('new')),
    trigger('delete', 'old', json('old'), 'NULL'),
  ].join('\n');
}

export class Database {
  readonly #db = new DatabaseSync(':memory:');
  readonly #statements = new Map<string, StatementSync>();
  /** Number of the last journal entry that `newChanges` returned. */
  #reported: number;

  constructor(rows: Rows) {
    this.#db.exec(`BEGIN; ${SCHEMA}`);
    for (const table of TABLES) {
      for (const row of rows[table]) this.#insertRow(table, row);
    }
    this.#db.exec(`COMMIT; ${TRIGGERS}`); // after the rows, because initial rows are not changes
    this.#reported = rows.journal.length;
  }

  /** Returns all rows of a query. */
  all<T extends Row>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#prepare(sql).all(...values) as T[]; // the caller names the columns it selects
  }

  /** Returns the first row of a query. */
  get<T extends Row>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#prepare(sql).get(...values) as T | undefined;
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.#prepare(sql).run(...values);
  }

  /** Adds a row under the next free id of its table and returns the id: `L-3101` → `L-3102`. */
  insert(table: 'loans' | 'holds' | 'fines', row: Row): string {
    const last = this.get<{ id: string }>(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 1`)?.id ?? '';
    const id = last.replace(/\d+$/, (digits) => String(Number(digits) + 1));
    this.#insertRow(table, { ...row, id });
    return id;
  }

  /** Runs the steps in a transaction: if one throws, all are undone. */
  atomically<T>(steps: () => T): T {
    this.#db.exec('BEGIN');
    try {
      const result = steps();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /** Returns everything that changed since the library opened, in order. */
  changes(): WorldChange[] {
    return this.#journalAfter(0);
  }

  /** Returns what changed since the last call. */
  newChanges(): WorldChange[] {
    const changes = this.#journalAfter(this.#reported);
    this.#reported += changes.length;
    return changes;
  }

  dump(): Rows {
    return Object.fromEntries(TABLES.map((table) => [table, this.all(`SELECT * FROM ${table}`)])) as Rows;
  }

  close(): void {
    this.#db.close();
  }

  #journalAfter(n: number): WorldChange[] {
    type Entry = { tbl: string; key: string; op: WorldChange['op']; before: string | null; after: string | null };
    return this.all<Entry>('SELECT tbl, key, op, before, after FROM journal WHERE n > ? ORDER BY n', n).map(({ tbl, key, op, before, after }) => ({
      table: tbl, key, op,
      ...(before === null ? {} : { before: JSON.parse(before) as Row }),
      ...(after === null ? {} : { after: JSON.parse(after) as Row }),
    }));
  }

  #insertRow(table: Table, row: Row): void {
    const columns = COLUMNS[table];
    const sql = `INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`;
    this.run(sql, ...columns.map((column) => row[column] ?? null));
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
