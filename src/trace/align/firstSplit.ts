/** Finds where two attempts of the same task first diverge, by comparing their calls in order. */
import { isSameJson } from '../../common/json.ts';
import type { AnyEvent } from '../model.ts';
import type { EventOf } from '../schema.ts';

type Call = EventOf<'tool.start'>;

export interface FirstSplit {
  /** Number of equal calls at the beginning. */
  readonly common: number;
  /** The first call of each that the other did not make; absent if there are no more calls. */
  readonly own?: Call;
  readonly other?: Call;
}

/**
 * Compares the calls of one attempt with those of another while the other is read, so that nothing is read beyond the
 * split. Calls are equal if their agents, tools, and arguments are.
 */
export class SplitFinder {
  readonly #own: readonly Call[];
  #common = 0;
  #split: FirstSplit | undefined;

  constructor(own: readonly Call[]) {
    this.#own = own;
  }

  /** Adds the next events of the other attempt. Returns true once the split is found: then the rest is not needed. */
  add(events: readonly AnyEvent[]): boolean {
    for (const other of callsIn(events)) {
      if (this.#split !== undefined) break;
      const own = this.#own[this.#common];
      if (own !== undefined && isSameCall(own, other)) this.#common += 1;
      else this.#split = { common: this.#common, ...(own === undefined ? {} : { own }), other };
    }
    return this.#split !== undefined;
  }

  /** The split, once `add` returned true or after all events of the other attempt. undefined: all calls are equal. */
  get split(): FirstSplit | undefined {
    if (this.#split !== undefined) return this.#split;
    const own = this.#own[this.#common];
    return own === undefined ? undefined : { common: this.#common, own };
  }

  /** Number of equal calls so far. */
  get common(): number {
    return this.#common;
  }
}

/** Returns the calls among events, in order of their start. */
export function callsIn(events: readonly AnyEvent[]): Call[] {
  return events.flatMap((event) => ('unknown' in event || event.kind !== 'tool.start' ? [] : [event]));
}

/** Ignores the IDs of calls and times. */
function isSameCall(a: Call, b: Call): boolean {
  return (
    a.data.name === b.data.name && (a.agent ?? '') === (b.agent ?? '') && isSameJson(a.data.arguments, b.data.arguments)
  );
}
