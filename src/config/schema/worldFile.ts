/** `*.world.yaml`: the environment a task runs in. */
import { z } from 'zod';
import { version } from './agentFile.ts';
import { modelSection } from './modelSection.ts';
import { choice, listOf, name, number, path, programs, text } from './values.ts';

export const WORLD_KINDS = ['module', 'code', 'simulated', 'recorded'] as const;

export const worldFile = z.strictObject({
  version,
  name: name.describe('Name of the world, as shown in trajectories.'),
  kind: choice(WORLD_KINDS).describe(
    'What the world is made of. `module`: a TypeScript or JavaScript module. The other kinds are not yet available.',
  ),
  module: path('library.ts').optional().describe('With `kind: module`: the module, which exports `open`.'),
  needs: programs().optional().describe('Programs that the world starts, beyond Node.js, as `needs` of tools.'),
  user: z
    .strictObject({
      model: modelSection.describe('The model that plays the user.'),
      prompt: text('prompts/user.md', 'the prompt, or the path of a .md or .txt file').describe(
        'Who the user is and what they want: inline, or the path of a `.md` or `.txt` file. `{{task.NAME}}` is ' +
          'replaced.',
      ),
    })
    .optional()
    .describe('A simulated user who answers the agent.'),
  perturb: listOf(
    z.strictObject({
      when: text('\'tool.name == "renew_loan"\'', 'a CEL expression').describe('A CEL expression over the call.'),
      p: number({ min: 0, max: 1, what: 'a probability from 0 to 1', example: 0.1 }).describe(
        'How often the fault happens where `when` is true.',
      ),
      effect: choice(['error', 'delay', 'timeout', 'truncate', 'drop', 'text']).describe('The fault.'),
      args: z.record(z.string(), z.unknown()).optional().describe('Details of the effect.'),
    }),
    'a list of faults',
    '[]',
  )
    .default([])
    .describe('Faults put into tool calls, by rule and seed. Not yet available.'),
});
export type WorldFile = z.output<typeof worldFile>;
