/**
 * A tokenizer without training: text is cut into words, runs of digits, white space and signs; a piece that is in the
 * vocabulary is one token, others are spelt with pairs of letters and bytes. Every text can be written, and the tokens
 * of a text are the tokens of its parts where it is cut at a mark of the chat template.
 */
import { FIRST_TEXT, MARKS, TEXTS } from './vocabulary.ts';

/**
 * Tokens of a text: `ids[i]` stands for `texts[i]`. A character of several bytes has its text at the last of its ids.
 */
export interface Tokens {
  readonly ids: readonly number[];
  readonly texts: readonly string[];
}

const PIECE = / ?[A-Za-z]+|\d{1,3}|\n\n|[{}":,]+|[,.:]? |[^]/gu;
const ID_OF = new Map(TEXTS.map((text, i) => [text, FIRST_TEXT + i]));
const UTF8 = new TextEncoder();
/** Most texts come again and again: prompts, tools, the conversation so far. */
const CACHE_TEXTS = 4000;
const cache = new Map<string, Tokens>();

export const VOCABULARY_SIZE = FIRST_TEXT + TEXTS.length;

export function markId(mark: (typeof MARKS)[number]): number {
  return FIRST_TEXT + MARKS.indexOf(mark);
}

/** Tokens of a text without marks. The result is shared: do not change it. */
export function tokenize(text: string): Tokens {
  const known = cache.get(text);
  if (known !== undefined) return known;
  const tokens = cut(text);
  if (cache.size >= CACHE_TEXTS) cache.clear();
  cache.set(text, tokens);
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

/** The text that ids stand for; an id outside the vocabulary stands for nothing. */
export function detokenize(ids: readonly number[]): string {
  const bytes: number[] = [];
  for (const id of ids) {
    if (id < FIRST_TEXT) bytes.push(id);
    else bytes.push(...UTF8.encode(TEXTS[id - FIRST_TEXT] ?? ''));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
