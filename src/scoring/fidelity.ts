import { plural } from '../common/text.ts';
import type { Scorer } from '../rollout/ports.ts';
import { isRight } from '../trace/prediction/fidelity.ts';

/**
 * Sums up how well a world predicted the calls of a rollout. `value` = the mean of their scores; `passed` = each
 * prediction agrees in everything that it could know. A rollout without predictions has no score.
 */
export const fidelityScorer: Scorer = {
  name: 'fidelity',
  score: ({ predictions }) => {
    const values = predictions.flatMap(({ value }) => (value === null ? [] : [value]));
    if (predictions.length === 0)
      return Promise.resolve({ value: null, passed: null, explanation: 'The world predicted none of its calls.' });
    const right = predictions.filter(isRight).length;
    const failed = predictions.length - values.length;
    return Promise.resolve({
      value: values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length,
      passed: right === predictions.length,
      explanation:
        `${right} of ${plural(predictions.length, 'call')} predicted as recorded` +
        (failed === 0 ? '.' : `; ${failed} without a prediction.`),
    });
  },
};
