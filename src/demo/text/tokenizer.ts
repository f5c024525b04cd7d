/**
 * A tokenizer without training: text is split into words, runs of digits, white space, and signs. A piece in the
 * vocabulary is one token; others are spelled with pairs of letters and bytes. Every text can be encoded, and the
 * tokens of a text are the tokens of its parts if it is split at marks of the chat template.
 */
import { FIRST_TEXT, MARKS, TEXTS } from './vocabulary.ts';

/**
 * Tokens of a text: `texts[i]` is the text of `ids[i]`. A character of several bytes has its text at the last of its
 * IDs.
 */
export interface Tokens {
  readonly ids: readonly number[];
  readonly texts: readonly string[];
}

const PIECE = / ?[A-Za-z]+|\d{1,3}|\n\n|[{}":,]+|[,.:]? |[^]/gu;
const ID_OF = new Map(TEXTS.map((text, i) => [text, FIRST_TEXT + i]));
const UTF8 = new TextEncoder();
/** Most texts occur repeatedly: prompts, tools, the conversation so far. */
const CACHE_TEXTS = 4000;
/** Tokens take ten times the memory of their text. */
const CACHE_CHARS = 1_000_000;
const cache = new Map<string, Tokens>();
let cachedChars = 0;

export const VOCABULARY_SIZE = FIRST_TEXT + TEXTS.length;

export function markId(mark: (typeof MARKS)[number]): number {
  return FIRST_TEXT + MARKS.indexOf(mark);
}

/** Returns the tokens of a text without marks. The result is shared: do not change it. */
export function tokenize(text: string): Tokens {
  const cached = cache.get(text);
  if (cached !== undefined) return cached;
  const tokens = cut(text);
  if (text.length > CACHE_CHARS / 4) return tokens;
  if (cache.size >= CACHE_TEXTS || cachedChars + text.length > CACHE_CHARS) {
    cache.clear();
    cachedChars = 0;
  }
  cache.set(text, tokens);
  cachedChars += text.length;
  return tokens;
}

function cut(text: string): Tokens {
  const ids: number[] = [];
  const texts: string[] = [];
  for (const [piece] of text.matchAll(PIECE)) {
    const whole = ID_OF.get(piece);
    if (whole !== undefined) {
      ids.push(whole);
      texts.push(piece);
    } else spell(piece, ids, texts);
  }
  return { ids, texts };
}

function spell(piece: string, ids: number[], texts: string[]): void {
  for (let i = 0; i < piece.length; ) {
    const pair = piece.slice(i, i + 2);
    const id = ID_OF.get(pair);
    if (id !== undefined && pair.length === 2) {
      ids.push(id);
      texts.push(pair);
      i += 2;
      continue;
    }
    const char = String.fromCodePoint(piece.codePointAt(i) ?? 0);
    const bytes = UTF8.encode(char);
    for (const [n, byte] of bytes.entries()) {
      ids.push(byte);
      texts.push(n === bytes.length - 1 ? char : '');
    }
    i += char.length;
  }
}

/** Returns the text of IDs; an ID outside the vocabulary has no text. */
export function detokenize(ids: readonly number[]): string {
  const bytes: number[] = [];
  for (const id of ids) {
    if (id < FIRST_TEXT) bytes.push(id);
    else bytes.push(...UTF8.encode(TEXTS[id - FIRST_TEXT] ?? ''));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
