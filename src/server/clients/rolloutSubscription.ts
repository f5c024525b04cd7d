/**
 * One client's subscription to a rollout's stream: reads from its cursor as fast as the client acknowledges. There is
 * no separate live mode: at the head, it reads again when the stream changes.
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
  acknowledge(cursor: number, rev: number | undefined): void;
  /** Checks whether there is more to send, without a change notification. */
  check(): void;
  /** Whether everything stored was sent, or the client must acknowledge some of it first. */
  readonly idle: boolean;
  close(): void;
}

export interface SubscriptionContext {
  readonly store: Store;
  readonly changes: Changes;
  readonly deltas: Deltas;
  /** Sends a frame to the client, unless it has disconnected. */
  send(text: string): void;
  /** Returns the bytes buffered in the socket. */
  waiting(): number;
  failed(sub: string, error: unknown): void;
}

const READ_BYTES = 256 * 1024;
/** The first read is small, so that the first rows of a page appear soon. */
const FIRST_BYTES = 64 * 1024;
/** Deltas are dropped for a client that does not keep up: the end event contains the whole text. */
const DELTA_WAITING = 256 * 1024;

const NOBODY: DeltaListener = { delta: () => undefined };

export class RolloutSubscription implements Subscription, DeltaListener {
  readonly #context: SubscriptionContext;
  readonly #sub: string;
  readonly #rollout: string;
  readonly #reader: StreamReader;
  readonly #flow = new Flow();
  readonly #unwatch: () => void;
  readonly #deltas: boolean;
  #unlisten: (() => void) | undefined;
  #cursor: number;
  #headSent = -1;
  #changed = true;
  #pumping = false;
  #closed = false;
  #hasRead = false;
  /** Whether `open` was sent. It precedes all deltas, so that clients have the beginning of each text. */
  #opened = false;

  /** `deltas`: whether it gets live text; `watches`: whether somebody watches the rollout even without that. */
  constructor(
    context: SubscriptionContext,
    sub: string,
    record: RolloutRecord,
    after: number,
    { deltas, watches }: { readonly deltas: boolean; readonly watches: boolean },
  ) {
    if (after > record.row.last)
      throw new StudioError(
        'gone',
        `The cursor ${after} is past the end of rollout ${record.row.rollout}, which ` +
          `has ${plural(record.row.last, 'event')}.`,
      );
    this.#context = context;
    this.#sub = sub;
    this.#rollout = record.row.rollout;
    this.#cursor = after;
    this.#reader = new StreamReader(context.store, record.row.rollout, record.lineage);
    this.#unwatch = context.changes.on(this.#rollout, () => this.check());
    this.#deltas = deltas;
    if (deltas || watches) this.#unlisten = context.deltas.listen(this.#rollout, deltas ? this : NOBODY);
    this.#pump();
  }

  acknowledge(cursor: number): void {
    const before = this.#flow.unacknowledged;
    this.#flow.acknowledge(cursor);
    if (before >= UNSEEN_BYTES && this.#flow.unacknowledged < UNSEEN_BYTES) this.#pump();
  }

  check(): void {
    this.#changed = true;
    this.#pump();
  }

  get idle(): boolean {
    return !this.#pumping && (!this.#changed || this.#flow.unacknowledged >= UNSEEN_BYTES);
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
        if (this.#changed && this.#flow.unacknowledged < UNSEEN_BYTES) this.#pump();
      });
  }

  async #run(): Promise<void> {
    while (this.#changed && !this.#closed && this.#flow.unacknowledged < UNSEEN_BYTES) {
      this.#changed = false;
      const chunk = await this.#reader.read(this.#cursor, this.#hasRead ? READ_BYTES : FIRST_BYTES);
      this.#hasRead = true;
      // closed during the read
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
    if (this.#deltas && !this.#opened) {
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
