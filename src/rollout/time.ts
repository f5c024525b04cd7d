/** Monotonic time and timers, so that tests need not wait. */
export interface Time {
  /** Milliseconds from some moment on, never going back. */
  monotonic(): number;
  /** Runs `run` once after `ms`. Returns a function that cancels it. */
  timer(ms: number, run: () => void): () => void;
}

/** Longest delay a timer of the platform takes (2³¹ − 1 ms); longer ones would fire at once. */
const MAX_MS = 0x7fff_ffff;

export const systemTime: Time = {
  monotonic: () => performance.now(),
  timer(ms, run) {
    const handle = setTimeout(run, Math.min(ms, MAX_MS));
    return () => clearTimeout(handle);
  },
};

/** A duration as events hold it: milliseconds with three decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
