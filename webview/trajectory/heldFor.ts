import type { Hold } from '../../src/trace/model/holds.ts';

/** Returns how long it has been held, in whole seconds. */
export function heldFor({ event }: Hold, now: number): number {
  return Math.floor(Math.max(0, now - event.at) / 1_000) * 1_000;
}
