/** Keys of a world file with `kind: code`. */
import { z } from 'zod';
import { choice, duration, expects, listOf, text, whole } from './values.ts';

export const WORLD_FORMATS = ['awm', 'agent-world'] as const;
export type WorldFormat = (typeof WORLD_FORMATS)[number];
export const WORLD_EXPOSE = ['tools', 'meta'] as const;
export const WORLD_VERIFIERS = ['code', 'sql', 'both'] as const;
export const WORLD_LINTS = ['refuse', 'warn', 'off'] as const;

/** Rewards by outcome. Those of Agent World Model, but nobody can say what an environment that failed was worth. */
const REWARDS = { complete: 1, partial: 0.1, agent_error: 0, format: -1, environment_error: null } as const;

const INSTANT = expects('a date and time with its zone', '2026-03-16T09:00:00Z');
const REWARD = expects('a number, or null', '1');

const reward = (value: number | null): z.ZodDefault<z.ZodNullable<z.ZodNumber>> =>
  z.number(REWARD).nullable().default(value);

/** Returns whether a text is a point in time, with its zone. */
function isInstant(written: string): boolean {
  return (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(written) && !Number.isNaN(Date.parse(written))
  );
}

const clock = z.union(
  [
    z.literal('real'),
    z.strictObject({
      start: z.string(INSTANT).refine(isInstant, INSTANT).describe('The time of the first call.'),
      step: duration('1s')
        .prefault(1)
        .describe('How much later it is at each further call that may write. Default: 1 s.'),
    }),
  ],
  expects('real, or a group with `start`', '{ start: 2026-03-16T09:00:00Z, step: 1s }'),
);

export const codeWorldKeys = {
  format: choice(WORLD_FORMATS)
    .optional()
    .describe(
      'With `kind: code`: the format of `from`. `awm`: Agent World Model, applications with a SQLite database. ' +
        '`agent-world`: Agent-World, Python functions with collections in JSON.',
    ),
  scenario: text('library', 'the name of a scenario')
    .optional()
    .describe('With `kind: code`: the scenario of tasks that name none in `world.scenario`.'),
  expose: choice(WORLD_EXPOSE)
    .default('tools')
    .describe(
      "With `kind: code`: what the agent gets. `tools`: the world's tools. `meta`: `list_tools` and `call_tool`, " +
        'which list and call them.',
    ),
  verifier: choice(WORLD_VERIFIERS)
    .default('code')
    .describe(
      "With `kind: code`: what judges the final state. `code`: the scenario's verifier. `sql`: a judge, with the " +
        'evidence that the scenario collects. `both`: both, and the reward is that of `code`.',
    ),
  rewards: z
    .strictObject({
      complete: reward(REWARDS.complete).describe('The task is done.'),
      partial: reward(REWARDS.partial).describe('The task is done in part.'),
      agent_error: reward(REWARDS.agent_error).describe('The agent failed.'),
      format: reward(REWARDS.format).describe('The last call had a form that cannot be run.'),
      environment_error: reward(REWARDS.environment_error).describe(
        'The world failed, so the attempt is unscored. `null`: no reward.',
      ),
    })
    .prefault({})
    .describe('With `kind: code`: the reward of each outcome. `null`: no score.'),
  set_aside: listOf(text('library-2', 'the ID of a task'), 'a list of task IDs', '[library-2]')
    .optional()
    .describe(
      'With `kind: code`: the tasks that batches leave out because their world is broken, by ID. The tab Health of a ' +
        'World page sets tasks aside. `rollout run --task` runs them anyway.',
    ),
  lint: choice(WORLD_LINTS)
    .default('refuse')
    .describe(
      'With `kind: code`: what happens before a batch is submitted. `refuse`: it is not if the lint finds errors ' +
        'in a scenario of its tasks. `warn`: the errors are warnings. `off`: scenarios are not linted.',
    ),
  python: text('.venv/bin/python', 'the name or path of a Python interpreter')
    .optional()
    .describe(
      'With `kind: code`: the Python interpreter, relative to this file. Default: the one that `rollout world setup` ' +
        'made, otherwise `python3`. Pods use `python3` of their image, unless that has this interpreter.',
    ),
  session: z
    .strictObject({
      memory_mb: whole(64, 512).default(512).describe('Maximum memory of a session, in MB.'),
      network: choice(['none']).default('none').describe('`none`: the code of the world has no network.'),
    })
    .prefault({})
    .describe('With `kind: code`: limits of each session.'),
  clock: clock
    .optional()
    .describe(
      "With `kind: code`: what the world's code takes for now. `real`: the clock of the machine, so that answers " +
        'differ between attempts. Default: the time of the template, one second later at each call that may write.',
    ),
} as const;
