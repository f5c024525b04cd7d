import pg from 'pg';
import { isLost } from './errors.ts';

export const CHANNEL = 'rollout_studio';
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 2000;
/** First halves of the keys of our advisory locks: of roles, and of short work. */
const LOCKS = 0x524f4c;
const WORK_LOCKS = 0x524f4d;

/**
 * The permanent connection, for notifications and the locks of elected roles. It reconnects automatically and then
 * calls `missed`, since notifications may have been lost. `outage` gets the reason while it cannot reconnect, and
 * undefined when it is back.
 */
export class Listener {
  readonly #config: pg.ClientConfig;
  readonly #onNotification: (payload: string) => void;
  readonly #onMissed: () => void;
  readonly #onOutage: (why: unknown) => void;
  #isUnreachable = false;
  readonly #roles = new Set<string>();
  /** A connection may take its own locks again, so it has to remember them. */
  readonly #locks = new Set<string>();
  #client: pg.Client | undefined;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    config: pg.ClientConfig,
    notified: (payload: string) => void,
    missed: () => void,
    outage: (why: unknown) => void,
  ) {
    this.#config = config;
    this.#onNotification = notified;
    this.#onMissed = missed;
    this.#onOutage = outage;
  }

  /** Connects. Throws when the first connection fails. */
  async open(): Promise<void> {
    const client = new pg.Client(this.#config);
    // A broken connection emits both events, in either order; handle the first.
    client.once('error', () => this.#handleLoss(client));
    client.once('end', () => this.#handleLoss(client));
    client.on('notification', ({ payload }) => this.#onNotification(payload ?? ''));
    await client.connect();
    await client.query(`LISTEN ${CHANNEL}`);
    if (this.#closed) {
      await client.end();
      return;
    }
    this.#client = client;
  }

  /** Returns whether this process has the role, or has just acquired it. */
  async elect(role: string): Promise<boolean> {
    const client = this.#client;
    if (client === undefined) return false;
    try {
      if (this.#roles.has(role)) {
        await client.query('SELECT 1'); // a lock is only as good as its connection
        return this.#client === client;
      }
      const { rows } = await client.query<{ won: boolean }>('SELECT pg_try_advisory_lock($1, hashtext($2)) AS won', [
        LOCKS,
        role,
      ]);
      const won = rows[0]?.won === true && this.#client === client;
      if (won) this.#roles.add(role);
      return won;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#handleLoss(client);
      return false;
    }
  }

  /**
   * Takes a lock that ends with the connection at the latest. Returns the function that releases it; undefined if
   * somebody else has it, or the database is unreachable.
   */
  async lock(key: string): Promise<(() => Promise<void>) | undefined> {
    const client = this.#client;
    if (client === undefined || this.#locks.has(key)) return undefined;
    this.#locks.add(key);
    let won = false;
    try {
      const { rows } = await client.query<{ won: boolean }>('SELECT pg_try_advisory_lock($1, hashtext($2)) AS won', [
        WORK_LOCKS,
        key,
      ]);
      won = rows[0]?.won === true && this.#client === client;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#handleLoss(client);
    } finally {
      if (!won) this.#locks.delete(key);
    }
    return won ? () => this.#unlock(client, key) : undefined;
  }

  async #unlock(client: pg.Client, key: string): Promise<void> {
    this.#locks.delete(key);
    try {
      await client.query('SELECT pg_advisory_unlock($1, hashtext($2))', [WORK_LOCKS, key]);
    } catch (error) {
      // It ended with its connection.
      if (!isLost(error)) throw error;
      this.#handleLoss(client);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  #handleLoss(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#roles.clear();
    void client.end().catch(() => undefined); // it is already broken
    this.#reconnect(FIRST_WAIT_MS);
  }

  #reconnect(wait: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.open().then(
        () => {
          if (this.#isUnreachable) this.#onOutage(undefined);
          this.#isUnreachable = false;
          this.#onMissed();
        },
        (error: unknown) => {
          if (!this.#isUnreachable && !this.#closed) this.#onOutage(error);
          this.#isUnreachable = true;
          this.#reconnect(Math.min(wait * 2, MAX_WAIT_MS));
        },
      );
    }, wait);
    this.#timer.unref();
  }
}
