/** Text search: all words (or quoted phrases) must occur somewhere, in any case. */
import { isBlobRef } from '../values/keys.ts';

/** `limit "by hand"` → the word and the phrase. An unfinished quote counts to the end. */
export function splitWords(text: string): string[] {
  const found: string[] = [];
  for (const match of text.matchAll(/"([^"]*)"?|(\S+)/g)) {
    const word = match[1] ?? match[2] ?? '';
    if (word.trim() !== '') found.push(word);
  }
  return found;
}

/** A pattern that this text alone matches. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/**
 * A test of whether every word occurs in a text, a number or a key somewhere in a JSON value. Blobs count by their
 * beginning.
 */
export function wordTest(words: readonly string[]): (value: unknown) => boolean {
  const patterns = words.map((word) => new RegExp(literal(word), 'iu'));
  return (value) => {
    const open = new Set(patterns);
    look(value, open);
    return open.size === 0;
  };
}

function look(value: unknown, open: Set<RegExp>): void {
  if (typeof value === 'string') test(value, open);
  else if (typeof value === 'number' || typeof value === 'boolean') test(String(value), open);
  else if (typeof value === 'object' && value !== null) {
    if (isBlobRef(value)) {
      test(value.head, open);
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      if (open.size === 0) return;
      if (!Array.isArray(value)) test(key, open);
      look(member, open);
    }
  }
}

function test(text: string, open: Set<RegExp>): void {
  for (const pattern of open) if (pattern.test(text)) open.delete(pattern);
}
