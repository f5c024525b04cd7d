/**
 * White space in Python's `str.isspace` and `\s`. Unlike these, JavaScript's `\s` lacks the separators U+001C–U+001F
 * and U+0085, and includes U+FEFF.
 */
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;
const NON_ASCII_DIGIT = /[^\P{Nd}0-9]/gu;
const DIGIT = /\p{Nd}/u;
const DIGITS = '\\d(?:_?\\d)*';
const FINITE = new RegExp(`^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:e[+-]?${DIGITS})?$`, 'i');
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
const NOT_A_NUMBER = /^[+-]?nan$/i;

/** Returns the text without any of Python's white space. */
export function withoutSpace(text: string): string {
  return text.replace(SPACE, '');
}

/**
 * Returns the result of Python's `float(text)`, or null where it raises ValueError. It accepts decimal digits of any
 * script, white space around the number, `_` between two digits, and `inf`, `infinity`, and `nan` in any case.
 */
export function pythonFloat(text: string): number | null {
  const ascii = trim(text).replace(NON_ASCII_DIGIT, (digit) => String(digitValue(digit)));
  if (FINITE.test(ascii)) return Number(ascii.replaceAll('_', ''));
  const infinite = INFINITE.exec(ascii);
  if (infinite !== null) return infinite[1] === '-' ? -Infinity : Infinity;
  return NOT_A_NUMBER.test(ascii) ? NaN : null;
}

function trim(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && withoutSpace(text.charAt(from)) === '') from++;
  while (to > from && withoutSpace(text.charAt(to - 1)) === '') to--;
  return text.slice(from, to);
}

/** Unicode has the decimal digits of each script in one run from 0 to 9; adjacent runs have multiples of ten digits. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let start = code;
  while (DIGIT.test(String.fromCodePoint(start - 1))) start--;
  return (code - start) % 10;
}
