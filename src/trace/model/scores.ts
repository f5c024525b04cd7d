import type { EventOf } from '../schema.ts';

/** The scores of a rollout, and those of its single calls, which do not count for it. */
export class Scores {
  readonly ofRollout: EventOf<'score'>[] = [];
  readonly #ofCalls = new Map<number, EventOf<'score'>[]>();

  add(event: EventOf<'score'>): void {
    if (event.span === undefined) this.ofRollout.push(event);
    else this.#ofCalls.set(event.span, [...this.ofCall(event.span), event]);
  }

  /** Returns the scores of a call, by seq of its start. */
  ofCall(seq: number): readonly EventOf<'score'>[] {
    return this.#ofCalls.get(seq) ?? [];
  }
}
