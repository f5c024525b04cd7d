/** Waits for what has no event. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** Polls until a condition holds. Fails after `patienceMs`, with what did not come about. */
export async function until(what: string, so: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    if (await so()) return;
    await delay(POLL_MS);
  }
  assert.fail(`not so: ${what}`);
}
