/**
 * The interface of both databases for the logic of a store. SQL is written once, with `?` for values; differences are
 * in `Dialect`.
 */

/** Lists are only for `anyText` and `anyInt`. */
export type Value = string | number | null | Uint8Array | readonly string[] | readonly number[];
export type Row = Readonly<Record<string, unknown>>;

export type ColumnKind = 'int' | 'text' | 'bytes';
export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnKind>>;
}

export interface Dialect {
  readonly kind: 'sqlite' | 'postgres';
  /** Suffix of a SELECT whose rows the transaction will change; `skipLocked` skips rows locked by another one. */
  readonly forUpdate: string;
  readonly skipLocked: string;
  /** Returns a condition: the text or integer column is in a list, which is one value. */
  anyText(column: string): string;
  anyInt(column: string): string;
  /** Returns the statement after which a table with inserted IDs assigns larger ones; undefined if it does anyway. */
  nextIds(table: string): string | undefined;
}

/** Reads rows as plain objects; see `row.ts` for typed access. */
export interface Reader {
  readonly dialect: Dialect;
  all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]>;
  /** Returns the first row, if there is one. */
  get(sql: string, ...values: readonly Value[]): Promise<Row | undefined>;
}

/** A write transaction. A job may await nothing else, because it can block all others. */
export interface Transaction extends Reader {
  /** Milliseconds since the epoch by the database's clock, when the transaction began. */
  readonly now: number;
  /** Runs a statement. Returns the number of changed rows. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
  /**
   * Inserts many rows; with `ignore`, skips existing ones; with `ids`, `columns` may contain an ID that the database
   * usually assigns. Returns the number of inserted rows.
   */
  insert(
    table: Table,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    how?: InsertMode,
  ): Promise<number>;
  /** Updates columns of many rows, identified by the first of `columns`. */
  update(table: Table, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void>;
  /** Notifies watchers of changed IDs after the commit. */
  changed(...ids: readonly string[]): void;
}

export type InsertMode = 'ignore' | 'ids';

export interface Sql {
  readonly dialect: Dialect;
  now(): Promise<number>;
  /** Reads committed data. Its statements may see different states. */
  read<T>(job: (db: Reader) => Promise<T>): Promise<T>;
  /**
   * Reads one state of the data, however long it takes, on a connection of its own. Fails when that is lost. The job
   * yields between its statements.
   */
  snapshot<T>(job: (db: Reader) => Promise<T>): Promise<T>;
  /** Whether a snapshot of this process is being read. */
  isSnapshotOpen(): boolean;
  /**
   * Runs `job` in a transaction and resolves once it is safely on disk. The job may run more than once (another job
   * of the same group failed, the connection was lost), so it must change nothing but the database. `urgent`: it is
   * short, and goes before others that wait.
   */
  write<T>(job: (tx: Transaction) => Promise<T>, urgent?: 'urgent'): Promise<T>;
  /** See `Store.watch`. */
  watch(changed: (ids: readonly string[]) => void): () => void;
  /** See `Store.watchOutage`. Absent if the database is not a server. */
  watchOutage?(changed: (why: unknown) => void): void;
  /** See `Store.elect`. */
  elect(role: string): Promise<boolean>;
  /** See `Store.exclusively`. */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Returns freed disk space, as far as the database can while running. */
  shrink(): Promise<void>;
  close(): Promise<void>;
}
