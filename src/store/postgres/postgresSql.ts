import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { int, text } from '../sql/row.ts';
import type { Dialect, InsertMode, Reader, Row, Sql, Table, Transaction, Value } from '../sql/sql.ts';
import { Watchers } from '../sql/watchers.ts';
import { CommitMarkers, type Marker } from './commitMarkers.ts';
import { isCollision, isLost, isUnknownTransaction, postgresError } from './errors.ts';
import { CHANNEL, Listener } from './listener.ts';
import { requireOwnConnection } from './pooler.ts';
import { insertStatement, ROWS_AT_ONCE, statement, updateStatement } from './statements.ts';

const DIALECT: Dialect = {
  kind: 'postgres',
  forUpdate: ' FOR UPDATE',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  anyText: (column) => `${column} = ANY(?::text[])`,
  anyInt: (column) => `${column} = ANY(?::bigint[])`,
  nextIds: (table) =>
    `SELECT setval(pg_get_serial_sequence('${SCHEMA}.${table}', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM ` +
    `${table}), false)`,
};

export const SCHEMA = 'rollout_studio';
/** Poolers refuse, or ignore, such options of a connection. */
const SETTINGS = `SET search_path = ${SCHEMA}; SET synchronous_commit = on`;
const CONNECTIONS = 8;
/** How long a call waits for an unreachable database before it fails. */
const PATIENCE_MS = 10_000;
const FIRST_WAIT_MS = 20;
const MAX_WAIT_MS = 500;
const COLLISIONS = 10;
/** How long work waits for the same work of another server. */
const LOCK_MS = 20_000;
const LOCK_POLL_MS = 50;
/** Rows a table must grow by before its statistics are updated. */
const GROWTH = 5000;
/** A payload has at most 8,000 bytes. */
const PAYLOAD = 7500;
const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const BEGIN = `BEGIN; SELECT pg_current_xact_id()::text AS xid, ${CLOCK} AS now`;

const INT8 = 20;
const NUMERIC = 1700;
/** All integers of a store fit into a number; sums have the type `numeric`. */
const types = new pg.TypeOverrides();
types.setTypeParser(INT8, Number);
types.setTypeParser(NUMERIC, Number);

/**
 * A pool of connections. Replaces broken ones and retries their work: reads always, a transaction only if the database
 * confirms that it did not commit.
 */
export class PostgresSql implements Sql {
  readonly dialect = DIALECT;
  readonly #name: string;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #listener: Listener;
  readonly #watchers = new Watchers();
  readonly #markers = new CommitMarkers();
  /** Identifies our own notifications, which were already delivered to the watchers. */
  readonly #self = randomBytes(6).toString('hex');
  readonly #growth = new Map<string, { rows: number; analyzed: number }>();
  #outage: ((why: unknown) => void) | undefined;
  #closed = false;
  #snapshots = 0;

  constructor(url: string, name: string) {
    this.#name = name;
    const config: pg.ClientConfig = {
      connectionString: url,
      application_name: 'rollout-studio',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: 5000,
      types,
    };
    this.#config = config;
    this.#pool = new pg.Pool({
      ...config,
      max: CONNECTIONS,
      // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it
      onConnect: (client) => client.query(SETTINGS),
    });
    this.#pool.on('error', () => undefined); // an idle connection broke; the pool has dropped it
    this.#listener = new Listener(
      config,
      (payload) => this.#notified(payload),
      () => this.#watchers.notify([]),
      (why) => this.#outage?.(why === undefined ? undefined : postgresError(why, name)),
    );
  }

  /** Opens the first connection, and fails immediately if the database is not available. */
  async open(): Promise<void> {
    try {
      await requireOwnConnection(this.#config, this.#name);
      await this.#listener.open();
    } catch (error) {
      throw postgresError(error, this.#name);
    }
  }

  async now(): Promise<number> {
    return this.read(async (db) => int((await db.get(`SELECT ${CLOCK} AS now`)) ?? {}, 'now'));
  }

  read<T>(job: (db: Reader) => Promise<T>): Promise<T> {
    return this.#withRetries(() => this.#withConnection((client) => job(new Connection(client))));
  }

  async snapshot<T>(job: (db: Reader) => Promise<T>): Promise<T> {
    this.#snapshots += 1;
    try {
      return await this.#withConnection(async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        try {
          return await job(new Connection(client));
        } finally {
          await client.query('ROLLBACK').catch(() => undefined); // the connection is lost
        }
      });
    } catch (error) {
      throw postgresError(error, this.#name);
    } finally {
      this.#snapshots -= 1;
    }
  }

  isSnapshotOpen(): boolean {
    return this.#snapshots > 0;
  }

  async write<T>(job: (tx: Transaction) => Promise<T>): Promise<T> {
    let uncertain: UncertainCommit<T> | undefined;
    return this.#withRetries(async () => {
      // The connection broke during the commit: only the database knows whether it succeeded.
      if (uncertain !== undefined && (await this.#committed(uncertain))) return this.#done(uncertain);
      uncertain = undefined;
      return this.#withConnection(async (client) => {
        const started = firstRow(await client.query(BEGIN));
        const changed = new Set<string>();
        const inserted = new Map<string, number>();
        const tx = new PostgresTransaction(client, int(started, 'now'), changed, inserted);
        const marker = this.#markers.next(client);
        let result: T;
        try {
          result = await job(tx);
          await this.#notify(tx, [...changed]);
        } catch (error) {
          await client.query('ROLLBACK');
          throw error;
        }
        // One that wrote nothing can be repeated.
        if (tx.wrote) uncertain = { xid: text(started, 'xid'), marker, result, changed, inserted };
        await client.query(tx.wrote ? `${marker.write}; COMMIT` : 'COMMIT');
        return this.#done({ result, changed, inserted });
      });
    });
  }

  watch(changed: (ids: readonly string[]) => void): () => void {
    return this.#watchers.add(changed);
  }

  watchOutage(changed: (why: unknown) => void): void {
    this.#outage = changed;
  }

  elect(role: string): Promise<boolean> {
    return this.#listener.elect(role);
  }

  async exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
    for (const until = performance.now() + LOCK_MS; ; ) {
      const release = await this.#listener.lock(key);
      if (release !== undefined) {
        try {
          return await work();
        } finally {
          await release();
        }
      }
      if (this.#closed || performance.now() > until)
        throw new StudioError('unavailable', `Another server has been working on the same for ${LOCK_MS / 1000} s.`, {
          hint: 'Try again.',
        });
      await sleep(LOCK_POLL_MS);
    }
  }

  /** Does nothing: PostgreSQL does this automatically. */
  shrink(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#listener.close();
    await this.#pool.end();
  }

  #done<T>({ result, changed, inserted }: Pick<UncertainCommit<T>, 'result' | 'changed' | 'inserted'>): T {
    if (changed.size > 0) this.#watchers.notify([...changed]);
    for (const [table, rows] of inserted) this.#grown(table, rows);
    return result;
  }

  /**
   * Updates the statistics of a table that has just grown. Autovacuum does it only a minute later; until then the
   * planner would sort 200,000 queued rollouts to take the first 64, although there is an index in that order.
   */
  #grown(table: string, rows: number): void {
    const growth = this.#growth.get(table) ?? { rows: 0, analyzed: 0 };
    this.#growth.set(table, growth);
    growth.rows += rows;
    if (growth.rows - growth.analyzed < Math.max(GROWTH, growth.analyzed * 0.5)) return;
    growth.analyzed = growth.rows;
    // autovacuum does it later
    void this.#withConnection((client) => client.query(`ANALYZE ${table}`)).catch(() => undefined);
  }

  async #notify(tx: Transaction, ids: readonly string[]): Promise<void> {
    let payload = this.#self;
    const payloads: string[] = [];
    for (const id of ids) {
      if (payload.length + id.length + 1 > PAYLOAD) {
        payloads.push(payload);
        payload = this.#self;
      }
      payload += ` ${id}`;
    }
    if (ids.length > 0) payloads.push(payload);
    for (const one of payloads) await tx.all('SELECT pg_notify(?, ?)', CHANNEL, one);
  }

  #notified(payload: string): void {
    const [from, ...ids] = payload.split(' ');
    if (from !== this.#self) this.#watchers.notify(ids);
  }

  /** Returns whether a transaction committed, as soon as it has ended. */
  async #committed({ xid, marker }: Pick<UncertainCommit<unknown>, 'xid' | 'marker'>): Promise<boolean> {
    for (let wait = FIRST_WAIT_MS; ; wait *= 2) {
      const row = await this.#withConnection((client) =>
        new Connection(client).get('SELECT pg_xact_status(?::xid8) AS status', xid),
      ).catch((error: unknown) => {
        if (isUnknownTransaction(error)) return undefined; // lost in a crash
        throw error;
      });
      if (row?.['status'] !== 'in progress') break;
      await pause(wait); // the database has not noticed the broken connection yet
    }
    // Its ID alone does not tell: after a crash, another transaction may have got and committed the same one.
    const row = await this.#withConnection((client) => new Connection(client).get(...marker.read));
    return row !== undefined && int(row, 'commits') === marker.commits;
  }

  async #withConnection<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StudioError('storage', `The store ${this.#name} is closed.`);
    const client = await this.#pool.connect();
    let broken = false;
    const markBroken = (): void => {
      broken = true;
    };
    client.on('error', markBroken);
    try {
      return await use(client);
    } catch (error) {
      broken ||= isLost(error);
      throw error;
    } finally {
      client.off('error', markBroken);
      client.release(broken);
    }
  }

  /** Retries work when the connection broke (for a while), or when another transaction conflicted. */
  async #withRetries<T>(work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    let wait = FIRST_WAIT_MS;
    for (let collisions = 0; ; ) {
      try {
        return await work();
      } catch (error) {
        const shouldRetry = isCollision(error)
          ? ++collisions <= COLLISIONS
          : isLost(error) && performance.now() - start < PATIENCE_MS;
        if (!shouldRetry || this.#closed) throw postgresError(error, this.#name);
        await pause(wait);
        wait = Math.min(wait * 2, MAX_WAIT_MS);
      }
    }
  }
}

interface UncertainCommit<T> {
  readonly xid: string;
  readonly marker: Marker;
  readonly result: T;
  readonly changed: ReadonlySet<string>;
  readonly inserted: ReadonlyMap<string, number>;
}

class Connection implements Reader {
  readonly dialect = DIALECT;
  protected readonly client: pg.PoolClient;

  constructor(client: pg.PoolClient) {
    this.client = client;
  }

  async all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> {
    return (await this.client.query<Row>(statement(sql, values))).rows;
  }

  async get(sql: string, ...values: readonly Value[]): Promise<Row | undefined> {
    return (await this.all(sql, ...values))[0];
  }
}

class PostgresTransaction extends Connection implements Transaction {
  readonly now: number;
  /** Whether it changed anything. */
  wrote = false;
  readonly #changed: Set<string>;
  readonly #inserted: Map<string, number>;

  constructor(client: pg.PoolClient, now: number, changed: Set<string>, inserted: Map<string, number>) {
    super(client);
    this.now = now;
    this.#changed = changed;
    this.#inserted = inserted;
  }

  override all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> {
    if (!sql.startsWith('SELECT')) this.wrote = true; // with RETURNING
    return super.all(sql, ...values);
  }

  async run(sql: string, ...values: readonly Value[]): Promise<number> {
    this.wrote = true;
    return (await this.client.query(statement(sql, values))).rowCount ?? 0;
  }

  async insert(
    table: Table,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    how?: InsertMode,
  ): Promise<number> {
    this.wrote = true;
    let written = 0;
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const some = rows.slice(at, at + ROWS_AT_ONCE);
      written += (await this.client.query(insertStatement(table, columns, some, how))).rowCount ?? 0;
    }
    this.#inserted.set(table.name, (this.#inserted.get(table.name) ?? 0) + written);
    return written;
  }

  async update(table: Table, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void> {
    this.wrote = true;
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      await this.client.query(updateStatement(table, columns, rows.slice(at, at + ROWS_AT_ONCE)));
    }
  }

  changed(...ids: readonly string[]): void {
    for (const id of ids) this.#changed.add(id);
  }
}

/** Returns the row of the last of several statements: node-postgres then returns a list, contrary to its types. */
function firstRow(results: unknown): Row {
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  const rows: unknown = typeof last === 'object' && last !== null ? Reflect.get(last, 'rows') : undefined;
  return Array.isArray(rows) ? (rows[0] as Row) : {}; // node-postgres makes rows of objects
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
