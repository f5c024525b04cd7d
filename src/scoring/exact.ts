/**
 * The quasi-exact match of the GAIA benchmark, as implemented by its public scorer and the copies in AWorld:
 *
 * 1. The truth is a number (by Python's `float`): `$`, `%`, and `,` are removed from the answer, and the two numbers
 *    must be equal, without tolerance.
 * 2. Otherwise, if the truth has a `,` or `;`: both are lists, split at either. Same length, same order; an element is
 *    compared as a number if the truth's element is one, otherwise as text without white space, in lower case, and with
 *    punctuation.
 * 3. Otherwise: as text without white space, in lower case, without ASCII punctuation.
 *
 * Intentional differences:
 * - An answer that is no number never equals a number. The original reads it as +infinity, so "abc" passes for "inf".
 * - No answer (null) fails. The original compares the word "None", so it passes for the truth "None".
 * - A truth that is `true` or `false` in JSON is that word. Python's `float(True)` is 1.
 * - A task without a truth, or whose truth is a list or an object, is unscorable instead of an error or a failure.
 */

import type { Json } from '../common/json.ts';
import type { Scorer, Verdict } from '../rollout/ports.ts';
import { NO_ANSWER, NO_EXPECTATION, textOf, unscorable, verdict } from './expected.ts';
import { pythonFloat, withoutSpace } from './pythonFloat.ts';

const LIST_SEPARATOR = /[,;]/;
const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/g;

export const exactScorer: Scorer = {
  name: 'exact',
  score: ({ task, answer }) => Promise.resolve(scoreExact(answer, task.answer)),
};

function scoreExact(answer: Json, expected: Json | undefined): Verdict {
  if (expected === undefined || expected === null) return NO_EXPECTATION;
  if (typeof expected === 'object')
    return unscorable('The expected answer is a list or an object: use the json scorer.');
  const text = textOf(answer);
  if (text === null) return NO_ANSWER;
  const truth = String(expected);
  return exactMatch(text, truth) ? verdict(true) : verdict(false, `Expected ${JSON.stringify(truth)}.`);
}

/** Whether an answer matches the truth by the rules above. */
export function exactMatch(answer: string, truth: string): boolean {
  const number = pythonFloat(truth);
  if (number !== null) return numberFrom(answer) === number;
  if (LIST_SEPARATOR.test(truth)) {
    const truths = truth.split(LIST_SEPARATOR);
    const answers = answer.split(LIST_SEPARATOR);
    return truths.length === answers.length && truths.every((element, i) => elementMatches(answers[i] ?? '', element));
  }
  return plain(answer).replace(ASCII_PUNCTUATION, '') === plain(truth).replace(ASCII_PUNCTUATION, '');
}

function elementMatches(answer: string, truth: string): boolean {
  const number = pythonFloat(truth);
  return number === null ? plain(answer) === plain(truth) : numberFrom(answer) === number;
}

function numberFrom(answer: string): number | null {
  return pythonFloat(answer.replace(/[$%,]/g, ''));
}

function plain(text: string): string {
  return withoutSpace(text).toLowerCase();
}
