/** The current time, updated while something is timed. */
import { useEffect, useState } from 'preact/hooks';

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
