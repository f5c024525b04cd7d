/** Keys of a world file with `kind: simulated`. */
import { z } from 'zod';
import { modelSection } from './modelSection.ts';
import { worldPath } from './nestedWorld.ts';
import { choice, path, text } from './values.ts';

/** The domains of Qwen-AgentWorld. */
export const WORLD_DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'] as const;
export type WorldDomain = (typeof WORLD_DOMAINS)[number];

/** An entry of `tools` of a simulated world. */
export const toolFile = z.strictObject({
  file: path('tools.json').describe(
    'A JSON file with tool definitions: a list, or an object with `tools`, in the format of MCP, OpenAI, or Anthropic.',
  ),
});

/** Keys with the parts of the system prompt, in its order. */
export const SIMULATION_PARTS = ['task', 'actions', 'state', 'demonstrations', 'instruction'] as const;
export type SimulationPart = (typeof SIMULATION_PARTS)[number];

const part = (about: string): z.ZodOptional<z.ZodString> =>
  text('state.md', 'a text, or the path of a .md or .txt file')
    .optional()
    .describe(
      `With \`kind: simulated\`: ${about} Inline, or the path of a \`.md\` or \`.txt\` file. \`{{task.NAME}}\` is ` +
        'replaced with a field or column of the task.',
    );

export const simulatedWorldKeys = {
  model: modelSection
    .optional()
    .describe('With `kind: simulated`: the model that plays the world, e.g. Qwen-AgentWorld, or any chat model.'),
  domain: choice(WORLD_DOMAINS)
    .default('mcp')
    .describe(
      'With `kind: simulated`: what is simulated, which selects the prompt. `mcp`: tools with any results. `search`: ' +
        'a search engine and its pages. `terminal`: a shell. `swe`: a code repository. `android`, `web`, `os`: ' +
        'screens as text.',
    ),
  task: part('what the model has to do. Default: the text of the domain.'),
  actions: part('what the agent can do. Default: the text of the domain. The tool definitions follow it.'),
  state: part('the initial state. The more it says, the closer is the simulation.'),
  demonstrations: part('examples of calls with their results.'),
  instruction: part('what must happen, e.g. which call fails and how.'),
  real: z
    .strictObject({ world: worldPath.describe('The world file. Its own `perturb` and `user` do not apply.') })
    .optional()
    .describe('With `kind: simulated`: the real world whose tools are simulated.'),
} as const;
