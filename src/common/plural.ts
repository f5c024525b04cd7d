/** The noun in the form that its number takes: `task` of 1, else `tasks`. `plural`: where it is not the noun with an s. */
export function nounFor(count: number, noun: string, plural = `${noun}s`): string {
  return count === 1 ? noun : plural;
}

/** A counted noun: `1 task`, `84 tasks`. */
export function plural(count: number, noun: string, nouns?: string): string {
  return `${count} ${nounFor(count, noun, nouns)}`;
}
