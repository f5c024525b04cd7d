/** What Python does with texts, where JavaScript differs: published scores must be repeated exactly. */

/**
 * White space in Python's `str.isspace` and `\s`, as a part of a character class. Unlike these, JavaScript's `\s` lacks
 * the separators U+001C–U+001F and U+0085, and includes U+FEFF.
 */
export const PYTHON_SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

const SPACE = new RegExp(`[${PYTHON_SPACE}]`);
const NON_ASCII_DIGIT = /[^\P{Nd}0-9]/gu;
const DIGIT = /\p{Nd}/u;

/** Returns the result of `text.strip()`. */
export function strip(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && SPACE.test(text.charAt(from))) from++;
  while (to > from && SPACE.test(text.charAt(to - 1))) to--;
  return text.slice(from, to);
}

/** Replaces decimal digits of all scripts, which Python's numbers may have, with those from 0 to 9. */
export function asciiDigits(text: string): string {
  return text.replace(NON_ASCII_DIGIT, (digit) => String(digitValue(digit)));
}

/** Unicode has the decimal digits of each script in one run from 0 to 9; adjacent runs have multiples of ten digits. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let start = code;
  while (DIGIT.test(String.fromCodePoint(start - 1))) start--;
  return (code - start) % 10;
}
