/**
 * The little that both databases have in common, and all that the logic of a store knows of them. SQL is written
 * once, with `?` for values; what differs in it stands in `Dialect`.
 */

/** Lists stand for `anyText` and `anyInt` only. */
export type Value = string | number | null | Uint8Array | readonly string[] | readonly number[];
export type Row = Readonly<Record<string, unknown>>;

export type ColumnKind = 'int' | 'text' | 'bytes';
export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, ColumnKind>>;
}

export interface Dialect {
  readonly kind: 'sqlite' | 'postgres';
  /** Behind a SELECT whose rows the transaction goes on to change; `skipLocked` leaves out those another one has. */
  readonly forUpdate: string;
  readonly skipLocked: string;
  /** A condition: the text or integer column is one of a list, given as one value. */
  anyText(column: string): string;
  anyInt(column: string): string;
}

/** Reading. Rows come as plain objects; see `row.ts` for typed access. */
export interface Reader {
  readonly dialect: Dialect;
  all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]>;
  /** The first row, if there is one. */
  get(sql: string, ...values: readonly Value[]): Promise<Row | undefined>;
}

/** One transaction that writes. A job awaits nothing but this, for it may hold up all others. */
export interface Transaction extends Reader {
  /** Milliseconds since the epoch by the database's clock, when the transaction began. */
  readonly now: number;
  /** Gives how many rows it changed. */
  run(sql: string, ...values: readonly Value[]): Promise<number>;
  /** Inserts many rows; with `ignore` those that are there already are left as they are. Gives how many it wrote. */
  insert(
    table: Table,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    ignore?: 'ignore',
  ): Promise<number>;
  /** Sets columns of many rows, each found by the first of `columns`. */
  update(table: Table, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void>;
  /** Names something that changed: watchers are called with it after the commit. */
  changed(...ids: readonly string[]): void;
}

export interface Sql {
  readonly dialect: Dialect;
  now(): Promise<number>;
  /** Sees what is committed. Its statements need not see the same moment. */
  read<T>(job: (db: Reader) => Promise<T>): Promise<T>;
  /**
   * Runs `job` in a transaction and resolves once that is safely on disk. The job may run more than once (another job
   * of the same group failed, the connection was lost), so it must change nothing but the database. `urgent`: it is
   * short, and goes before others that wait.
   */
  write<T>(job: (tx: Transaction) => Promise<T>, urgent?: 'urgent'): Promise<T>;
  /** See `Store.watch`. */
  watch(changed: (ids: readonly string[]) => void): () => void;
  /** See `Store.watchOutage`. Absent of a database that is no server. */
  watchOutage?(changed: (why: unknown) => void): void;
  /** See `Store.elect`. */
  elect(role: string): Promise<boolean>;
  /** Gives disk space that was freed back, as far as the database can while it runs. */
  shrink(): Promise<void>;
  close(): Promise<void>;
}
