/** The pages of a search world as texts: facts for the model that writes around them, and a page without a model. */

import { shortened } from '../../common/text.ts';
import type { FactPage } from '../../config/facts/pages.ts';
import { plainLine } from './searchIndex.ts';

/** Longer texts are shortened on pages. */
const MAX_TEXT = 4_000;

/** Returns the texts of a page as it shows them. */
export function textsOf({ text }: FactPage): string[] {
  return Object.values(text).map((value) => shortened(value, MAX_TEXT));
}

/** Returns the facts of a page as one line of JSON, so that nothing in a row looks like a part of the prompt. */
export function factsText(page: FactPage): string {
  const { url, title, date, answers } = page;
  const texts = textsOf(page);
  return JSON.stringify({
    url,
    title,
    ...(date === undefined ? {} : { date }),
    ...(texts.length === 0 ? {} : { texts }),
    facts: answers,
  });
}

/** Returns the page that code makes of its row. */
export function plainPage(page: FactPage): string {
  const { title, date, answers } = page;
  const facts = [...(date === undefined ? [] : [['date', date] as const]), ...Object.entries(answers)];
  const lines = facts.map(([name, value]) => `- ${plainLine(name.replaceAll('_', ' '))}: ${plainLine(String(value))}`);
  return [`# ${plainLine(title)}`, ...textsOf(page), lines.join('\n')].filter((part) => part !== '').join('\n\n');
}
