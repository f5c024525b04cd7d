import type { Scorer } from '../rollout/ports.ts';
import { NO_ANSWER, NO_EXPECTATION, textOf, verdict } from './expected.ts';

/**
 * Passes if the answer's text contains the expected text; for a list, every element. Case-sensitive unless
 * `ignore_case`.
 */
export function containsScorer(options: { readonly ignore_case: boolean }): Scorer {
  const fold = (text: string): string => (options.ignore_case ? text.toLowerCase() : text);
  return {
    name: 'contains',
    score({ task, answer }) {
      const expected = (Array.isArray(task.answer) ? task.answer : [task.answer ?? null]).map(textOf);
      const required = expected.filter((text) => text !== null);
      if (required.length === 0) return Promise.resolve(NO_EXPECTATION);
      const text = textOf(answer);
      if (text === null) return Promise.resolve(NO_ANSWER);
      const missing = required.filter((part) => !fold(text).includes(fold(part)));
      if (missing.length === 0) return Promise.resolve(verdict(true));
      return Promise.resolve(
        verdict(false, `Missing in the answer: ${missing.map((part) => JSON.stringify(part)).join(', ')}.`),
      );
    },
  };
}
