/**
 * Marks in the database which transaction each connection committed last, in the transaction itself: after a broken
 * connection or a crash, the mark is there if and only if the transaction is. One row for each connection, updated in
 * place, and sent together with the commit.
 */
import { randomBytes } from 'node:crypto';

/** Creates the table, and removes rows of connections that ended long ago. */
export const COMMITS_TABLE = [
  // With room in each page, so that updates stay in it.
  'CREATE TABLE IF NOT EXISTS commits (connection TEXT NOT NULL PRIMARY KEY, commits BIGINT NOT NULL, ' +
    'at TIMESTAMPTZ NOT NULL) WITH (fillfactor = 20)',
  "DELETE FROM commits WHERE at < now() - interval '1 day'",
] as const;

/** The mark of one transaction. */
export interface Marker {
  /** Number of the transaction on its connection. */
  readonly commits: number;
  /** Sets the mark. */
  readonly write: string;
  /** Reads the number of the connection's last committed transaction. */
  readonly read: readonly [sql: string, connection: string];
}

export class CommitMarkers {
  /** Differs for each process and each store that it opens. */
  readonly #owner = randomBytes(8).toString('hex');
  readonly #connections = new WeakMap<object, { readonly name: string; commits: number }>();
  #count = 0;

  /** Returns the mark of the next transaction on a connection. */
  next(client: object): Marker {
    let connection = this.#connections.get(client);
    if (connection === undefined) {
      connection = { name: `${this.#owner}-${++this.#count}`, commits: 0 };
      this.#connections.set(client, connection);
    }
    const { name } = connection;
    const commits = ++connection.commits;
    return {
      commits,
      // Without parameters, so that it is sent together with the commit.
      write:
        `INSERT INTO commits (connection, commits, at) VALUES ('${name}', ${commits}, now()) ` +
        'ON CONFLICT (connection) DO UPDATE SET commits = excluded.commits, at = excluded.at',
      read: ['SELECT commits FROM commits WHERE connection = ?', name],
    };
  }
}
