/** `attempts` of a batch file: how many per task. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { UNTIL } from '../submission/adaptive.ts';
import { choice, expects, fault, whole } from './values.ts';

const range = z
  .strictObject({
    least: whole(1, 4).describe('Number of attempts that every task gets.'),
    most: whole(1, 32).describe('Maximum number of attempts per task.'),
    until: choice(UNTIL).describe(
      'When a task gets no further attempts. `informative`: one passed and one failed. `solved`: one passed.',
    ),
  })
  .superRefine(({ least, most }, context) => {
    if (least > most)
      fault(context, `\`least\` is ${least}, but \`most\` is ${most}`, 'Increase `most`, or decrease `least`.', {
        path: ['least'],
        code: 'conflict',
      });
  });

const NUMBER = expects('a whole number, 1 or more', '32');
const GROUP = expects(
  'a whole number, 1 or more, or `least`, `most`, and `until`',
  '{ least: 4, most: 32, until: informative }',
);

export const attemptsSection = z
  .union([whole(1, 32), range], { error: (issue) => (typeof issue.input === 'object' ? GROUP : NUMBER).error })
  .default(DEFAULTS.attempts)
  .describe(
    'Number of attempts per task. With `least`, `most`, and `until`: a task starts with the least number, and gets ' +
      'more while it needs them.',
  );

type AttemptsSection = z.output<typeof attemptsSection>;

/** Returns the maximum number of attempts per task. */
export function mostAttempts(attempts: AttemptsSection): number {
  return typeof attempts === 'number' ? attempts : attempts.most;
}
