import { setTimeout as delay } from 'node:timers/promises';

/** Polls until the answer is neither undefined nor false, and returns it. For conditions without an event. */
export async function until<T>(
  ask: () => T | Promise<T>,
  timeoutMs = 30_000,
  what = 'the condition',
): Promise<Exclude<T, undefined | false>> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    if (performance.now() > end) throw new Error(`${what} did not come about within ${timeoutMs} ms`);
    await delay(50);
  }
}
