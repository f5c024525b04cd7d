/** Keys of a scorer with `kind: judge`. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { modelSection } from './modelSection.ts';
import { choice, duration, expects, fault, listOf, name, number, text } from './values.ts';

export const JUDGE_SUBJECTS = ['answer', 'observation'] as const;

const scorerName = text('careful judge', 'a name')
  .refine(
    (written) => !written.startsWith('person:') && written !== 'reward',
    expects('a name other than `reward` that does not start with `person:`', 'careful judge'),
  )
  .optional()
  .describe('Name of its verdicts, to tell several scorers of the same kind apart. Default: by its kind.');

/** Keys of scorers of all kinds. */
export const everyScorer = {
  name: scorerName,
  seconds: duration('10 min')
    .prefault(DEFAULTS.scorer.seconds)
    .describe(
      'Maximum duration of scoring an attempt, not counting holds and waiting for an endpoint. After it, the scorer ' +
        'is ended, and the attempt has no reward.',
    ),
};

const PARTS = expects('a list of marks, or an object with what each is about', '[format, factuality]');
const SCALE = expects('the lowest and the highest mark, two whole numbers', '[1, 5]');

export const judgeScorer = z
  .strictObject({
    kind: z.literal('judge').describe('A model judges the answer by a rubric; its explanation is kept.'),
    model: modelSection.describe('The model that judges.'),
    subject: choice(JUDGE_SUBJECTS)
      .default('answer')
      .describe(
        'What is judged. `answer`: the answer to the task. `observation`: the answer predicts what an environment ' +
          'would return, as in AgentWorldBench. It gets five marks (format, factuality, consistency, realism, ' +
          'quality) next to the expected one, and `rubric` adds to the criteria of its domain, which is the `level` ' +
          'of the task.',
      ),
    rubric: text('prompts/rubric.md', 'the rubric, or the path of a .md or .txt file')
      .optional()
      .describe(
        'The criteria: inline, or the path of a `.md` or `.txt` file. Required unless `subject` is `observation`.',
      ),
    parts: z
      .union([listOf(name, 'a list of marks', '[format, factuality]'), z.record(name, z.string())], PARTS)
      .optional()
      .describe(
        'Marks that the judge gives instead of one score: a list of names, or an object with what each is about. ' +
          'The value of the score is their mean, from 0 (the lowest mark) to 1.',
      ),
    scale: z
      .tuple([z.int(SCALE), z.int(SCALE)], SCALE)
      .optional()
      .describe(
        `With \`parts\`: the lowest and the highest mark. Default: \`[${DEFAULTS.scorer.scale.join(', ')}]\`. A mark ` +
          'below the scale counts as not given, one beyond it as the highest.',
      ),
    pass: number({ min: 0, max: 1, what: 'a number from 0 to 1', example: 0.5 })
      .default(DEFAULTS.scorer.pass)
      .describe('Minimum score to pass.'),
    ...everyScorer,
  })
  .superRefine(({ subject, rubric, parts, scale }, context) => {
    if (subject === 'answer' && rubric === undefined)
      fault(context, '`scorer.rubric` is missing', 'Add `rubric: prompts/rubric.md`, or write the rubric inline.', {
        code: 'missing',
      });
    if (parts !== undefined && Object.keys(parts).length === 0)
      fault(context, '`parts` of the judge names no mark', 'For example, write `parts: [format, factuality]`.', {
        path: ['parts'],
      });
    if (scale === undefined) return;
    if (parts === undefined && subject === 'answer')
      fault(context, '`scale` is that of marks, but the judge has no `parts`', 'Add `parts`, or remove `scale`.', {
        path: ['scale'],
        code: 'conflict',
      });
    else if (scale[0] >= scale[1])
      fault(context, 'the lowest mark of `scale` is not below the highest', 'For example, write `scale: [1, 5]`.', {
        path: ['scale'],
      });
  });
