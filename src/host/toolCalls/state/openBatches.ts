/**
 * Keeps the batches whose calls are visible: reads each once and follows it while it is running. Does not depend on VS
 * Code.
 */

import type { Connection } from '../../../client/connect.ts';
import { subscribe } from '../../../client/subscribe.ts';
import { BatchCalls } from '../../../client/toolCalls/batchCalls.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { FollowHandlers } from '../../../protocol/follow.ts';
import type { ServerLink } from '../../services.ts';

/** Maximum number of batches in memory. */
const MAX_OPEN = 4;

/** Follows the rows of a batch from the beginning, like `subscribe`. */
export type FollowBatch = (
  connection: Connection,
  row: BatchRow,
  handlers: Required<Pick<FollowHandlers, 'rows' | 'head'>>,
  signal: AbortSignal,
) => Promise<void>;

export const followBatch: FollowBatch = (connection, row, handlers, signal) =>
  subscribe(connection, { stream: row.batch, after: row.last, afterRev: 0 }, handlers, signal);

interface OpenBatchesPorts {
  readonly follow: FollowBatch;
  readonly server: Pick<ServerLink, 'connection'>;
  /** Returns the current row in the list. */
  readonly row: (batch: string) => BatchRow | undefined;
  readonly changed: () => void;
  readonly log: (text: string) => void;
}

interface OpenBatch {
  /** Resolves after the first read. */
  readonly ready: Promise<BatchCalls>;
  readonly stop: AbortController;
  /** Revision of the received rows. */
  rev: number;
  following: boolean;
}

export class OpenBatches {
  readonly #ports: OpenBatchesPorts;
  /** Open batches, most recently used last. */
  readonly #open = new Map<string, OpenBatch>();

  constructor(ports: OpenBatchesPorts) {
    this.#ports = ports;
  }

  /** Returns the calls of a batch after they were read. Rejects if they cannot be read. */
  async open(row: BatchRow): Promise<BatchCalls> {
    let open = this.#open.get(row.batch);
    if (open !== undefined && !open.following && open.rev < row.rev) {
      this.#close(row.batch); // the connection was lost, or the batch continued after its end
      open = undefined;
    }
    open ??= this.#start(row);
    this.#open.delete(row.batch);
    this.#open.set(row.batch, open);
    for (const oldest of this.#open.keys()) if (this.#open.size > MAX_OPEN) this.#close(oldest);
    return open.ready;
  }

  /** Stops following running batches but keeps ended ones. */
  stopFollowing(): void {
    for (const [batch, { following }] of [...this.#open]) if (following) this.#close(batch);
  }

  /** Drops all batches after the store changed. */
  clear(): void {
    for (const batch of [...this.#open.keys()]) this.#close(batch);
  }

  #close(batch: string): void {
    this.#open.get(batch)?.stop.abort();
    this.#open.delete(batch);
  }

  #start(row: BatchRow): OpenBatch {
    const first = Promise.withResolvers<BatchCalls>();
    const open: OpenBatch = { stop: new AbortController(), ready: first.promise, rev: 0, following: true };
    this.#open.set(row.batch, open);
    this.#follow(row, open, first.resolve)
      .catch((error: unknown) => {
        if (this.#open.get(row.batch) === open) this.#open.delete(row.batch);
        if (!open.stop.signal.aborted)
          this.#ports.log(`Cannot follow the calls of batch ${row.batch}: ${errorText(error)}`);
        first.reject(error);
      })
      .finally(() => {
        open.following = false;
        first.reject(new StudioError('cancelled', 'The batch is no longer open.')); // no effect if it was read
      });
    first.promise.catch(() => undefined); // callers handle it
    return open;
  }

  async #follow(row: BatchRow, open: OpenBatch, ready: (calls: BatchCalls) => void): Promise<void> {
    const { signal } = open.stop;
    const connection = await this.#ports.server.connection({ start: false, signal });
    const calls = new BatchCalls(row.batch, {
      api: connection.api,
      follow: (handlers, stop) =>
        this.#ports.follow(
          connection,
          row,
          {
            ...handlers,
            rows: async (rows, rev) => {
              open.rev = rev;
              await handlers.rows(rows, rev);
            },
          },
          stop,
        ),
    });
    calls.changed(() => {
      ready(calls);
      this.#ports.changed();
    });
    await calls.follow(() => {
      const now = this.#ports.row(row.batch) ?? row;
      return now.state === 'ended' && open.rev >= now.rev;
    }, signal);
  }
}
