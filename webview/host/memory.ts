/** Small choices of a person that outlive a page: widths, open panes, the last sort. Lost without harm. */
import type { z } from 'zod';

const PREFIX = 'rollout.';

/** What was kept under a key, when it still has the shape asked for. */
export function recall<T>(key: string, shape: z.ZodType<T>): T | undefined {
  return shape.safeParse(kept(key)).data;
}

/** What was kept under a key, whatever it is by now. */
export function kept(key: string): unknown {
  try {
    const text = window.localStorage.getItem(PREFIX + key);
    return text === null ? undefined : JSON.parse(text);
  } catch (error) {
    // storage is off, or somebody else's
    if (error instanceof DOMException || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    window.localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is off or full
  }
}
