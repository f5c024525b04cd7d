/** Text search: all words and quoted phrases must occur, ignoring case. */
import { isBlobRef } from '../values/keys.ts';

/** Splits `limit "by hand"` into the word and the phrase. An unclosed quote extends to the end. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const match of text.matchAll(/"([^"]*)"?|(\S+)/g)) {
    const word = match[1] ?? match[2] ?? '';
    if (word.trim() !== '') words.push(word);
  }
  return words;
}

/** Returns a pattern that matches exactly this text. */
export function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/**
 * Returns a test whether every word occurs in some string, number, or key of a JSON value. For a blob, it searches only
 * the beginning in the reference.
 */
export function wordTest(words: readonly string[]): (value: unknown) => boolean {
  const patterns = words.map((word) => new RegExp(literal(word), 'iu'));
  return (value) => {
    const missing = new Set(patterns);
    search(value, missing);
    return missing.size === 0;
  };
}

function search(value: unknown, missing: Set<RegExp>): void {
  if (typeof value === 'string') testText(value, missing);
  else if (typeof value === 'number' || typeof value === 'boolean') testText(String(value), missing);
  else if (typeof value === 'object' && value !== null) {
    if (isBlobRef(value)) {
      testText(value.head, missing);
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      if (missing.size === 0) return;
      if (!Array.isArray(value)) testText(key, missing);
      search(member, missing);
    }
  }
}

function testText(text: string, missing: Set<RegExp>): void {
  for (const pattern of missing) if (pattern.test(text)) missing.delete(pattern);
}
