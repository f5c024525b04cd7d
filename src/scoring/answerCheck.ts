import type { Scorer } from '../rollout/ports.ts';
import { ANSWER_CHECK } from '../trace/cause.ts';

/** Adds what a scorer compared as a check: the answer next to the expected one. */
export function withAnswerCheck(scorer: Scorer): Scorer {
  return {
    name: scorer.name,
    async score(input) {
      const verdict = await scorer.score(input);
      if (verdict.passed === null) return verdict;
      const { task, answer } = input;
      const expected = task.answer === undefined ? {} : { expected: task.answer };
      return { ...verdict, checks: [{ name: ANSWER_CHECK, passed: verdict.passed, ...expected, actual: answer }] };
    },
  };
}
