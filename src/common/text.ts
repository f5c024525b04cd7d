/** Helpers for texts for people: sentences, single lines, counted nouns. */

/** Returns the noun in singular or plural: `task` for 1, else `tasks`. `plural`: an irregular plural. */
export function nounFor(count: number, noun: string, plural = `${noun}s`): string {
  return count === 1 ? noun : plural;
}

/** Formats a counted noun: `1 task`, `84 tasks`. */
export function plural(count: number, noun: string, nouns?: string): string {
  return `${count} ${nounFor(count, noun, nouns)}`;
}

/** Ends the text with a period, so that another sentence can follow. */
export function sentence(text: string): string {
  return endsSentence(text) ? text : `${text}.`;
}

/** Returns whether the text ends with a mark that ends a sentence. */
export function endsSentence(text: string): boolean {
  return /[.!?…]$/.test(text);
}

/** Puts the text on one line, and shortens it with … to `max` characters. Never splits a surrogate pair. */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return shortened(line, max);
}

/**
 * Shortens a text with … to `max` characters. Texts of others are shortened only with this mark: before it, secrets
 * that were cut are found and hidden (see redaction/redactor.ts).
 */
export function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, isHighSurrogate(text, max - 2) ? max - 2 : max - 1)}…`;
}

/** Puts the text on one line: every line break becomes `separator`, together with the whitespace around it. */
export function joinedLines(text: string, separator: string): string {
  // `\s*\n\s*` would take quadratic time for long runs of spaces.
  return text.replaceAll(/\s+/g, (space) => (space.includes('\n') ? separator : space));
}

/** Removes all of a character at the end. `/x+$/` would take quadratic time for long runs elsewhere. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** Returns the first nonempty line, shortened with … to `max` characters. */
export function firstLine(text: string, max: number): string {
  return oneLine(text.trim().split('\n', 1)[0] ?? '', max);
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Returns `a`, `a and b`, or `a, b, and c`. */
export function listText(items: readonly string[]): string {
  const last = items.at(-1) ?? '';
  if (items.length < 3) return items.join(' and ');
  return `${items.slice(0, -1).join(', ')}, and ${last}`;
}
