/** Remembers small choices across pages: widths, open panes, the last sort. Losing them does no harm. */
import type { z } from 'zod';

const PREFIX = 'rollout.';

/** Returns the key for a choice that is remembered for this workspace only, where the host has workspaces. */
export function inWorkspace(key: string): string {
  const { workspace } = document.body.dataset;
  return workspace === undefined ? key : `${key}.${workspace}`;
}

/** Returns the value of a key, if it matches the schema. */
export function recall<T>(key: string, schema: z.ZodType<T>): T | undefined {
  return schema.safeParse(recallUnchecked(key)).data;
}

/** Returns the value of a key without validating it. */
export function recallUnchecked(key: string): unknown {
  try {
    const text = window.localStorage.getItem(PREFIX + key);
    return text === null ? undefined : JSON.parse(text);
  } catch (error) {
    // storage is disabled, or the value is not JSON
    if (error instanceof DOMException || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    window.localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is disabled or full
  }
}
