/**
 * One client's subscription to a batch: its stream by seq, and the newest row of each changed rollout by rev. Both are
 * read together, at most every 100 ms once the head was reached.
 */
import { StudioError } from '../../common/errors.ts';
import { UNSEEN_BYTES } from '../../protocol/client.ts';
import type { BatchRecord } from '../../store/store.ts';
import { StreamReader } from '../streamReader.ts';
import { Throttle } from '../throttle.ts';
import { Flow } from './flow.ts';
import { eventsFrame, frame } from './frames.ts';
import type { Subscription, SubscriptionContext } from './rolloutSubscription.ts';

const EVERY_MS = 100;
const READ_BYTES = 256 * 1024;
const READ_ROWS = 500;
/** The first read is small, so that a newly opened page shows something soon. */
const FIRST_ROWS = 128;

export class BatchSubscription implements Subscription {
  readonly #context: SubscriptionContext;
  readonly #sub: string;
  readonly #batch: string;
  readonly #reader: StreamReader;
  readonly #events = new Flow();
  readonly #rows = new Flow();
  readonly #throttle: Throttle;
  readonly #unwatch: () => void;
  #cursor: number;
  #rev: number;
  #headSent = '';
  #readRows = FIRST_ROWS;
  #closed = false;

  constructor(context: SubscriptionContext, sub: string, record: BatchRecord, after: number, afterRev: number) {
    const { batch, last, rev } = record.row;
    if (after > last || afterRev > rev)
      throw new StudioError(
        'gone',
        `The cursor ${after}, ${afterRev} is past the end of batch ${batch}, which ` +
          `is at event ${last}, revision ${rev}.`,
      );
    this.#context = context;
    this.#sub = sub;
    this.#batch = batch;
    this.#cursor = after;
    this.#rev = afterRev;
    this.#reader = new StreamReader(context.store, batch, []);
    this.#throttle = new Throttle(
      EVERY_MS,
      () => this.#run(),
      (error) => context.failed(sub, error),
    );
    this.#unwatch = context.changes.on(batch, () => this.#throttle.request());
    this.#throttle.request(true);
  }

  acknowledge(cursor: number, rev: number | undefined): void {
    const wasFull = this.#full();
    this.#events.acknowledge(cursor);
    if (rev !== undefined) this.#rows.acknowledge(rev);
    if (wasFull && !this.#full()) this.#throttle.request(true);
  }

  check(): void {
    this.#throttle.request(true);
  }

  get idle(): boolean {
    return this.#throttle.idle;
  }

  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#throttle.close();
  }

  #full(): boolean {
    return this.#events.unacknowledged + this.#rows.unacknowledged >= UNSEEN_BYTES;
  }

  async #run(): Promise<void> {
    let more = true;
    while (more && !this.#closed && !this.#full()) {
      const limit = this.#readRows;
      this.#readRows = READ_ROWS;
      const [chunk, rows] = await Promise.all([
        this.#reader.read(this.#cursor, READ_BYTES),
        this.#context.store.rowsSince(this.#batch, this.#rev, limit),
      ]);
      if (this.#isClosed()) return;
      if (chunk.bodies.length > 0) {
        this.#cursor = chunk.last;
        this.#context.send(eventsFrame(this.#sub, chunk.bodies));
        this.#events.sent(chunk.last, chunk.chars);
      }
      const newest = rows.at(-1);
      if (newest !== undefined) {
        this.#rev = newest.rev;
        const text = frame({ type: 'rows', sub: this.#sub, rev: newest.rev, rows });
        this.#context.send(text);
        this.#rows.sent(newest.rev, text.length);
      }
      more = chunk.more || rows.length === limit;
    }
    if (more) return;
    const head = `${this.#cursor} ${this.#rev}`;
    if (head === this.#headSent) return;
    this.#headSent = head;
    this.#context.send(frame({ type: 'head', sub: this.#sub, cursor: this.#cursor, rev: this.#rev }));
  }

  #isClosed(): boolean {
    return this.#closed;
  }
}
