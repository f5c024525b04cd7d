import { asciiDigits, PYTHON_SPACE, strip } from '../common/pythonText.ts';

const SPACE = new RegExp(`[${PYTHON_SPACE}]`, 'g');
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
  const ascii = asciiDigits(strip(text));
  if (FINITE.test(ascii)) return Number(ascii.replaceAll('_', ''));
  const infinite = INFINITE.exec(ascii);
  if (infinite !== null) return infinite[1] === '-' ? -Infinity : Infinity;
  return NOT_A_NUMBER.test(ascii) ? NaN : null;
}
