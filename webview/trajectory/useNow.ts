/** The current time, updated while something is timed. */
import { useEffect, useState } from 'preact/hooks';
import type { Hold } from '../../src/trace/model/holds.ts';

const EVERY_MS = 1_000;

/** Rerenders every second while `counting`. */
export function useNow(counting: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!counting) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, [counting]);
  return now;
}

/** Returns how long it has been held, in whole seconds. */
export function heldFor({ event }: Hold, now: number): number {
  return Math.floor(Math.max(0, now - event.at) / 1_000) * 1_000;
}
