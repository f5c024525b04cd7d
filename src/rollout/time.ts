/** Monotonic time and timers, so that tests need not wait. */
export interface Time {
  /** Returns milliseconds from an arbitrary moment, never decreasing. */
  monotonic(): number;
  /** Runs `run` once after `ms`. Returns a function that cancels it. */
  timer(ms: number, run: () => void): () => void;
}

/** The longest delay of a platform timer (2³¹ − 1 ms); longer ones would fire immediately. */
const MAX_MS = 0x7fff_ffff;

export const systemTime: Time = {
  monotonic: () => performance.now(),
  timer(ms, run) {
    const handle = setTimeout(run, Math.min(ms, MAX_MS));
    return () => clearTimeout(handle);
  },
};

/** Rounds a duration as events store it: milliseconds with three decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
