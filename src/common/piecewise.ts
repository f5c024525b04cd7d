/** Long computations that let others have their turn: generators that yield wherever they may pause. */
import { cancelled } from './abort.ts';

export type Piecewise<T> = Generator<undefined, T>;

/** What a loop over many things looks at once before it yields. */
const AT_ONCE = 2048;

/** Goes over things with a pause now and then: `for (const x of …)` becomes `yield* each(…, (x) => …)`. */
export function* each<T>(things: Iterable<T>, look: (thing: T) => void, atOnce = AT_ONCE): Piecewise<void> {
  let looked = 0;
  for (const thing of things) {
    look(thing);
    if (++looked % atOnce === 0) yield;
  }
}

/** In one go. */
export function finish<T>(work: Piecewise<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** In slices of about so many milliseconds, the first at once; others get their turn in between. Rejects when told to stop. */
export async function inSlices<T>(work: Piecewise<T>, ms: number, signal: AbortSignal): Promise<T> {
  for (;;) {
    const until = performance.now() + ms;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve));
    if (signal.aborted) throw cancelled(signal);
  }
}
