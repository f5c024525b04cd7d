/** Schema of `*.world.yaml`: the environment that a task runs in. */
import { z } from 'zod';
import { version } from './agentFile.ts';
import { codeWorldKeys } from './codeWorld.ts';
import { askedModels, modelSection } from './modelSection.ts';
import { perturbRule } from './perturbSection.ts';
import { recordedWorldKeys, worldFrom } from './recordedWorld.ts';
import { lookaheadSection, shadowSection } from './shadowSection.ts';
import { definitionEntries, simulatedWorldKeys } from './simulatedWorld.ts';
import { choice, expects, listOf, name, path, programs, text } from './values.ts';

export const WORLD_KINDS = ['module', 'code', 'simulated', 'recorded'] as const;

export const worldFile = z.strictObject({
  version,
  name: name.describe('Name of the world, as shown in trajectories.'),
  kind: choice(WORLD_KINDS).describe(
    'How the world is implemented. `module`: a TypeScript or JavaScript module. `code`: a scenario of published ' +
      'files, in Python. `simulated`: a language model. `recorded`: the calls of recorded attempts.',
  ),
  module: path('library.ts').optional().describe('With `kind: module`: the module, which exports `open`.'),
  ...codeWorldKeys,
  ...simulatedWorldKeys,
  ...recordedWorldKeys,
  from: worldFrom
    .optional()
    .describe(
      'With `kind: code`: the folder with the published files, or one of these files, relative to this file. With ' +
        '`kind: recorded`: a list of batches, tasks (`BATCH/TASK`), attempts (`BATCH/TASK/N`), rollouts, and files ' +
        'of recordings. Both are read when a batch is submitted, and only what its tasks need is sent.',
    ),
  tools: listOf(
    z.union(
      [text('find_member', 'the name of a tool'), ...definitionEntries],
      expects(
        'the name of a tool, or a `file`, `module`, `mcp`, `builtin`, or `recorded` that defines tools',
        'find_member',
      ),
    ),
    'a list of tools',
    '[find_member]',
  )
    .optional()
    .describe(
      'With `kind: code` or `recorded`: the names of the tools to offer. Default: all. With `kind: simulated`: what ' +
        'defines its tools. The definitions are read once, when the batch is submitted, and nothing of it is ever ' +
        'called.',
    ),
  needs: programs().optional().describe('Programs that the world starts, beyond Node.js. See `needs` of tools.'),
  models: askedModels
    .optional()
    .describe('Models that its tools and `verify` may ask with `context.ask`, by name. They never see the keys.'),
  user: z
    .strictObject({
      model: modelSection.describe('The model that acts as the user.'),
      prompt: text('prompts/user.md', 'the prompt, or the path of a .md or .txt file').describe(
        'Who the user is and what they want: inline, or the path of a `.md` or `.txt` file. `{{task.NAME}}` is ' +
          'replaced with a field or column of the task.',
      ),
    })
    .optional()
    .describe('A simulated user who answers the agent.'),
  perturb: listOf(perturbRule, 'a list of rules', '[]')
    .default([])
    .describe(
      'Faults injected into tool calls, by rule and seed, for every tool of the rollout. The first rule that matches ' +
        'a call applies.',
    ),
  shadow: shadowSection
    .optional()
    .describe(
      'A world that predicts each tool call before it is made. The agent does not see the prediction; the score of ' +
        'the call says how far it agrees with the response.',
    ),
  lookahead: lookaheadSection
    .optional()
    .describe(
      'A world that answers the built-in tool `predict`, which agents then have: what a call of another tool would ' +
        'return, before they make it.',
    ),
});
export type WorldFile = z.output<typeof worldFile>;
