/** Workers that lost the server and found it again: many at a time, so each batch is told of them in one line. */

import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { EventData } from '../../trace/schema.ts';

export interface Return {
  /** How long it was without the server. */
  readonly awayMs: number;
  /** The server it was connected to before is another one; undefined: not known any more. */
  readonly moved: boolean | undefined;
  /** Rollouts that it goes on with, and those that others have by now. */
  readonly kept: number;
  readonly dropped: number;
}

/** They come back within the longest pause between two tries of a worker. */
const TELL_AFTER_MS = 2_500;

export class Returns {
  readonly #tell: (batch: string, infra: EventData['infra']) => void;
  readonly #back = new Map<string, { readonly all: Return[]; readonly timer: NodeJS.Timeout }>();

  constructor(tell: (batch: string, infra: EventData['infra']) => void) {
    this.#tell = tell;
  }

  saw(batch: string, one: Return): void {
    const known = this.#back.get(batch);
    if (known !== undefined) {
      known.all.push(one);
      return;
    }
    const timer = setTimeout(() => this.#flush(batch), TELL_AFTER_MS);
    this.#back.set(batch, { all: [one], timer });
  }

  close(): void {
    for (const { timer } of this.#back.values()) clearTimeout(timer);
    this.#back.clear();
  }

  #flush(batch: string): void {
    const all = this.#back.get(batch)?.all ?? [];
    this.#back.delete(batch);
    this.#tell(batch, returned(all));
  }
}

/** The line of those that came back at about the same time. */
export function returned(all: readonly Return[]): EventData['infra'] {
  const ms = Math.max(...all.map(({ awayMs }) => awayMs));
  const [kept, dropped] = [sum(all, 'kept'), sum(all, 'dropped')];
  const moved = all.some((one) => one.moved === true);
  const who = plural(all.length, 'worker');
  const after = `back after ${duration(ms)}`;
  const what = moved
    ? `The server was away and was started anew, or another one took over; ${who} found it again: ${after}`
    : `The connection of ${who} to the server was lost: ${after}`;
  const rest =
    dropped > 0
      ? `; of ${plural(kept + dropped, 'rollout')} in their hands ${dropped} had gone to others`
      : kept > 0
        ? `, and ${plural(kept, 'rollout')} in their hands went on`
        : '';
  return { what: moved ? 'server_back' : 'workers_back', ms, text: `${what}${rest}.` };
}

function sum(all: readonly Return[], of: 'kept' | 'dropped'): number {
  return all.reduce((total, one) => total + one[of], 0);
}
