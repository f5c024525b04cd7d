/** Finds where two attempts of the same task first diverge, by comparing their calls in order. */
import { isSameJson } from '../../common/json.ts';
import type { AnyEvent } from '../model.ts';
import type { EventOf } from '../schema.ts';

type Call = EventOf<'tool.start'>;

export interface FirstSplit {
  /** Number of equal calls at the beginning. */
  readonly common: number;
  /** The first call of each that the other did not make; undefined where its calls are at their end. */
  readonly own?: Call;
  readonly other?: Call;
}

/**
 * Compares the calls of one attempt with those of another while the other's are read: nothing is read beyond the split.
 * Calls count as the same when their agent, tool and arguments are.
 */
export class SplitFinder {
  readonly #own: readonly Call[];
  #common = 0;
  #found: FirstSplit | undefined;

  constructor(own: readonly Call[]) {
    this.#own = own;
  }

  /** Takes the next events of the other attempt. True once the split is known, so that the rest need not be read. */
  take(events: readonly AnyEvent[]): boolean {
    for (const other of callsIn(events)) {
      if (this.#found !== undefined) break;
      const own = this.#own[this.#common];
      if (own !== undefined && isSameCall(own, other)) this.#common += 1;
      else this.#found = { common: this.#common, ...(own === undefined ? {} : { own }), other };
    }
    return this.#found !== undefined;
  }

  /** After all events of the other attempt, or once `take` said so. undefined: both made the same calls. */
  get split(): FirstSplit | undefined {
    if (this.#found !== undefined) return this.#found;
    const own = this.#own[this.#common];
    return own === undefined ? undefined : { common: this.#common, own };
  }

  /** Calls that were the same so far. */
  get common(): number {
    return this.#common;
  }
}

/** The calls among some events, in order of their start. */
export function callsIn(events: readonly AnyEvent[]): Call[] {
  return events.flatMap((event) => ('unknown' in event || event.kind !== 'tool.start' ? [] : [event]));
}

/** Whether one agent asked for the same. Ids of calls and times do not matter. */
function isSameCall(a: Call, b: Call): boolean {
  return (
    a.data.name === b.data.name && (a.agent ?? '') === (b.agent ?? '') && isSameJson(a.data.arguments, b.data.arguments)
  );
}
