/** The time now, for what is counted while one looks. */
import { useEffect, useState } from 'preact/hooks';
import type { Hold } from '../../src/trace/model/holds.ts';

const EVERY_MS = 1_000;

/** Draws again every second while `counting`. */
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

/** For how long it holds by now, in whole seconds. */
export function heldFor({ event }: Hold, now: number): number {
  return Math.floor(Math.max(0, now - event.at) / 1_000) * 1_000;
}
