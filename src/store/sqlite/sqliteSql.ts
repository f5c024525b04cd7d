import { type FileHandle, open } from 'node:fs/promises';
import { errorText, StudioError } from '../../common/errors.ts';
import { int } from '../sql/row.ts';
import type { Dialect, InsertMode, Reader, Row, Sql, Table, Transaction, Value } from '../sql/sql.ts';
import { Watchers } from '../sql/watchers.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import { sqliteError } from './errors.ts';
import { readOnlyError } from './readOnlySqlite.ts';

const DIALECT: Dialect = {
  kind: 'sqlite',
  forUpdate: '', // one writer at a time, always
  skipLocked: '',
  anyText: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  anyInt: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  nextIds: () => undefined,
};

/** Maximum number of writers per commit, so that no commit takes long. */
const GROUP = 256;
const SHRINK_PAGES = 2000;

interface SqliteConnections {
  /** Absent for a store that is only read. */
  readonly writer?: SqliteDatabase;
  readonly reader: SqliteDatabase;
  readonly folder: string;
  /** The write-ahead log, if `writer` does not sync it on commit. */
  readonly log?: string | undefined;
  readonly checkpoints?: Checkpoints | undefined;
  /** Opens another connection that only reads. */
  readonly another?: () => SqliteDatabase;
}

interface PendingWrite {
  readonly run: (tx: Transaction) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One connection writes, another one reads committed data. Writers that arrive in the same turn of the event loop or
 * during a commit share the next commit and its fsync (group commit); a single writer does not wait for others.
 *
 * With a write-ahead log, this class syncs commits, because SQLite (`synchronous = FULL`) would block the event loop
 * while it does. No commit is reported, and no other one starts, before the log is on disk.
 */
export class SqliteSql implements Sql {
  readonly dialect = DIALECT;
  readonly #folder: string;
  /** undefined: the store is read-only. */
  readonly #writer: Connection | undefined;
  readonly #reader: Connection;
  readonly #watchers = new Watchers();
  readonly #log: string | undefined;
  readonly #checkpoints: Checkpoints | undefined;
  #logFile: FileHandle | undefined;
  #waiting: PendingWrite[] = [];
  #urgent: PendingWrite[] = [];
  #writing: Promise<void> | undefined;
  #failure: StudioError | undefined;
  #closed = false;
  readonly #another: (() => SqliteDatabase) | undefined;
  #snapshots = 0;

  constructor({ writer, reader, folder, log, checkpoints, another }: SqliteConnections) {
    this.#folder = folder;
    this.#another = another;
    this.#log = log;
    this.#checkpoints = checkpoints;
    this.#writer = writer === undefined ? undefined : new Connection(writer);
    this.#reader = new Connection(reader);
  }

  now(): Promise<number> {
    return Promise.resolve(Date.now());
  }

  async read<T>(job: (db: Reader) => Promise<T>): Promise<T> {
    try {
      return await job(this.#reader);
    } catch (error) {
      throw sqliteError(error, this.#folder);
    }
  }

  async snapshot<T>(job: (db: Reader) => Promise<T>): Promise<T> {
    this.#snapshots += 1;
    let database: SqliteDatabase | undefined;
    try {
      if (this.#another === undefined) return await job(this.#reader); // nobody writes
      database = this.#another();
      database.exec('BEGIN');
      return await job(new Connection(database));
    } catch (error) {
      throw sqliteError(error, this.#folder);
    } finally {
      this.#snapshots -= 1;
      database?.close();
    }
  }

  isSnapshotOpen(): boolean {
    return this.#snapshots > 0;
  }

  write<T>(job: (tx: Transaction) => Promise<T>, urgent?: 'urgent'): Promise<T> {
    if (this.#closed) return Promise.reject(new StudioError('storage', `The store in ${this.#folder} is closed.`));
    if (this.#writer === undefined) return Promise.reject(readOnlyError(this.#folder));
    return new Promise<T>((resolve, reject) => {
      // `run` and `resolve` of one entry use the same type.
      (urgent === undefined ? this.#waiting : this.#urgent).push({
        run: job,
        resolve: (value) => resolve(value as T),
        reject,
      });
      this.#writing ??= this.#writeAll();
    });
  }

  watch(changed: (ids: readonly string[]) => void): () => void {
    return this.#watchers.add(changed);
  }

  /** Returns true: a folder belongs to one server. */
  elect(): Promise<boolean> {
    return Promise.resolve(!this.#closed);
  }

  /** A folder belongs to one server. */
  exclusively<T>(_key: string, work: () => Promise<T>): Promise<T> {
    return work();
  }

  async shrink(): Promise<void> {
    // A few pages at a time, so that others do not wait long.
    for (let more = true; more && !this.#closed; ) {
      more = await this.write(async (tx) => {
        const free = await tx.get('PRAGMA freelist_count');
        if (free === undefined || int(free, 'freelist_count') === 0) return false;
        await tx.all(`PRAGMA incremental_vacuum(${SHRINK_PAGES})`);
        return true;
      });
    }
    await this.#checkpoints?.idle();
    while (this.#writing !== undefined) await this.#writing; // wait until no transaction is open
    // A snapshot needs the log, and would block this for seconds.
    if (!this.#closed && this.#snapshots === 0) this.#writer?.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing;
    await this.#checkpoints?.close();
    await this.#logFile?.close();
    this.#reader.database.close();
    this.#writer?.database.close();
  }

  async #writeAll(): Promise<void> {
    // The frames a server reads in one turn of the event loop arrive one after the other: commit them together.
    await new Promise((resolve) => setImmediate(resolve));
    for (let urgent = true; this.#waiting.length > 0 || this.#urgent.length > 0; urgent = !urgent) {
      // Urgent writes get separate commits, which a large commit would delay.
      const group = (urgent ? this.#urgent : this.#waiting).splice(0, GROUP);
      if (group.length === 0) continue;
      if (!(await this.#commit(group, group.length > 1))) {
        for (const one of group) await this.#commit([one], false);
      }
      // Callers that just got their result may write more immediately: let that join the next group.
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#writing = undefined;
  }

  /** Returns false if nothing was written or reported, because each write must be retried alone. */
  async #commit(group: readonly PendingWrite[], tryAlone: boolean): Promise<boolean> {
    const changed = new Set<string>();
    const results: unknown[] = [];
    if (this.#writer === undefined) return true; // `write` accepts nothing
    const tx = new SqliteTransaction(this.#writer, changed);
    try {
      if (this.#failure !== undefined) throw this.#failure;
      tx.exec('BEGIN IMMEDIATE');
      for (const one of group) results.push(await one.run(tx));
      tx.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      if (tryAlone) return false;
      for (const one of group) one.reject(sqliteError(error, this.#folder));
      return true;
    }
    const failure = tx.wrote ? await this.#sync() : undefined;
    if (failure !== undefined) {
      for (const one of group) one.reject(failure);
      return true;
    }
    group.forEach((one, index) => one.resolve(results[index]));
    if (changed.size > 0) this.#watchers.notify([...changed]);
    if (tx.wrote && this.#checkpoints?.committed() === true) this.#copyLog();
    return true;
  }

  /** Makes commits durable. If this fails, the state of the disk is unknown, so nothing more is written. */
  async #sync(): Promise<StudioError | undefined> {
    if (this.#log === undefined) return undefined;
    try {
      this.#logFile ??= await open(this.#log, 'r+');
      await this.#logFile.datasync();
      return undefined;
    } catch (error) {
      this.#failure = new StudioError(
        'storage',
        `The disk with the store ${this.#folder} failed: ${errorText(error)}.`,
        {
          hint: 'Check the disk and its free space, then restart the server.',
          cause: error,
        },
      );
      return this.#failure;
    }
  }

  /** Copies the rest of the log into the database: few pages, in a few milliseconds. */
  #copyLog(): void {
    try {
      this.#writer?.database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The log has everything. If the disk failed, the next commit says so.
    }
  }

  #rollBack(): void {
    try {
      this.#writer?.prepare('ROLLBACK').run();
    } catch {
      // SQLite has already rolled back (disk full, I/O error), or the transaction never started.
    }
  }
}

/** A database with its prepared statements. */
class Connection implements Reader {
  readonly dialect = DIALECT;
  readonly database: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(database: SqliteDatabase) {
    this.database = database;
  }

  prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  // `async` turns what SQLite throws into a rejection.
  // oxlint-disable-next-line typescript/require-await
  async all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> {
    return this.prepare(sql).all(...values.map(bound));
  }

  // oxlint-disable-next-line typescript/require-await
  async get(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    return this.prepare(sql).get(...values.map(bound));
  }
}

class SqliteTransaction implements Transaction {
  readonly dialect = DIALECT;
  readonly now = Date.now();
  readonly #connection: Connection;
  readonly #changed: Set<string>;
  /** Whether something may have been written. */
  wrote = false;

  constructor(connection: Connection, changed: Set<string>) {
    this.#connection = connection;
    this.#changed = changed;
  }

  exec(sql: string): void {
    this.#connection.prepare(sql).run();
  }

  all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> {
    return this.#connection.all(sql, ...values);
  }

  get(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    return this.#connection.get(sql, ...values);
  }

  // oxlint-disable-next-line typescript/require-await
  async run(sql: string, ...values: readonly Value[]): Promise<number> {
    this.wrote = true;
    return Number(this.#connection.prepare(sql).run(...values.map(bound)).changes);
  }

  // oxlint-disable-next-line typescript/require-await
  async insert(
    table: Table,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    how?: InsertMode,
  ): Promise<number> {
    this.wrote ||= rows.length > 0;
    const conflict = how === 'ignore' ? ' ON CONFLICT DO NOTHING' : '';
    const statement = this.#connection.prepare(
      `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})${conflict}`,
    );
    let written = 0;
    for (const row of rows) written += Number(statement.run(...row.map(bound)).changes);
    return written;
  }

  // oxlint-disable-next-line typescript/require-await
  async update(table: Table, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void> {
    this.wrote ||= rows.length > 0;
    const [key, ...set] = columns;
    const statement = this.#connection.prepare(
      `UPDATE ${table.name} SET ${set.map((column) => `${column} = ?`).join(', ')} WHERE ${String(key)} = ?`,
    );
    for (const [id = null, ...values] of rows) statement.run(...values.map(bound), bound(id));
  }

  changed(...ids: readonly string[]): void {
    for (const id of ids) this.#changed.add(id);
  }
}

function bound(value: Value): string | number | null | Uint8Array {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) ? JSON.stringify(value) : value;
}
