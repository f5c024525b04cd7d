/** Schema of `*.batch.yaml`: tasks × attempts with one agent, one world, and one scorer. */
import { z } from 'zod';
import { DEFAULTS } from '../defaults.ts';
import { version } from './agentFile.ts';
import { attemptsSection } from './attemptsSection.ts';
import { curriculumSection } from './curriculumSection.ts';
import { groupSection } from './groupSection.ts';
import { everyScorer, judgeScorer } from './judgeScorer.ts';
import { mixSection } from './mixSection.ts';
import { askedModels } from './modelSection.ts';
import { podsSection } from './podsSection.ts';
import { sandboxSection } from './sandboxSection.ts';
import {
  amount,
  choice,
  duration,
  expects,
  flag,
  group,
  listOf,
  name,
  number,
  path,
  share,
  text,
  whole,
} from './values.ts';

export const DATASET_FORMATS = ['jsonl', 'csv', 'json', 'gaia', 'awm', 'agent-world', 'agentworldbench'] as const;
/** Formats of published worlds. */
export const WORLD_DATASETS: readonly (typeof DATASET_FORMATS)[number][] = ['awm', 'agent-world'];

const column = (example: string): z.ZodString => text(example, 'the name of a column');

const dataset = group(
  {
    file: path('../data/tasks.jsonl').describe(
      'The dataset file, relative to this file. With `format: awm`, `agent-world`, or `agentworldbench`, also the ' +
        'folder with the published files.',
    ),
    format: choice(DATASET_FORMATS)
      .optional()
      .describe(
        '`jsonl` (one JSON object per line), `csv` (with a header), `json` (an array of objects), `gaia` ' +
          "(GAIA's `metadata.jsonl` with its attachments in the same folder), `awm` (tasks of Agent World Model), " +
          '`agent-world` (the questions of Agent-World), or `agentworldbench` (observations to predict, whose broken ' +
          'rows are left out). Default: by the name of the file.',
      ),
    question: column('question').optional().describe('Column with the question for the agent. Default: `question`.'),
    answer: column('answer').optional().describe('Column with the expected answer. Default: `answer`, if it exists.'),
    id: column('id')
      .optional()
      .describe('Column with the ID of the task. Default: `id`, if it exists, otherwise `#` and the line number.'),
    level: column('level').optional().describe('Column with the difficulty. Default: `level`, if it exists.'),
    files: column('files')
      .optional()
      .describe(
        'Column with the path of an attachment, or a list of paths, relative to the dataset. Attachments are copied ' +
          'to the working directory of the rollout. Default: `files`, if it exists.',
      ),
    messages: column('messages')
      .optional()
      .describe(
        'Column with the conversation that the task continues: a list of messages, each with `role` (`system`, only ' +
          'for the first, `user`, or `assistant`) and `content`. The question follows it. A system message is used ' +
          "instead of the agent's prompt. Default: `messages`, if it exists.",
      ),
    world: column('world')
      .optional()
      .describe(
        'Column with the start of the world: an object with `scenario`, `seed`, and `state`. Default: `world`, if it ' +
          'exists.',
      ),
    scenarios: listOf(text('library', 'the name of a scenario'), 'a list of scenarios', '[library]')
      .optional()
      .describe('Only tasks of these scenarios of published worlds. `limit` and `offset` count these tasks.'),
    limit: whole(1, 100).optional().describe('Maximum number of tasks.'),
    offset: whole(0, 100).default(DEFAULTS.offset).describe('Number of tasks to skip at the start.'),
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
          'The answer equals the expected answer by the rules of GAIA: compares numbers as numbers, lists item by ' +
            'item, and text without case, whitespace, and punctuation.',
        ),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z.literal('contains').describe('The answer contains the expected text.'),
      ignore_case: flag.default(DEFAULTS.scorer.ignore_case).describe('Whether to ignore case.'),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z
        .literal('regex')
        .describe(
          'A pattern extracts the part of the answer that is compared with the expected answer. A task without an ' +
            'expected answer passes on any match.',
        ),
      pattern: text('"Answer: (.*)"', 'a regular expression').describe(
        'A JavaScript regular expression. Its first group, or the whole match, is compared.',
      ),
      flags: z
        .string(expects('flags of a regular expression', 'i'))
        .default(DEFAULTS.scorer.flags)
        .describe('Flags of `pattern`, e.g. `i`.'),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z.literal('number').describe('The number in the answer is close to the expected number.'),
      abs: number({ min: 0, what: 'a number, 0 or more', example: 0.01 })
        .default(DEFAULTS.scorer.abs)
        .describe('Absolute tolerance.'),
      rel: number({ min: 0, what: 'a number, 0 or more', example: 0.001 })
        .default(DEFAULTS.scorer.rel)
        .describe('Relative tolerance, as a fraction of the expected number.'),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z.literal('json').describe('The answer is the expected JSON value.'),
      ignore_order: flag.default(DEFAULTS.scorer.ignore_order).describe('Whether to ignore the order of lists.'),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z.literal('module').describe('Your own scoring function.'),
      module: path('score.ts').describe('The TypeScript or JavaScript module, relative to this file.'),
      export: text('score').default(DEFAULTS.scorer.export).describe('The exported function.'),
      models: askedModels
        .optional()
        .describe('Models that the function may ask with `context.ask`, by name. It never sees their keys.'),
      ...everyScorer,
    }),
    z.strictObject({
      kind: z.literal('world').describe('The verifier of the world checks its final state.'),
      ...everyScorer,
    }),
    judgeScorer,
  ],
  expects('a scorer', '{ kind: exact }'),
);

const COST = expects('a cost above 0, in the currency of the prices', '0.5');
const EVERYONE = expects('everyone, or a list of users', 'everyone');
const CONCURRENCY = expects('auto, or a whole number, 1 or more', 'auto');

export const batchFile = z.strictObject({
  version,
  agent: path('../agents/desk.agent.yaml').describe('The agent file, relative to this file.'),
  world: path('../worlds/library.world.yaml')
    .optional()
    .describe('The world file, relative to this file. Without a world, the agent has only its own tools.'),
  dataset: dataset.describe(
    'The tasks, and the meaning of their columns. All other columns are in `task.meta`. Until an attempt is scored, ' +
      'its worker knows neither the expected answer nor the columns in `task.meta` that no prompt, no world, and no ' +
      'breakpoint uses.',
  ),
  attempts: attemptsSection,
  mix: mixSection
    .optional()
    .describe('Parts of the attempts of each task that sample differently, or have another prompt, with their shares.'),
  seed: whole(0, 7).default(DEFAULTS.seed).describe('Seed for everything random, so that a batch can be reproduced.'),
  scorer: scorer.describe('Decides whether an attempt passes.'),
  stop: z
    .strictObject({
      passes_per_task: whole(1, 8).optional().describe('Stops attempts of a task after this many passes.'),
      failures: share('50%')
        .optional()
        .describe('Ends the batch when this share of the finished attempts did not pass. Checked from the 20th on.'),
      tokens: amount('50M').optional().describe('Ends the batch when it has used this many tokens.'),
      tokens_per_task: amount('200k')
        .optional()
        .describe('Begins no more attempts of a task when its attempts have used this many tokens.'),
      cost_per_task: z
        .number(COST)
        .positive(COST)
        .optional()
        .describe(
          'Begins no more attempts of a task when those that have ended cost this much, by the `price` of the models.',
        ),
      rollout: text("'repeats > 3 || usage.tokens > 50000'", 'a condition in CEL')
        .optional()
        .describe(
          'Ends a rollout as truncated if this condition in CEL is true after a step. Variables: `steps`, `calls` ' +
            'and `errors` (tool calls, and failed ones), `repeats` (how often the newest call was made before, in a ' +
            'row and with the same arguments), `ms`, `usage.tokens`, `usage.input_tokens`, and ' +
            '`usage.output_tokens`.',
        ),
    })
    .prefault({})
    .describe('When to stop early, to avoid unnecessary cost.'),
  retry: z
    .strictObject({
      infrastructure: whole(0, 3)
        .default(DEFAULTS.retry.infrastructure)
        .describe(
          'How often to retry an attempt after an infrastructure failure. Failures of the agent are never retried.',
        ),
    })
    .prefault({})
    .describe('What to retry.'),
  target: text('local', 'local, or the name of a cluster')
    .default(DEFAULTS.target)
    .describe('Where the batch runs. `local`: on this machine. Any other name: a cluster, see `rollout target`.'),
  concurrency: z
    .union([z.literal('auto'), z.int().min(1, CONCURRENCY)], CONCURRENCY)
    .default(DEFAULTS.concurrency)
    .describe('Maximum number of concurrent rollouts. `auto` adapts to the load of the model server.'),
  notify: z
    .strictObject({
      url: text('https://example.org/hook', 'a URL').describe(
        'Receives a POST request with the report when the batch ends.',
      ),
    })
    .optional()
    .describe('Sends a notification when the batch ends.'),
  share: z
    .union([z.literal('everyone'), z.array(text('alice', 'the name of a user')).min(1)], EVERYONE)
    .optional()
    .describe('Who else sees the batch in a cluster: `everyone`, or a list of users. By default only who launches it.'),
  order: choice(['breadth', 'depth'])
    .default(DEFAULTS.order)
    .describe('`breadth`: runs the first attempt of every task first. `depth`: runs all attempts of a task in a row.'),
  priority: z
    .int(expects('a whole number', '0'))
    .default(DEFAULTS.priority)
    .describe('Batches with a higher number run first.'),
  queue: name
    .optional()
    .describe('Queue of the server whose share the batch uses, see `rollout queue`. Default: `default`.'),
  hold_limit: duration('1h')
    .prefault(DEFAULTS.hold_limit)
    .describe('How long a breakpoint or a step holds a rollout before it continues automatically.'),
  sandbox: sandboxSection.default(DEFAULTS.sandbox.mode),
  curriculum: curriculumSection
    .optional()
    .describe('Runs only tasks of a band of difficulty, or in its order, by the pass rates of an earlier batch.'),
  group: groupSection
    .optional()
    .describe('For a trainer: what the groups are that it requests, if `rollout run --groups` opens the batch.'),
  pods: podsSection.optional().describe('Settings of the pods if `target` is a cluster.'),
});
export type BatchFile = z.output<typeof batchFile>;
export type ScorerSection = BatchFile['scorer'];
export type DatasetSection = BatchFile['dataset'];

/** A file that has only a scorer, for `rollout rescore`. */
export const scorerFile = z.strictObject({
  version: version.optional(),
  scorer: scorer.describe('Decides whether an attempt passes.'),
});
