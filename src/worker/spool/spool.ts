/**
 * Sends the events of one rollout to the server: in order, kept in memory until acknowledged, and sent again from the
 * last durable one after a reconnection. The events of one `append` are sent together; a frame may contain several
 * appends.
 */

import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { ServerToWorker } from '../../protocol/worker.ts';
import { MAX_APPEND_BYTES, SPOOL_BYTES } from '../../protocol/worker.ts';
import type { PendingBlob, Recorder } from '../../rollout/ports.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Outlet, OutletText } from '../outlet.ts';
import type { Blobs } from './blobs.ts';
import { LiveText } from './liveText.ts';

type Refusal = Extract<ServerToWorker, { type: 'refuse' }>;

/** What a spool needs from its worker. */
export interface SpoolLink {
  /** Returns false without a connection. */
  sendText(frame: OutletText): boolean;
  /** Requests a call of `flush` soon, together with other spools. */
  soon(spool: Spool): void;
}

/**
 * Why nothing more can be recorded. `fenced`: another worker has the rollout. `invalid`: the server rejects an event.
 * `too_large`: it rejects a blob, because of its size or that of all blobs of the rollout.
 */
export interface Loss {
  readonly code: 'fenced' | 'invalid' | 'too_large';
  readonly message: string;
  /** seq of the last event that the server has. */
  readonly durable: number;
}

interface SpoolOptions {
  readonly rollout: string;
  readonly epoch: number;
  /** seq of the last durable event at the grant. */
  readonly last: number;
  readonly link: SpoolLink;
  readonly blobs: Blobs;
  readonly outlet: Outlet;
  readonly watched: boolean;
  /** Called at most once. */
  readonly onLoss: (loss: Loss) => void;
}

interface Entry {
  readonly seq: number;
  readonly text: OutletText;
  readonly bytes: number;
  /** Whether it is the last event of its append, so that a frame may end here. */
  readonly ends: boolean;
}

/** Space in a frame for everything but events. */
const ENVELOPE_BYTES = 512;
/** While frames wait for their ack, another one is sent only for this much. */
const EAGER_BYTES = 128 * 1024;
const MAX_IN_FLIGHT = 8;
/** Delay after `full`, when the server's disk was full. */
const FULL_RETRY_MS = 1_000;

export class Spool implements Recorder {
  readonly rollout: string;
  readonly epoch: number;
  readonly #options: SpoolOptions;
  readonly #live: LiveText;
  /** Events that are not acknowledged: `#queue[#head]` is the first, with seq `#durable + 1`. */
  #queue: Entry[] = [];
  #head = 0;
  #bytes = 0;
  #durable: number;
  #last: number;
  /** seq of the next event to send. */
  #next: number;
  /** Bytes that were appended and not sent. */
  #unsent = 0;
  /** Last seq of each unanswered frame. */
  #inFlight: number[] = [];
  /** First seqs of appends whose blobs are not stored yet: events from there on must wait. */
  readonly #blocked = new Set<number>();
  /** Whether to send again from `#durable + 1` once every frame is answered. */
  #rewind = false;
  #retryTimer: NodeJS.Timeout | undefined;
  #roomWaiters: Deferred<void> | undefined;
  #flushed: Deferred<void> | undefined;
  #lossReason: Error | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.rollout = options.rollout;
    this.epoch = options.epoch;
    this.#durable = this.#last = options.last;
    this.#next = options.last + 1;
    this.#live = new LiveText(
      options.watched,
      () => options.outlet.stream(),
      (span, offset, text) => this.#sendDelta(span, offset, text),
    );
  }

  /** seq of the last event appended here, acknowledged or not. */
  get last(): number {
    return this.#last;
  }

  append(events: readonly TraceEvent[], blobs: readonly PendingBlob[]): void {
    if (this.#lossReason !== undefined || events.length === 0) return;
    const { texts, blobs: clean } = this.#options.outlet.append(events, blobs);
    const first = this.#last + 1;
    for (const [index, text] of texts.entries()) {
      const event = events[index];
      if (event === undefined) break;
      // The text is UTF-16 here and UTF-8 in the frame; for nearly all text, a character is one byte.
      const bytes = Buffer.byteLength(text);
      this.#queue.push({ seq: event.seq, text, bytes, ends: index === events.length - 1 });
      this.#bytes += bytes;
      this.#unsent += bytes;
      this.#last = event.seq;
      if (event.span !== undefined && event.kind !== 'hold' && event.kind !== 'release') this.#live.end(event.span);
    }
    if (clean.length > 0) this.#store(first, clean);
    this.#options.link.soon(this);
  }

  waitForRoom(): Promise<void> {
    if (this.#bytes < SPOOL_BYTES || this.#lossReason !== undefined) return DONE;
    this.#roomWaiters ??= deferred();
    return this.#roomWaiters.promise;
  }

  /** Rejects if the rollout was lost, because then nothing more will be acknowledged. */
  flushed(): Promise<void> {
    if (this.#lossReason !== undefined) return Promise.reject(this.#lossReason);
    if (this.#durable === this.#last) return DONE;
    if (this.#flushed === undefined) {
      this.#flushed = deferred();
      this.#flushed.promise.catch(() => undefined);
    }
    this.flush();
    return this.#flushed.promise;
  }

  get watched(): boolean {
    return this.#live.watched;
  }

  delta(span: number, text: string): void {
    if (this.#lossReason === undefined) this.#live.add(span, text);
  }

  readBlob(sha: string, signal: AbortSignal): Promise<Uint8Array> {
    return this.#options.blobs.read(sha, signal);
  }

  /** Sets whether somebody watches the live text. */
  watch(on: boolean): void {
    this.#live.watch(on);
  }

  /** Sends what can be sent now. */
  flush(): void {
    if (this.#lossReason !== undefined || this.#rewind || this.#retryTimer !== undefined) return;
    while (this.#next <= this.#last && this.#inFlight.length < MAX_IN_FLIGHT) {
      if (this.#inFlight.length > 0 && this.#unsent < EAGER_BYTES && this.#flushed === undefined) return;
      if (!this.#sendFrame()) return;
    }
  }

  acked(to: number): void {
    this.#inFlight = this.#inFlight.filter((end) => end > to);
    this.#release(to);
    this.#afterAnswer();
  }

  refused(refusal: Refusal): void {
    switch (refusal.code) {
      case 'fenced':
      case 'invalid':
        this.#lose({ code: refusal.code, message: refusal.message, durable: refusal.durable });
        return;
      case 'gap':
      case 'full':
        this.#inFlight.shift();
        this.#release(refusal.durable);
        this.#rewind = true;
        if (refusal.code === 'full') {
          this.#retryTimer ??= setTimeout(() => {
            this.#retryTimer = undefined;
            this.#afterAnswer();
          }, FULL_RETRY_MS);
        }
        this.#afterAnswer();
    }
  }

  /** Continues after a reconnection: the server has everything up to `durable`. */
  resume(durable: number): void {
    this.#inFlight = [];
    this.#release(durable);
    this.#rewind = true;
    this.#afterAnswer();
    this.#live.again();
  }

  /** Stops sending: another worker has the rollout, or this worker ends. */
  close(why: Error): void {
    if (this.#lossReason !== undefined) return;
    this.#lossReason = why;
    clearTimeout(this.#retryTimer);
    this.#queue = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#roomWaiters?.resolve();
    this.#flushed?.reject(why);
  }

  #lose(loss: Loss): void {
    if (this.#lossReason !== undefined) return;
    this.close(new Error(loss.message));
    this.#options.onLoss(loss);
  }

  #afterAnswer(): void {
    if (this.#lossReason !== undefined) return;
    if (this.#rewind && this.#inFlight.length === 0 && this.#retryTimer === undefined) {
      this.#rewind = false;
      this.#next = this.#durable + 1;
      this.#unsent = this.#bytes;
    }
    if (this.#next > this.#last) return;
    if (this.#flushed === undefined) this.#options.link.soon(this);
    else this.flush();
  }

  /** Handles an acknowledgement: the server has everything up to `to`. */
  #release(to: number): void {
    if (to <= this.#durable) return;
    this.#durable = to;
    for (let entry = this.#queue[this.#head]; entry !== undefined && entry.seq <= to; entry = this.#queue[this.#head]) {
      this.#bytes -= entry.bytes;
      this.#head++;
    }
    if (this.#head === this.#queue.length || this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    if (this.#next <= to) this.#next = to + 1;
    if (this.#bytes < SPOOL_BYTES && this.#roomWaiters !== undefined) {
      this.#roomWaiters.resolve();
      this.#roomWaiters = undefined;
    }
    if (this.#durable >= this.#last && this.#flushed !== undefined) {
      this.#flushed.resolve();
      this.#flushed = undefined;
    }
  }

  /** Sends one frame with as many whole appends as fit. Returns false if none can be sent. */
  #sendFrame(): boolean {
    const start = this.#head + (this.#next - this.#durable - 1);
    const limit = this.#blocked.size === 0 ? Infinity : Math.min(...this.#blocked);
    let end = start;
    let bytes = ENVELOPE_BYTES;
    for (let at = start; at < this.#queue.length; at++) {
      const entry = this.#queue[at];
      if (entry === undefined || entry.seq >= limit) break;
      bytes += entry.bytes + 1;
      // An append that is too long for a frame is split, because otherwise it could never be stored.
      if (bytes > MAX_APPEND_BYTES && at > start) {
        if (end === start) end = at;
        break;
      }
      if (entry.ends || bytes > MAX_APPEND_BYTES) end = at + 1;
    }
    const entries = this.#queue.slice(start, end);
    const last = entries.at(-1);
    if (last === undefined) return false;
    const frame = this.#options.outlet.appendFrame(
      { rollout: this.rollout, epoch: this.epoch, from: this.#next },
      entries.map((entry) => entry.text),
    );
    if (!this.#options.link.sendText(frame)) return false;
    for (const entry of entries) this.#unsent -= entry.bytes;
    this.#next = last.seq + 1;
    this.#inFlight.push(last.seq);
    return true;
  }

  #sendDelta(span: number, offset: number, text: string): void {
    const { rollout, epoch } = this;
    this.#options.link.sendText(this.#options.outlet.frame({ type: 'delta', rollout, epoch, span, offset, text }));
  }

  #store(first: number, blobs: readonly PendingBlob[]): void {
    const puts = blobs
      .map((blob) => this.#options.blobs.store(this.rollout, blob.sha, blob.bytes))
      .filter((put) => put !== undefined);
    if (puts.length === 0) return;
    this.#blocked.add(first);
    Promise.all(puts).then(
      () => {
        this.#blocked.delete(first);
        this.#options.link.soon(this);
      },
      (error: unknown) =>
        this.#lose({
          code: StudioError.is(error, 'too_large') ? 'too_large' : 'invalid',
          message: error instanceof Error ? error.message : String(error),
          durable: this.#durable,
        }),
    );
  }
}

const DONE = Promise.resolve();
