/** How a session walks along one recorded attempt, for each kind of `match`. */
import type { WorldMatch } from '../../config/schema/recordedWorld.ts';
import type { Attempt, Entry } from './recordedCalls.ts';

/** A call as it is compared. */
export interface Called {
  readonly name: string;
  readonly key: string;
}

export interface Track {
  /** Returns the recorded call that answers a call now; undefined if the attempt has none. */
  find(call: Called): Entry | undefined;
  /** Moves on after a call that `find` found. */
  pass(call: Called, entry: Entry): void;
}

export function trackOf(match: WorldMatch, attempt: Attempt): Track {
  switch (match) {
    case 'sequence':
      return new SequenceTrack(attempt);
    case 'arguments':
      return new CountTrack(attempt.byKey, ({ key }) => key);
    case 'order':
      return new CountTrack(attempt.byName, ({ name }) => name);
  }
}

/**
 * The calls that the attempt made next in the same state. Those that change nothing can be made in any order, and
 * again: after its last recorded answer, a call gets that one.
 */
class SequenceTrack implements Track {
  readonly #attempt: Attempt;
  #state = 0;
  /** How often calls were made in this state. */
  readonly #made = new Map<string, number>();

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  find({ key }: Called): Entry | undefined {
    const state = this.#attempt.states[this.#state];
    const reads = state?.reads.get(key);
    if (reads !== undefined) return reads[Math.min(this.#made.get(key) ?? 0, reads.length - 1)];
    return state?.next?.key === key ? state.next : undefined;
  }

  pass({ key }: Called, entry: Entry): void {
    if (entry.isPure) {
      this.#made.set(key, (this.#made.get(key) ?? 0) + 1);
    } else {
      this.#state++;
      this.#made.clear();
    }
  }
}

/** The n-th answer for the n-th call. A call that changes nothing gets the last answer again. */
class CountTrack implements Track {
  readonly #entries: Attempt['byKey'];
  readonly #groupOf: (call: Called) => string;
  readonly #made = new Map<string, number>();

  constructor(entries: Attempt['byKey'], groupOf: (call: Called) => string) {
    this.#entries = entries;
    this.#groupOf = groupOf;
  }

  find(call: Called): Entry | undefined {
    const group = this.#groupOf(call);
    const entries = this.#entries.get(group) ?? [];
    const last = entries.at(-1);
    return entries[this.#made.get(group) ?? 0] ?? (last?.key === call.key && last.isPure ? last : undefined);
  }

  pass(call: Called): void {
    const group = this.#groupOf(call);
    this.#made.set(group, (this.#made.get(group) ?? 0) + 1);
  }
}
