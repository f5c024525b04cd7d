import type { Json } from '../common/json.ts';
import type { Scorer } from '../rollout/ports.ts';
import { NO_ANSWER, NO_EXPECTATION, textOf, unscorable, verdict } from './expected.ts';
import { pythonFloat } from './pythonFloat.ts';

const NUMBER_IN_TEXT = /[+-]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/g;

/**
 * Passes if |answer − expected| ≤ max(abs, rel · |expected|).
 *
 * The number of an answer is the whole text read as a number (a currency sign, `%`, thousands separators, and a Unicode
 * minus are accepted), otherwise the last number in it, because models end with their result.
 */
export function numberScorer(options: { readonly abs: number; readonly rel: number }): Scorer {
  return {
    name: 'number',
    score({ task, answer }) {
      if (task.answer === undefined || task.answer === null) return Promise.resolve(NO_EXPECTATION);
      const expected = numberOf(task.answer);
      if (expected === null)
        return Promise.resolve(unscorable(`The expected answer is not a number: ${JSON.stringify(task.answer)}.`));
      if (answer === null) return Promise.resolve(NO_ANSWER);
      const actual = numberOf(answer);
      if (actual === null) return Promise.resolve(verdict(false, 'The answer contains no number.'));
      const tolerance = Math.max(options.abs, options.rel * Math.abs(expected));
      const passed = actual === expected || Math.abs(actual - expected) <= tolerance;
      return Promise.resolve(passed ? verdict(true) : verdict(false, `${actual} is not ${expected} ± ${tolerance}.`));
    },
  };
}

/** Returns the number in a value, or null if it holds no comparable number. */
function numberOf(value: Json): number | null {
  if (typeof value === 'number') return value;
  const text = typeof value === 'string' ? value : textOf(value);
  if (text === null) return null;
  const plain = text.replace(/\u2212/g, '-');
  const whole = pythonFloat(plain.replace(/[$€£¥%,]/g, ''));
  if (whole !== null) return Number.isNaN(whole) ? null : whole;
  const last = plain.match(NUMBER_IN_TEXT)?.at(-1);
  return last === undefined ? null : Number(last.replace(/[,_]/g, ''));
}
