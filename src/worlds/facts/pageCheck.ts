/** Checks a page that a model wrote against the row that it is about. */
import type { Answers } from '../../config/facts/answers.ts';
import type { FactPage } from '../../config/facts/pages.ts';
import { hasWords, isFigure, partsOfDay, type Word, wordsOf } from '../../config/facts/words.ts';
import { textsOf } from './pageText.ts';

/** A page with more problems than this is wrong anyway. */
const MAX_PROBLEMS = 8;
/** The numbers of a list are no facts. */
const LIST_NUMBER = /^[ \t]*\d{1,2}[.)][ \t]+/gm;

/**
 * Returns what is wrong with a page: each fact must be there, and neither an answer of another row nor a number that
 * its own row does not have. Texts may be told in other words, but their numbers must be there. `urls`: addresses,
 * which pages may name.
 */
export function pageProblems(
  page: FactPage,
  written: string,
  answers: Answers,
  urls: { has(url: string): boolean },
): string[] {
  const words = wordsOf(
    written
      .replaceAll(/https?:\/\/[^\s)\]>"']+/g, (url) => (urls.has(url.replace(/[.,;:]+$/, '')) ? ' ' : url))
      .replaceAll(LIST_NUMBER, ''),
  );
  const figures = new Set(words.flatMap((word) => [word, ...partsOfDay(word)]).filter(isFigure));
  const texts = textsOf(page).map(wordsOf);
  const facts: readonly (readonly [name: string, value: string | number])[] = [
    ['title', page.title],
    ...(page.date === undefined ? [] : [['date', page.date] as const]),
    ...Object.entries(page.answers),
  ];
  const own = [...texts, ...facts.map(([, value]) => wordsOf(String(value)))];
  const allowed = new Set([...own, wordsOf(page.url)].flat().flatMap((word) => [word, ...partsOfDay(word)]));
  const given = new Set(facts.flatMap(([, value]) => wordsOf(String(value))));
  const problems: string[] = [];
  for (const [name, value] of facts)
    if (!isThere(words, figures, String(value), written)) problems.push(`${name} is missing: ${JSON.stringify(value)}`);
  for (const figure of new Set(texts.flat().filter(isFigure)))
    if (!figures.has(figure) && !given.has(figure)) problems.push(`the number ${shown(figure)} of the text is missing`);
  for (const figure of new Set(words.filter(isFigure)))
    if (!allowed.has(figure)) problems.push(`${shown(figure)} is not in the facts`);
  const others = new Set<string>();
  for (const answer of answers.in(words))
    if (!own.some((ownWords) => hasWords(ownWords, answer.words)) && !answer.words.every(isFigure))
      others.add(`${answer.column} of another page, ${JSON.stringify(answer.page.title)}, is here`);
  return [...problems, ...others].slice(0, MAX_PROBLEMS);
}

function isThere(words: readonly Word[], figures: ReadonlySet<Word>, value: string, written: string): boolean {
  const own = wordsOf(value);
  const [only, ...more] = own;
  if (only === undefined) return written.includes(value.trim()); // only signs
  return more.length === 0 && isFigure(only) ? figures.has(only) : hasWords(words, own);
}

function shown(figure: Word): string {
  return figure.slice(1);
}
