/**
 * One client's subscription to a rollout's stream: reads on from its cursor as fast as the client acknowledges.
 * There is no live mode: live is being at the head and reading again when the stream changed.
 */

import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { UNSEEN_BYTES } from '../../protocol/client.ts';
import type { RolloutRecord, Store } from '../../store/store.ts';
import type { Changes } from '../changes.ts';
import { StreamReader } from '../streamReader.ts';
import type { DeltaListener, Deltas } from './deltas.ts';
import { Flow } from './flow.ts';
import { eventsFrame, frame } from './frames.ts';

export interface Subscription {
  seen(cursor: number, rev: number | undefined): void;
  /** Looks whether there is more to send, as if it had been told. */
  look(): void;
  /** All that is stored was sent, or the client must see some of it first. */
  readonly idle: boolean;
  close(): void;
}

export interface SubscriptionContext {
  readonly store: Store;
  readonly changes: Changes;
  readonly deltas: Deltas;
  /** Sends a frame to the client; false when it is gone. */
  send(text: string): void;
  /** Bytes that wait in the socket. */
  waiting(): number;
  failed(sub: string, error: unknown): void;
}

const READ_BYTES = 256 * 1024;
/** The first rows of a page wait for as little as shows them. */
const FIRST_BYTES = 64 * 1024;
/** Deltas for a client that does not keep up are left out: the end event brings all of it. */
const DELTA_WAITING = 256 * 1024;

export class RolloutSubscription implements Subscription, DeltaListener {
  readonly #context: SubscriptionContext;
  readonly #sub: string;
  readonly #rollout: string;
  readonly #reader: StreamReader;
  readonly #flow = new Flow();
  readonly #unwatch: () => void;
  #unlisten: (() => void) | undefined;
  #cursor: number;
  #headSent = -1;
  #changed = true;
  #pumping = false;
  #closed = false;
  #begun = false;
  /** `open` comes first, so that no delta is without its beginning. */
  #opened = false;

  constructor(context: SubscriptionContext, sub: string, record: RolloutRecord, after: number, deltas: boolean) {
    if (after > record.row.last)
      throw new StudioError(
        'gone',
        `Rollout ${record.row.rollout} has ${plural(record.row.last, 'event')}; the cursor ${after} is past its end.`,
      );
    this.#context = context;
    this.#sub = sub;
    this.#rollout = record.row.rollout;
    this.#cursor = after;
    this.#reader = new StreamReader(context.store, record.row.rollout, record.lineage);
    this.#unwatch = context.changes.on(this.#rollout, () => this.look());
    if (deltas) this.#unlisten = context.deltas.listen(this.#rollout, this);
    this.#pump();
  }

  seen(cursor: number): void {
    const before = this.#flow.unseen;
    this.#flow.seen(cursor);
    if (before >= UNSEEN_BYTES && this.#flow.unseen < UNSEEN_BYTES) this.#pump();
  }

  look(): void {
    this.#changed = true;
    this.#pump();
  }

  get idle(): boolean {
    return !this.#pumping && (!this.#changed || this.#flow.unseen >= UNSEEN_BYTES);
  }

  delta(span: number, offset: number, text: string): void {
    if (!this.#opened || this.#context.waiting() > DELTA_WAITING) return;
    this.#context.send(frame({ type: 'delta', sub: this.#sub, span, offset, text }));
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#unlisten?.();
  }

  #pump(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    this.#run()
      .catch((error: unknown) => this.#context.failed(this.#sub, error))
      .finally(() => {
        this.#pumping = false;
        if (this.#changed && this.#flow.unseen < UNSEEN_BYTES) this.#pump();
      });
  }

  async #run(): Promise<void> {
    while (this.#changed && !this.#closed && this.#flow.unseen < UNSEEN_BYTES) {
      this.#changed = false;
      const chunk = await this.#reader.read(this.#cursor, this.#begun ? READ_BYTES : FIRST_BYTES);
      this.#begun = true;
      // A close during the read: nothing of it is sent.
      if (this.#isClosed()) return;
      if (chunk.bodies.length > 0) {
        this.#cursor = chunk.last;
        this.#context.send(eventsFrame(this.#sub, chunk.bodies));
        this.#flow.sent(chunk.last, chunk.chars);
      }
      if (chunk.more) this.#changed = true;
      else if (!this.#hasChanged()) this.#atHead();
    }
  }

  #atHead(): void {
    if (this.#headSent !== this.#cursor) {
      this.#headSent = this.#cursor;
      this.#context.send(frame({ type: 'head', sub: this.#sub, cursor: this.#cursor }));
    }
    if (this.#unlisten !== undefined && !this.#opened) {
      this.#opened = true;
      this.#context.send(frame({ type: 'open', sub: this.#sub, spans: this.#context.deltas.open(this.#rollout) }));
    }
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #hasChanged(): boolean {
    return this.#changed;
  }
}
