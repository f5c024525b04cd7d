/** Long computations that yield to other work: generators that yield wherever they may pause. */
import { cancelled } from './abort.ts';

export type Piecewise<T> = Generator<undefined, T>;

/** Items that a loop handles before it yields. */
const AT_ONCE = 2048;

/** Iterates with pauses: `for (const x of …)` becomes `yield* each(…, (x) => …)`. */
export function* each<T>(items: Iterable<T>, visit: (item: T) => void, atOnce = AT_ONCE): Piecewise<void> {
  let visited = 0;
  for (const item of items) {
    visit(item);
    if (++visited % atOnce === 0) yield;
  }
}

/** Sorts numbers in ascending order. Overwrites the input. */
export function* sorted(numbers: Float64Array<ArrayBuffer>, atOnce = AT_ONCE): Piecewise<Float64Array<ArrayBuffer>> {
  const { length } = numbers;
  for (let at = 0; at < length; at += atOnce) {
    numbers.subarray(at, at + atOnce).sort();
    yield;
  }
  let [from, to] = [numbers, new Float64Array(length)];
  for (let run = atOnce; run < length; run *= 2) {
    for (let at = 0; at < length; at += 2 * run) {
      merge(from, to, at, Math.min(at + run, length), Math.min(at + 2 * run, length));
      yield;
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Merges two adjacent ascending ranges. */
function merge(from: Float64Array, to: Float64Array, first: number, middle: number, end: number): void {
  let [i, j] = [first, middle];
  for (let at = first; at < end; at++) {
    const [a = 0, b = 0] = [from[i], from[j]];
    const isFirst = j >= end || (i < middle && a <= b);
    to[at] = isFirst ? a : b;
    if (isFirst) i += 1;
    else j += 1;
  }
}

/** Runs a computation without pauses. */
export function finish<T>(work: Piecewise<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * Runs a computation in slices of about `ms` milliseconds, the first immediately, with other work in between. Rejects
 * when `signal` aborts.
 */
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
