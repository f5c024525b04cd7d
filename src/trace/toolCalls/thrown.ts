/** Lines of code that threw, by where the errors of calls say they came from. */
import type { CallFact } from './fact.ts';

export interface ThrownLine {
  /** From 1. */
  readonly line: number;
  readonly count: number;
  /** The newest of them. */
  readonly newest: CallFact;
  /** Messages, the most frequent first. */
  readonly messages: readonly { readonly text: string; readonly count: number }[];
}

/** `facts`: newest first. `isHere`: whether an error's file is the one that is looked at. */
export function thrownLines(facts: Iterable<CallFact>, isHere: (file: string) => boolean): ThrownLine[] {
  const lines = new Map<number, { count: number; newest: CallFact; messages: Map<string, number> }>();
  const here = new Map<string, boolean>();
  for (const fact of facts) {
    const { error } = fact;
    if (error?.place === undefined) continue;
    const { file, line } = error.place;
    let isMatch = here.get(file);
    if (isMatch === undefined) here.set(file, (isMatch = isHere(file)));
    if (!isMatch) continue;
    let found = lines.get(line);
    if (found === undefined) lines.set(line, (found = { count: 0, newest: fact, messages: new Map() }));
    found.count++;
    found.messages.set(error.message, (found.messages.get(error.message) ?? 0) + 1);
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

/** Lines that are looked at above and below for one that moved. */
const REACH = 200;

/**
 * Where a line of code stands now that was line `line` of `before`: the same, or the nearest with the same text.
 * undefined: it is gone, or says something else.
 */
export function lineNow(line: number, before: readonly string[], now: readonly string[]): number | undefined {
  const text = before[line - 1]?.trim();
  if (text === undefined) return undefined;
  for (let off = 0; off <= REACH; off++) {
    if (now[line - 1 + off]?.trim() === text) return line + off;
    if (now[line - 1 - off]?.trim() === text) return line - off;
  }
  return undefined;
}
