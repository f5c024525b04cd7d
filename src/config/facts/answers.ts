/** Finds the answers of pages in texts. */
import type { FactPage } from './pages.ts';
import { hasWords, startsAt, type Word, wordsOf } from './words.ts';

/** A value that only one page may show. */
export interface Answer {
  readonly page: FactPage;
  readonly column: string;
  readonly words: readonly Word[];
}

/** The answers of all pages, by their first word. */
export class Answers {
  readonly #byFirst = new Map<Word, Answer[]>();

  constructor(pages: readonly FactPage[]) {
    for (const page of pages)
      for (const [column, value] of Object.entries(page.answers)) {
        const words = wordsOf(String(value));
        const [first] = words;
        if (first === undefined) continue;
        const same = this.#byFirst.get(first) ?? [];
        this.#byFirst.set(first, same);
        same.push({ page, column, words });
      }
  }

  /** Yields the answers in a text, in order. */
  *in(words: readonly Word[]): Generator<Answer> {
    for (const [at, word] of words.entries())
      for (const answer of this.#byFirst.get(word) ?? []) if (startsAt(words, at, answer.words)) yield answer;
  }

  has(words: readonly Word[]): boolean {
    return this.in(words).next().done !== true;
  }
}

/** A sentence that search results may show. */
export interface Sentence {
  readonly text: string;
  readonly words: readonly Word[];
}

const SENTENCES = /(?<=[.!?…。！？])\s+|\n+/u;

/** Returns the sentences of a page without those that hold an answer, of whichever page. */
export function shownSentences({ text }: FactPage, answers: Answers): Sentence[] {
  return Object.values(text)
    .flatMap((value) => value.split(SENTENCES))
    .map((sentence) => ({ text: sentence.trim(), words: wordsOf(sentence) }))
    .filter(({ words }) => words.length > 0 && !answers.has(words));
}

/** Returns the columns whose answer is in the title, the address, or the date of their own page. */
export function leakedColumns({ title, url, date = '', answers }: FactPage): string[] {
  const shown = [title, decoded(url), date].map(wordsOf);
  return Object.entries(answers).flatMap(([column, value]) =>
    shown.some((words) => hasWords(words, wordsOf(String(value)))) ? [column] : [],
  );
}

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    return url;
  }
}
