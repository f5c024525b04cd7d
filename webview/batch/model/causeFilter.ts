/** The `cause` field of the filter. It holds whole causes in quotes, of which one must match: `cause:"no answer"`. */
import { splitParts } from './filter.ts';
import { quoted, unquoted } from './quoted.ts';

const FIELD = 'cause:';

/** Returns the whole causes that the filter asks for. */
export function causesIn(filter: string): string[] {
  return splitParts(filter)
    .filter((part) => part.startsWith(FIELD))
    .flatMap((part) => quoted(part.slice(FIELD.length)) ?? []);
}

/** Filters by one cause, or no longer if it is the only one. `add`: adds it to the others or removes it from them. */
export function toggleCause(filter: string, cause: string, add: boolean): string {
  const text = unquoted(cause);
  const before = causesIn(filter);
  const on = before.includes(text);
  const others = before.filter((other) => other !== text);
  const next = add ? (on ? others : [...before, text]) : on && others.length === 0 ? [] : [text];
  const rest = splitParts(filter).filter((part) => !part.startsWith(FIELD));
  return [...rest, ...(next.length === 0 ? [] : [FIELD + next.map((one) => `"${one}"`).join(',')])].join(' ');
}
