/** Poolers between a server and its database, such as PgBouncer, Odyssey, and those of managed databases. */
import pg from 'pg';
import { StudioError } from '../../common/errors.ts';

/** While others use the pooler, a client may get the same connection to the database by chance. */
const ROUNDS = 3;

/**
 * Throws `storage` if a pooler gives each transaction any connection to the database: notifications, locks of elected
 * roles, and prepared statements need one that stays.
 */
export async function requireOwnConnection(config: pg.ClientConfig, name: string): Promise<void> {
  const [client, other] = [new pg.Client(config), new pg.Client(config)];
  try {
    await connect(client);
    const own = await processOf(client);
    // A pooler tells clients a number of its own. Not in the types of the library.
    if (own === Reflect.get(client, 'processID')) return;
    await connect(other);
    for (let round = 0; round < ROUNDS; round++) {
      await other.query('BEGIN').catch((error: unknown) => {
        throw error instanceof pg.DatabaseError ? pooled(name, error) : error; // some have single statements only
      });
      if ((await processOf(other)) === own || (await processOf(client)) !== own) throw pooled(name);
      await other.query('COMMIT');
    }
  } finally {
    await Promise.all([client.end(), other.end()]);
  }
}

async function connect(client: pg.Client): Promise<void> {
  client.on('error', () => undefined); // the query that it breaks reports it
  await client.connect();
}

/** Returns the number of the process of the database that answers. */
async function processOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}

function pooled(name: string, cause?: Error): StudioError {
  return new StudioError(
    'storage',
    `The database ${name} is behind a pooler that gives each transaction another connection.`,
    {
      hint: 'Use the address of the database itself, or a pool in session mode (pool_mode = session of PgBouncer).',
      ...(cause === undefined ? {} : { cause }),
    },
  );
}
