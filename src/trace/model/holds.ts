/** Where and how long a rollout was held. */
import type { EventOf } from '../schema.ts';
import { Intervals } from './intervals.ts';

export interface Hold {
  readonly seq: number;
  readonly event: EventOf<'hold'>;
  /** Absent during the hold, and if the worker was lost during it. */
  release?: EventOf<'release'>;
}

export class HoldLog {
  readonly #all: Hold[] = [];
  readonly #bySeq = new Map<number, Hold>();
  /** By the seq of the start at whose gate they are. */
  readonly #bySpan = new Map<number, Hold[]>();
  readonly #open: Hold[] = [];
  readonly #times = new Intervals();

  get all(): readonly Hold[] {
    return this.#all;
  }

  get(seq: number): Hold | undefined {
    return this.#bySeq.get(seq);
  }

  of(span: number): readonly Hold[] {
    return this.#bySpan.get(span) ?? [];
  }

  /** Returns the holds that are open after the event `seq`. */
  at(seq: number): Hold[] {
    return this.#times.at(seq).flatMap((start) => this.#bySeq.get(start) ?? []);
  }

  hold(event: EventOf<'hold'>): void {
    const hold: Hold = { seq: event.seq, event };
    this.#all.push(hold);
    this.#bySeq.set(hold.seq, hold);
    const { span } = event;
    if (span !== undefined) this.#bySpan.set(span, [...this.of(span), hold]);
    this.#open.push(hold);
    this.#times.open(hold.seq);
  }

  /** Ends the hold whose seq or span the release names, otherwise the newest one. */
  release(event: EventOf<'release'>): void {
    const { span } = event;
    const index =
      span === undefined ? -1 : this.#open.findLastIndex((hold) => hold.seq === span || hold.event.span === span);
    const [hold] = this.#open.splice(index, 1);
    if (hold === undefined) return;
    hold.release = event;
    this.#times.close(hold.seq, event.seq);
  }

  /** Ends all holds of a lost worker. The next worker holds again. */
  abandon(seq: number): void {
    for (const hold of this.#open.splice(0)) this.#times.close(hold.seq, seq);
  }
}
