/**
 * Batches whose calls are looked at: each read once, followed while it runs and somebody looks. Knows nothing of VS
 * Code.
 */

import type { Connection } from '../../../client/connect.ts';
import { subscribe } from '../../../client/subscribe.ts';
import { BatchCalls } from '../../../client/toolCalls/batchCalls.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { FollowHandlers } from '../../../protocol/follow.ts';
import type { ServerLink } from '../../services.ts';

/** Batches that are kept in memory. */
const KEPT = 4;

/** Follows the rows of a batch from the beginning, as `subscribe` does. */
export type FollowBatch = (
  connection: Connection,
  row: BatchRow,
  handlers: Required<Pick<FollowHandlers, 'rows' | 'head'>>,
  signal: AbortSignal,
) => Promise<void>;

export const followBatch: FollowBatch = (connection, row, handlers, signal) =>
  subscribe(connection, { stream: row.batch, after: row.last, afterRev: 0 }, handlers, signal);

export interface OpenBatchesPorts {
  readonly follow: FollowBatch;
  readonly server: Pick<ServerLink, 'connection'>;
  /** The row as the list knows it now. */
  readonly row: (batch: string) => BatchRow | undefined;
  readonly changed: () => void;
  readonly log: (text: string) => void;
}

interface OpenBatch {
  /** Resolves when it was read for the first time. */
  readonly ready: Promise<BatchCalls>;
  readonly stop: AbortController;
  /** Revision of the rows that came. */
  rev: number;
  following: boolean;
}

export class OpenBatches {
  readonly #ports: OpenBatchesPorts;
  /** The one that was asked for last comes last. */
  readonly #kept = new Map<string, OpenBatch>();

  constructor(ports: OpenBatchesPorts) {
    this.#ports = ports;
  }

  /** The calls of a batch, once they were read. Rejects when they cannot be. */
  async open(row: BatchRow): Promise<BatchCalls> {
    let kept = this.#kept.get(row.batch);
    if (kept !== undefined && !kept.following && kept.rev < row.rev) {
      this.#drop(row.batch); // it was lost, or went on after its end
      kept = undefined;
    }
    kept ??= this.#begin(row);
    this.#kept.delete(row.batch);
    this.#kept.set(row.batch, kept);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > KEPT) this.#drop(oldest);
    return kept.ready;
  }

  /** Nobody looks: what is still followed is let go, what is over stays known. */
  rest(): void {
    for (const [batch, { following }] of [...this.#kept]) if (following) this.#drop(batch);
  }

  /** Forgets all: the store is another one. */
  clear(): void {
    for (const batch of [...this.#kept.keys()]) this.#drop(batch);
  }

  #drop(batch: string): void {
    this.#kept.get(batch)?.stop.abort();
    this.#kept.delete(batch);
  }

  #begin(row: BatchRow): OpenBatch {
    const first = Promise.withResolvers<BatchCalls>();
    const kept: OpenBatch = { stop: new AbortController(), ready: first.promise, rev: 0, following: true };
    this.#kept.set(row.batch, kept);
    this.#follow(row, kept, first.resolve)
      .catch((error: unknown) => {
        if (this.#kept.get(row.batch) === kept) this.#kept.delete(row.batch);
        if (!kept.stop.signal.aborted)
          this.#ports.log(`The calls of batch ${row.batch} are not followed: ${errorText(error)}`);
        first.reject(error);
      })
      .finally(() => {
        kept.following = false;
        first.reject(new StudioError('cancelled', 'Nobody looks at this batch any more.')); // nothing, when it was read
      });
    first.promise.catch(() => undefined); // told to whoever asked
    return kept;
  }

  async #follow(row: BatchRow, kept: OpenBatch, ready: (calls: BatchCalls) => void): Promise<void> {
    const { signal } = kept.stop;
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
              kept.rev = rev;
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
      return now.state === 'ended' && kept.rev >= now.rev;
    }, signal);
  }
}
