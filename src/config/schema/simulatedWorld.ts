/** Keys of a world file with `kind: simulated`. */
import { z } from 'zod';
import { factsSection } from './factsSection.ts';
import { modelSection } from './modelSection.ts';
import { worldPath } from './nestedWorld.ts';
import { toolEntry } from './toolEntry.ts';
import { amount, choice, duration, expects, fault, group, listOf, path, text, whole } from './values.ts';

/** The domains of Qwen-AgentWorld. */
export const WORLD_DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'] as const;
export type WorldDomain = (typeof WORLD_DOMAINS)[number];

/** Who answers the calls of a tool, if a real system is simulated. */
export const ROUTES = ['real', 'simulated', 'overlay'] as const;
export type Route = (typeof ROUTES)[number];

const route = z.strictObject({
  tools: listOf(text('find_*', 'the name of a tool'), 'a list of tools', '["find_*"]')
    .min(1, expects('at least one tool', '["find_*"]'))
    .describe('Names of tools. `*` stands for any text.'),
  by: choice(ROUTES).describe(
    '`real`: the tool itself. `simulated`: the model. `overlay`: the tool itself, which must be `pure`, and the ' +
      'model changes its answer by what it has simulated before.',
  ),
});

/** An entry of `tools` of a simulated world. */
const toolFile = z.strictObject({
  file: path('tools.json').describe(
    'A JSON file with tool definitions: a list, or an object with `tools`, in the format of MCP, OpenAI, or Anthropic.',
  ),
});

const RECORDING = 'last/borrow-one/1';
const recording = (about: string): z.ZodString => text(RECORDING, 'a recorded attempt').describe(about);

const recordedTools = z.strictObject({
  recorded: recording(
    'A recorded attempt, as BATCH/TASK/ATTEMPT or the ID of a rollout, or a file that `rollout import` reads: the ' +
      'tools that its agent had.',
  ),
  tools: listOf(text('find_member'), 'a list of tool names', '[find_member]')
    .optional()
    .describe('With `recorded`: the tools to use. Default: all.'),
});

const realSection = group(
  {
    world: worldPath.optional().describe('The world file. Its own `perturb` and `user` do not apply.'),
    tools: listOf(toolEntry, 'a list of tools', '[{ mcp: { command: uvx, args: [some-server] } }]')
      .min(1, expects('at least one entry', '[{ mcp: { command: uvx, args: [some-server] } }]'))
      .optional()
      .describe(
        'Tools that exist, as in an agent file. Workers open them, and call those that `route` names. All others ' +
          'are only listed.',
      ),
  },
  'a group of keys with `world` or `tools`',
  '{ world: library.world.yaml }',
).superRefine(({ world, tools }, context) => {
  if ((world === undefined) !== (tools === undefined)) return;
  fault(
    context,
    world === undefined ? '`real` needs `world` or `tools`' : '`real` has either `world` or `tools`, not both',
    world === undefined ? 'Add `world: library.world.yaml`, or `tools` as in an agent file.' : 'Remove one of them.',
    { code: world === undefined ? 'missing' : 'conflict' },
  );
});

/** What defines tools without being them: only their definitions are read, once, when the batch is submitted. */
export const definitionEntries = [toolFile, recordedTools, toolEntry] as const;

/** Keys with the parts of the system prompt, in its order. */
export const SIMULATION_PARTS = ['task', 'actions', 'state', 'demonstrations', 'instruction'] as const;
export type SimulationPart = (typeof SIMULATION_PARTS)[number];

const INLINE = 'a text, or the path of a .md or .txt file';
const INLINE_HELP =
  'Inline, or the path of a `.md` or `.txt` file. `{{task.NAME}}` is replaced with a field or column of the task.';

const part = (about: string): z.ZodOptional<z.ZodString> =>
  text('state.md', INLINE).optional().describe(`With \`kind: simulated\`: ${about} ${INLINE_HELP}`);

const SOURCES = ['sql', 'file', 'files', 'command', 'recorded'] as const;

const QUERY = 'SELECT id, title FROM books LIMIT 100';

const stateSource = group(
  {
    sql: group(
      {
        database: path('library.sqlite').describe('A SQLite file. It is only read.'),
        tables: listOf(text('members'), 'a list of tables', '[members]')
          .min(1, expects('a list of tables', '[members]'))
          .optional()
          .describe('Names of the tables to show. Default: all, or none with `queries`.'),
        queries: listOf(text(QUERY, 'a SQL query'), 'a list of queries', `[${QUERY}]`)
          .min(1, expects('a list of queries', `[${QUERY}]`))
          .optional()
          .describe(
            'SQL queries whose rows are shown, each below its text: what the model sees of a large database. They ' +
              'can only read, and each may take 60s.',
          ),
      },
      'a group of keys with `database`',
      '{ database: library.sqlite }',
    )
      .optional()
      .describe('The rows of a database.'),
    file: path('state.json').optional().describe('The text of a file.'),
    files: listOf(path('state.json'), 'a list of paths', '[state.json]')
      .min(1, expects('a list of paths', '[state.json]'))
      .optional()
      .describe('The texts of several files, each below its name.'),
    command: listOf(z.string(expects('text', 'git')), 'a list of texts', '[git, status]')
      .min(1, expects('a list of texts', '[git, status]'))
      .optional()
      .describe(
        'What a program prints. It runs once, when the batch is submitted, on the submitting machine, in the folder ' +
          'of this file. It is not interpreted by a shell.',
      ),
    timeout: duration('30s').optional().describe('With `command`: how long it may run. Default: 60s.'),
    recorded: recording(
      'A recorded attempt, as BATCH/TASK/ATTEMPT@SEQ or ROLLOUT@SEQ: its calls up to that event, with their results, ' +
        'and the rows that they changed. Without `@SEQ`: up to its end.',
    ).optional(),
  },
  INLINE,
  '{ file: state.json }',
).superRefine((state, context) => {
  const given = SOURCES.filter((key) => state[key] !== undefined);
  if (given.length !== 1)
    fault(
      context,
      given.length === 0
        ? `\`state\` needs one of ${SOURCES.map((key) => `\`${key}\``).join(', ')}`
        : `\`state\` has only one of ${given.map((key) => `\`${key}\``).join(' and ')}`,
      given.length === 0 ? 'For example, write `state: { file: state.json }`, or a text.' : 'Remove the others.',
      { code: given.length === 0 ? 'missing' : 'conflict' },
    );
  if (state.timeout !== undefined && state.command === undefined)
    fault(context, '`timeout` requires `command`', 'Remove it.', { path: ['timeout'], code: 'conflict' });
});
export type StateSource = z.output<typeof stateSource>;

const demonstrationSource = group(
  {
    recorded: z
      .union([
        text(RECORDING, 'a recorded attempt'),
        listOf(text(RECORDING, 'a recorded attempt'), 'a list of attempts', `[${RECORDING}]`).min(
          1,
          expects('a list of attempts', `[${RECORDING}]`),
        ),
      ])
      .describe('One or more recorded attempts, whose calls with their results are shown.'),
    calls: listOf(whole(1, 12), 'a list of events', '[12, 30]')
      .min(1, expects('a list of events', '[12, 30]'))
      .optional()
      .describe('The calls to show, as the SEQ of each in its attempt. Default: they are picked.'),
    tokens: amount('4k')
      .optional()
      .describe('How many tokens they may have, about. Default: 4000. Calls that do not fit are left out.'),
  },
  INLINE,
  `{ recorded: ${RECORDING} }`,
);
export type DemonstrationSource = z.output<typeof demonstrationSource>;

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
  context: amount('256k')
    .optional()
    .describe(
      'With `kind: simulated`: how many tokens the context of its model has, to show before a launch how many calls ' +
        'fit. Default: what its endpoint says.',
    ),
  task: part('what the model has to do. Default: the text of the domain.'),
  actions: part('what the agent can do. Default: the text of the domain. The tool definitions follow it.'),
  state: z
    .union([text('state.md', INLINE), stateSource])
    .optional()
    .describe(
      'With `kind: simulated`: the initial state. The more it says, the closer is the simulation. ' +
        `${INLINE_HELP} Or what it is taken from when the batch is submitted.`,
    ),
  demonstrations: z
    .union([text('demonstrations.md', INLINE), demonstrationSource])
    .optional()
    .describe(
      `With \`kind: simulated\`: examples of calls with their results. ${INLINE_HELP} Or recorded attempts, from ` +
        'which they are taken when the batch is submitted: for each tool, a call that succeeded and one that failed.',
    ),
  instruction: part('what must happen, e.g. which call fails and how.'),
  facts: factsSection
    .optional()
    .describe(
      'With `domain: search`: a database of invented facts. Code answers searches and keeps the memory of the agent; ' +
        'the model writes the pages, and each is checked against its row.',
    ),
  real: realSection
    .optional()
    .describe('With `kind: simulated`: a real world, or real tools, which are simulated, except as `route` says.'),
  route: listOf(route, 'a list of routes', '[{ tools: ["find_*"], by: real }]')
    .optional()
    .describe(
      'With `real`: who answers the calls of which tools. The first route that names a tool applies. The model ' +
        'simulates all others.',
    ),
} as const;
