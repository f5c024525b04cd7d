/** What many texts for people need: sentences, single lines, counted nouns. */

/** The noun in the form that its number takes: `task` of 1, else `tasks`. `plural`: where it is not the noun with an s. */
export function nounFor(count: number, noun: string, plural = `${noun}s`): string {
  return count === 1 ? noun : plural;
}

/** A counted noun: `1 task`, `84 tasks`. */
export function plural(count: number, noun: string, nouns?: string): string {
  return `${count} ${nounFor(count, noun, nouns)}`;
}

/** The text with a period at its end, so that another sentence can follow. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The text on one line, cut with … where it is longer than `max` characters. Never cuts a surrogate pair. */
export function oneLine(text: string, max = Number.POSITIVE_INFINITY): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= max) return line;
  return `${line.slice(0, isHighSurrogate(line, max - 2) ? max - 2 : max - 1)}…`;
}

/** The first line that is not empty, cut with … where it is longer than `max` characters. */
export function firstLine(text: string, max: number): string {
  return oneLine(text.trim().split('\n', 1)[0] ?? '', max);
}

function isHighSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}
