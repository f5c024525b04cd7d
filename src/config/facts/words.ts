/**
 * Texts as words that can be compared: without case, accents, and punctuation. `1,200` and `1200.0` are the same
 * number, and `4 May 1912`, `May 4, 1912`, and `1912-05-04` the same day.
 */

/** A number begins with `#`, a day with `@`. */
export type Word = string;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] as const;
const MONTH =
  'jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|' +
  'nov(?:ember)?|dec(?:ember)?';
const DAY = String.raw`(\d{1,2})(?:st|nd|rd|th)?`;
/** Scripts that write words without spaces: each character counts. */
const UNSPACED = `[${['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]`;
const WORDS = new RegExp(
  [
    String.raw`(?<![\p{L}\d])(\d{4})-(\d{2})-(\d{2})(?!\d)`,
    String.raw`(?<![\p{L}\d])${DAY}(?: of)? (${MONTH})\.?,? (\d{4})(?!\d)`,
    String.raw`(?<!\p{L})(${MONTH})\.? ${DAY},? (\d{4})(?!\d)`,
    String.raw`((?<![\p{L}\d])-)?(\d{1,3}(?:,\d{3})+(?!\d)|\d+)(\.\d+)?(e[+-]?\d+)?`,
    UNSPACED,
    String.raw`(?:(?!${UNSPACED})\p{L})+`,
  ].join('|'),
  'gu',
);

/** Returns the words of a text, in order. */
export function wordsOf(text: string): Word[] {
  const plain = text
    .replaceAll(/[²³¹⁰-⁹₀-₉]/g, '') // an exponent is no digit of its number
    .replaceAll(/(?<=\d)[\u00a0\u2009\u202f'’](?=\d{3}(?!\d))/g, ',')
    .normalize('NFKC')
    .replaceAll('−', '-')
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/\s+/g, ' ');
  return Array.from(plain.matchAll(WORDS), (match) => {
    const [whole, year, month, day, day2, month2, year2, month3, day3, year3, sign = '', digits] = match;
    if (year !== undefined) return dayOf(year, month, day);
    if (year2 !== undefined) return dayOf(year2, monthOf(month2), day2);
    if (year3 !== undefined) return dayOf(year3, monthOf(month3), day3);
    if (digits === undefined) return whole;
    const [fraction = '', exponent = ''] = match.slice(12);
    return `#${Number(`${sign}${digits.replaceAll(',', '')}${fraction}${exponent}`)}`;
  });
}

function dayOf(year: string, month = '', day = ''): Word {
  return `@${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

function monthOf(name = ''): string {
  return String(MONTHS.findIndex((month) => name.startsWith(month)) + 1);
}

/** Whether a word is a number or a day. */
export function isFigure(word: Word): boolean {
  return word.startsWith('#') || word.startsWith('@');
}

/** Returns the numbers that a day is written with. */
export function partsOfDay(word: Word): Word[] {
  return word.startsWith('@')
    ? word
        .slice(1)
        .split('-')
        .map((part) => `#${Number(part)}`)
    : [];
}

/** Whether `words` has all of `part`, one after another. An empty part is in nothing. */
export function hasWords(words: readonly Word[], part: readonly Word[]): boolean {
  return part.length > 0 && words.some((_, at) => startsAt(words, at, part));
}

/** Whether `part` begins at a position of `words`. */
export function startsAt(words: readonly Word[], at: number, part: readonly Word[]): boolean {
  return part.every((word, index) => words[at + index] === word);
}
