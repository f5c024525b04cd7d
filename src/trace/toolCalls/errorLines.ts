/** Finds the source lines where calls failed, by the places of their errors. */
import type { CallFact } from './fact.ts';

export interface ErrorLine {
  /** From 1. */
  readonly line: number;
  readonly count: number;
  /** The newest failed call. */
  readonly newest: CallFact;
  /** Error messages, the most frequent first. */
  readonly messages: readonly { readonly text: string; readonly count: number }[];
}

/** `facts`: newest first. `isHere`: returns whether an error's file is the one to search. */
export function errorLines(facts: Iterable<CallFact>, isHere: (file: string) => boolean): ErrorLine[] {
  const lines = new Map<number, { count: number; newest: CallFact; messages: Map<string, number> }>();
  const here = new Map<string, boolean>();
  for (const fact of facts) {
    const { error } = fact;
    if (error?.place === undefined) continue;
    const { file, line } = error.place;
    let isMatch = here.get(file);
    if (isMatch === undefined) here.set(file, (isMatch = isHere(file)));
    if (!isMatch) continue;
    let entry = lines.get(line);
    if (entry === undefined) lines.set(line, (entry = { count: 0, newest: fact, messages: new Map() }));
    entry.count++;
    entry.messages.set(error.message, (entry.messages.get(error.message) ?? 0) + 1);
  }
  return [...lines]
    .sort(([a], [b]) => a - b)
    .map(([line, { count, newest, messages }]) => ({
      line,
      count,
      newest,
      messages: [...messages].map(([text, times]) => ({ text, count: times })).sort((a, b) => b.count - a.count),
    }));
}

/** Number of lines to search above and below. */
const REACH = 200;

/**
 * Returns the current number of line `line` of `before`: the same, or that of the nearest line with the same text.
 * undefined: the line was removed or changed.
 */
export function currentLine(line: number, before: readonly string[], now: readonly string[]): number | undefined {
  const text = before[line - 1]?.trim();
  if (text === undefined) return undefined;
  for (let off = 0; off <= REACH; off++) {
    if (now[line - 1 + off]?.trim() === text) return line + off;
    if (now[line - 1 - off]?.trim() === text) return line - off;
  }
  return undefined;
}
