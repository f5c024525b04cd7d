import type { Json } from '../common/json.ts';
import type { Verdict } from '../rollout/ports.ts';
import { ANSWER_CHECK } from '../trace/cause.ts';

/**
 * Returns an answer or an expected value as the text that text scorers compare: strings unchanged, numbers and booleans
 * as in JSON, lists and objects as compact JSON. `null` has no text: there is no answer.
 */
export function textOf(value: Json): string | null {
  if (value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function verdict(passed: boolean, explanation?: string): Verdict {
  return { value: passed ? 1 : 0, passed, ...(explanation === undefined ? {} : { explanation }) };
}

/** No answer: failed instead of unscorable, so that a model does not benefit from an empty answer. */
export const NO_ANSWER: Verdict = {
  ...verdict(false, 'No answer.'),
  checks: [{ name: ANSWER_CHECK, passed: false, actual: null }],
};

/** The attempt cannot be scored and counts as unscored. */
export function unscorable(explanation: string): Verdict {
  return { value: null, passed: null, explanation };
}

/** The verdict for a task without an expected answer. */
export const NO_EXPECTATION: Verdict = unscorable('The task has no expected answer.');
