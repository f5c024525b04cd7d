/** `*.batch.yaml`: tasks × attempts with one agent, one world, one scorer. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { version } from './agentFile.ts';
import { modelSection } from './modelSection.ts';
import { podsSection } from './podsSection.ts';
import { amount, choice, duration, expects, flag, group, number, path, share, text, whole } from './values.ts';

export const DATASET_FORMATS = ['jsonl', 'csv', 'json', 'gaia'] as const;

const column = (example: string): z.ZodString => text(example, 'the name of a column');

const dataset = group(
  {
    file: path('../data/tasks.jsonl').describe('The file of tasks, relative to this one.'),
    format: choice(DATASET_FORMATS)
      .optional()
      .describe(
        '`jsonl` (one JSON object per line), `csv` (with a header), `json` (one array of objects) or `gaia` ' +
          "(GAIA's `metadata.jsonl` with its attachments beside it). Absent: by the ending of the file's name.",
      ),
    question: column('question').optional().describe('Column with the problem the agent is given. Absent: `question`.'),
    answer: column('answer')
      .optional()
      .describe('Column with the expected outcome. Absent: `answer`, if there is one.'),
    id: column('id')
      .optional()
      .describe('Column that names a task. Absent: `id`, if there is one, else `#` and the line.'),
    level: column('level').optional().describe('Column with the difficulty. Absent: `level`, if there is one.'),
    files: column('files')
      .optional()
      .describe(
        'Column with the path of an attachment, or a list of them, relative to the dataset; they are laid into ' +
          "the rollout's working directory. Absent: `files`, if there is one.",
      ),
    world: column('world')
      .optional()
      .describe(
        'Column with what the world starts from: an object with `seed` and `state`. Absent: `world`, if there is one.',
      ),
    limit: whole(1, 100).optional().describe('Only so many tasks.'),
    offset: whole(0, 100).default(DEFAULTS.offset).describe('Leaves out so many tasks first.'),
  },
  'a group of keys with `file`',
  '{ file: ../data/tasks.jsonl }',
);

const scorer = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z
        .literal('exact')
        .describe(
          'The same by the rules of GAIA: numbers as numbers, lists item by item, texts without case, blanks and ' +
            'punctuation.',
        ),
    }),
    z.strictObject({
      kind: z.literal('contains').describe('The answer contains the expected text.'),
      ignore_case: flag.default(DEFAULTS.scorer.ignore_case).describe('Whether capitals count as small letters.'),
    }),
    z.strictObject({
      kind: z
        .literal('regex')
        .describe(
          'A pattern takes the part of the answer that is compared with the expected text. A task without one ' +
            'passes on any match.',
        ),
      pattern: text('"Answer: (.*)"', 'a regular expression').describe(
        'A JavaScript regular expression. Its first group, or the whole match, is compared.',
      ),
      flags: z
        .string(expects('flags of a regular expression', 'i'))
        .default(DEFAULTS.scorer.flags)
        .describe('Flags of `pattern`, e.g. `i`.'),
    }),
    z.strictObject({
      kind: z.literal('number').describe('The number in the answer is near enough to the expected one.'),
      abs: number({ min: 0, what: 'a number, 0 or more', example: 0.01 })
        .default(DEFAULTS.scorer.abs)
        .describe('Passes within this absolute distance.'),
      rel: number({ min: 0, what: 'a number, 0 or more', example: 0.001 })
        .default(DEFAULTS.scorer.rel)
        .describe('Passes within this share of the expected number.'),
    }),
    z.strictObject({
      kind: z.literal('json').describe('The answer is the expected JSON value.'),
      ignore_order: flag.default(DEFAULTS.scorer.ignore_order).describe('Whether the order of lists does not matter.'),
    }),
    z.strictObject({
      kind: z.literal('module').describe('A function of your own.'),
      module: path('score.ts').describe('The TypeScript or JavaScript module, relative to this file.'),
      export: text('score').default(DEFAULTS.scorer.export).describe('The exported function.'),
    }),
    z.strictObject({ kind: z.literal('world').describe('The verifier of the world looks at its final state.') }),
    z.strictObject({
      kind: z.literal('judge').describe('A model judges by a rubric; its explanation is kept.'),
      model: modelSection.describe('The model that judges.'),
      rubric: text('prompts/rubric.md', 'the rubric, or the path of a .md or .txt file').describe(
        'What is judged and how: inline, or the path of a `.md` or `.txt` file.',
      ),
      pass: number({ min: 0, max: 1, what: 'a number from 0 to 1', example: 0.5 })
        .default(DEFAULTS.scorer.pass)
        .describe('A score from here on has passed.'),
    }),
  ],
  expects('a scorer', '{ kind: exact }'),
);

const CONCURRENCY = expects('auto, or a whole number, 1 or more', 'auto');

export const batchFile = z.strictObject({
  version,
  agent: path('../agents/desk.agent.yaml').describe('The agent file, relative to this one.'),
  world: path('../worlds/library.world.yaml')
    .optional()
    .describe("The world file, relative to this one. Absent: the agent's own tools are all there is."),
  dataset: dataset.describe('The tasks, and which of their columns mean what.'),
  attempts: whole(1, 32).default(DEFAULTS.attempts).describe('Attempts at each task.'),
  seed: whole(0, 7).default(DEFAULTS.seed).describe('Seed of all that is random, so that a batch can be run again.'),
  scorer: scorer.describe('What decides whether an attempt passed.'),
  stop: z
    .strictObject({
      passes_per_task: whole(1, 8).optional().describe('No further attempts at a task that so many attempts passed.'),
      failures: share('50%')
        .optional()
        .describe('Ends the batch when this share of the settled attempts did not pass; looked at from the 20th on.'),
      tokens: amount('50M').optional().describe('Ends the batch when it has used so many tokens.'),
    })
    .prefault({})
    .describe('When to stop early, against cost that nobody wanted.'),
  retry: z
    .strictObject({
      infrastructure: whole(0, 3)
        .default(DEFAULTS.retry.infrastructure)
        .describe(
          "Further tries at an attempt whose try was lost by infrastructure. Never for an agent's own failure.",
        ),
    })
    .prefault({})
    .describe('What is tried again.'),
  target: text('local', 'local, or the name of a cluster')
    .default(DEFAULTS.target)
    .describe('Where the batch runs. `local`: on this machine. Any other name: a cluster, see `rollout target`.'),
  concurrency: z
    .union([z.literal('auto'), z.int().min(1, CONCURRENCY)], CONCURRENCY)
    .default(DEFAULTS.concurrency)
    .describe('Most rollouts at once. `auto` follows what the model server can take.'),
  notify: z
    .strictObject({
      url: text('https://example.org/hook', 'a URL').describe('Gets a POST with the report when the batch has ended.'),
    })
    .optional()
    .describe('Who is told at the end.'),
  order: choice(['breadth', 'depth'])
    .default(DEFAULTS.order)
    .describe('`breadth`: every task gets its first attempt first. `depth`: all attempts of a task one after another.'),
  priority: z
    .int(expects('a whole number', '0'))
    .default(DEFAULTS.priority)
    .describe('Batches with a higher number go first.'),
  hold_limit: duration('1h')
    .prefault(DEFAULTS.hold_limit)
    .describe('How long a breakpoint or a step holds a rollout before it goes on by itself.'),
  pods: podsSection.optional().describe('How pods look, where `target` is a cluster.'),
});
export type BatchFile = z.output<typeof batchFile>;
export type ScorerSection = BatchFile['scorer'];
export type DatasetSection = BatchFile['dataset'];
