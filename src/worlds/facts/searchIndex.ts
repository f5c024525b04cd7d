/** Full-text search over the pages of a search world, ranked by BM25. The same query always gets the same results. */

import { shortened } from '../../common/text.ts';
import { type Answers, type Sentence, shownSentences } from '../../config/facts/answers.ts';
import type { FactPage } from '../../config/facts/pages.ts';
import { type Word, wordsOf } from '../../config/facts/words.ts';

interface Indexed {
  readonly page: FactPage;
  readonly sentences: readonly Sentence[];
  readonly length: number;
}

interface Posting {
  readonly at: number;
  readonly count: number;
}

export interface Hit {
  readonly page: FactPage;
  /** Sentences that have words of the query, without answers; empty if the page has none to show. */
  readonly snippet: string;
}

/** The usual parameters of BM25. */
const K1 = 1.2;
const B = 0.75;
/** A word of the title counts as often as this. */
const TITLE_WEIGHT = 3;
const SNIPPET_CHARS = 300;

export class SearchIndex {
  readonly #pages: readonly Indexed[];
  readonly #postings = new Map<Word, Posting[]>();
  readonly #averageLength: number;

  /** Answers are not searched, so that a guess of one finds nothing. */
  constructor(pages: readonly FactPage[], answers: Answers) {
    this.#pages = pages.map((page, at) => {
      const sentences = shownSentences(page, answers);
      const title = wordsOf(page.title).map(stem);
      const words = [
        ...Array.from({ length: TITLE_WEIGHT }, () => title).flat(),
        ...wordsOf(page.table).map(stem),
        ...sentences.flatMap((sentence) => sentence.words.map(stem)),
      ];
      for (const [word, count] of countsOf(words)) {
        const postings = this.#postings.get(word) ?? [];
        this.#postings.set(word, postings);
        postings.push({ at, count });
      }
      return { page, sentences, length: words.length };
    });
    this.#averageLength = this.#pages.reduce((sum, { length }) => sum + length, 0) / Math.max(1, pages.length);
  }

  /** Returns the best pages that have a word of the query; of equally good ones, the first in the database. */
  search(query: string, limit: number): Hit[] {
    const weights = new Map<Word, number>();
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(query).map(stem))) {
      const postings = this.#postings.get(word) ?? [];
      const weight = Math.log(1 + (this.#pages.length - postings.length + 0.5) / (postings.length + 0.5));
      weights.set(word, weight);
      for (const { at, count } of postings) {
        const share = (this.#pages[at]?.length ?? 0) / this.#averageLength;
        const score = (weight * count * (K1 + 1)) / (count + K1 * (1 - B + B * share));
        scores.set(at, (scores.get(at) ?? 0) + score);
      }
    }
    return [...scores]
      .sort(([a, scoreOfA], [b, scoreOfB]) => scoreOfB - scoreOfA || a - b)
      .slice(0, limit)
      .flatMap(([at]) => {
        const indexed = this.#pages[at];
        return indexed === undefined ? [] : [{ page: indexed.page, snippet: snippetOf(indexed.sentences, weights) }];
      });
  }
}

function countsOf(words: readonly Word[]): Map<Word, number> {
  const counts = new Map<Word, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Singular and plural are one word. */
function stem(word: Word): Word {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/** Returns the sentence with the most of the query, and what follows it. */
function snippetOf(sentences: readonly Sentence[], weights: ReadonlyMap<Word, number>): string {
  const valueOf = ({ words }: Sentence): number =>
    [...new Set(words.map(stem))].reduce((sum, word) => sum + (weights.get(word) ?? 0), 0);
  let best = 0;
  let value = -1;
  for (const [at, sentence] of sentences.entries()) {
    const own = valueOf(sentence);
    if (own > value) [best, value] = [at, own];
  }
  let snippet = '';
  for (const { text } of sentences.slice(best)) {
    const longer = snippet === '' ? text : `${snippet} ${text}`;
    if (snippet !== '' && longer.length > SNIPPET_CHARS) break;
    snippet = longer;
  }
  return shortened(plainLine(snippet), SNIPPET_CHARS);
}

/** Puts text of others on one line, so that it cannot look like another result, without control characters. */
export function plainLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}
