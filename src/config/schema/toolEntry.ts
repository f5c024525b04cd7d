/** An entry of `tools:`. */
import { z } from 'zod';
import { BUILTIN_TOOLS } from '../tools/builtinTools.ts';
import { CATALOGUE, CATALOGUE_NAMES, type CatalogueName } from '../tools/mcp/catalogue.ts';
import {
  audioSettings,
  browserSettings,
  codeSettings,
  NEEDS_SETTINGS,
  SETTINGS,
  searchSettings,
  visionSettings,
} from './builtinSettings.ts';
import { processLimits } from './processLimits.ts';
import { choice, expects, fault, flag, group, listOf, path, programs, text } from './values.ts';

export const BUILTINS = [
  'browser',
  'terminal',
  'code',
  'spreadsheet',
  'documents',
  'calculator',
  'files',
  'search',
  'vision',
  'audio',
] as const;

const mcpServer = group(
  {
    command: text('uvx')
      .optional()
      .describe('The program that is the server, spoken to over its standard input and output.'),
    args: listOf(z.string(expects('text', 'some-server')), 'a list of texts', '[some-server]')
      .optional()
      .describe('Arguments of `command`, each one text; no shell reads them.'),
    env: z
      .record(z.string(), z.string(expects('text', '"${env:TOKEN}"')))
      .optional()
      .describe('Environment variables of `command`. Secrets by `${env:NAME}`.'),
    cwd: text('.')
      .optional()
      .describe(
        'Folder that `command` starts in, relative to this file. Absent: the working directory of the rollout.',
      ),
    url: text('http://localhost:3000/mcp').optional().describe('A server over streamable HTTP, instead of `command`.'),
    headers: z
      .record(z.string(), text('"${env:TOKEN}"'))
      .optional()
      .describe('HTTP headers sent to `url`. Secrets by `${env:NAME}`.'),
  },
  'a group of keys with `command` or `url`',
  '{ command: uvx, args: [some-server] }',
).superRefine((server, context) => {
  if ((server.command === undefined) === (server.url === undefined)) {
    const both = server.command !== undefined;
    fault(
      context,
      both ? 'an MCP server has either `command` or `url`, not both' : 'an MCP server needs `command` or `url`',
      both ? 'Remove one of the two.' : 'Add `command: uvx` with `args:`, or `url: http://…`.',
      { code: both ? 'conflict' : 'missing' },
    );
    return;
  }
  const foreign = server.command === undefined ? (['args', 'env', 'cwd'] as const) : (['headers'] as const);
  for (const key of foreign) {
    if (server[key] === undefined) continue;
    fault(
      context,
      `\`${key}\` means nothing beside \`${server.command === undefined ? 'url' : 'command'}\``,
      'Remove it.',
      { path: [key], code: 'conflict' },
    );
  }
});

/** An MCP server as written, or as a name of the catalogue stands for it. */
type McpSection = z.output<typeof mcpServer> & { readonly catalogued?: CatalogueName };

function catalogued(name: CatalogueName): McpSection {
  const { command, args, env } = CATALOGUE[name];
  return { command, args: [...args], env: { ...env }, catalogued: name };
}

const SETTINGS_MEND: Readonly<Record<(typeof NEEDS_SETTINGS)[number], string>> = {
  search: 'Add `search: { provider: brave, api_key: "${env:BRAVE_KEY}" }`; others are google and searxng.',
  vision: 'Add `vision: { endpoint: "http://localhost:8000/v1", model: … }`, a model that sees images.',
  audio: 'Add `audio: { endpoint: "http://localhost:8000/v1", model: … }`, a model that transcribes speech.',
};

export const toolEntry = group(
  {
    module: path('tools/loans.ts')
      .optional()
      .describe('A TypeScript or JavaScript module: each exported tool is one the model may call.'),
    mcp: z
      .union([choice(CATALOGUE_NAMES).transform(catalogued), mcpServer.transform((server): McpSection => server)])
      .optional()
      .describe(
        'An MCP server: `command` and `args`, or `url`; or one of these by its name: ' +
          `${CATALOGUE_NAMES.map((name) => `\`${name}\` (${CATALOGUE[name].about})`).join('; ')}.`,
      ),
    builtin: listOf(choice(BUILTINS), `a list out of ${BUILTINS.join(', ')}`, '[terminal, code]')
      .min(1, expects(`a list out of ${BUILTINS.join(', ')}`, '[terminal, code]'))
      .optional()
      .describe(
        'Sets of tools of the product: ' +
          `${BUILTINS.map((set) => `${set} (${BUILTIN_TOOLS[set].join(', ')})`).join('; ')}. ` +
          `${NEEDS_SETTINGS.join(', ')} need a key of their name beside it. \`browser\` needs Chromium or Chrome; ` +
          '`code` needs Python, unless `code: { languages: [javascript] }` stands beside it.',
      ),
    search: searchSettings.optional().describe('With `builtin: [search]`: who searches.'),
    vision: visionSettings.optional().describe('With `builtin: [vision]`: the model that looks at images.'),
    audio: audioSettings.optional().describe('With `builtin: [audio]`: the model that transcribes speech.'),
    browser: browserSettings.optional().describe('With `builtin: [browser]`: where it may go.'),
    code: codeSettings.optional().describe('With `builtin: [code]`: the languages it runs.'),
    secrets: z
      .record(z.string(), text('"${env:API_KEY}"'))
      .optional()
      .describe(
        'With `module`: what its tools find in `context.secrets`, by name. Values by `${env:NAME}`; they are ' +
          'taken out of every record.',
      ),
    limits: processLimits
      .optional()
      .describe(
        'With `builtin: [terminal]`, `[code]`, or the command of an `mcp`: bounds of each process that they ' +
          'start, where the system keeps them.',
      ),
    name: text('search')
      .optional()
      .describe('With `mcp`: the name this server is shown under. Absent: taken from its command or URL.'),
    shared: flag
      .optional()
      .describe(
        'With `mcp`: one connection for all rollouts of a worker instead of one each. Only for servers that keep ' +
          'nothing between calls.',
      ),
    needs: programs()
      .optional()
      .describe(
        'Programs that the tools start, beyond Node.js: `python`, `git`, `browser`. A batch is refused where ' +
          'nothing has them: on this machine the PATH, in pods `pods.image` with `pods.provides`. What the command ' +
          'of an MCP server shows need not be told.',
      ),
    tools: listOf(text('read_file'), 'a list of tool names', '[read_file]')
      .optional()
      .describe('With `mcp`: only these of its tools. Absent: all.'),
  },
  'an entry with one of `module`, `mcp`, `builtin`',
  'builtin: [calculator]',
).superRefine((entry, context) => {
  const kinds = (['module', 'mcp', 'builtin'] as const).filter((kind) => entry[kind] !== undefined);
  if (kinds.length === 0) {
    fault(
      context,
      'an entry of `tools` needs one of `module`, `mcp`, `builtin`',
      'Write for example `- module: tools/loans.ts`.',
      { code: 'missing' },
    );
  } else if (kinds.length > 1) {
    fault(
      context,
      `an entry of \`tools\` is one thing, not ${kinds.map((kind) => `\`${kind}\``).join(' and ')} at once`,
      'Give each its own `-`.',
      { code: 'conflict' },
    );
  }
  if (entry.needs !== undefined && entry.mcp?.url !== undefined) {
    fault(context, '`needs` means nothing beside `url`: that server runs elsewhere', 'Remove it.', {
      path: ['needs'],
      code: 'conflict',
    });
  }
  for (const key of SETTINGS) {
    if (entry[key] !== undefined && entry.builtin?.includes(key) !== true) {
      fault(context, `\`${key}\` belongs to \`builtin: [${key}]\``, `Add ${key} to \`builtin\`, or remove the key.`, {
        path: [key],
        code: 'conflict',
      });
    }
  }
  for (const set of NEEDS_SETTINGS) {
    if (entry[set] !== undefined || entry.builtin?.includes(set) !== true) continue;
    fault(context, `the built-in \`${set}\` needs \`${set}\` beside it`, SETTINGS_MEND[set], {
      path: ['builtin', entry.builtin.indexOf(set)],
      code: 'missing',
    });
  }
  if (
    entry.limits !== undefined &&
    entry.mcp?.command === undefined &&
    !(entry.builtin ?? []).some((set) => set === 'terminal' || set === 'code')
  ) {
    fault(
      context,
      '`limits` is for `terminal`, `code` and the command of an `mcp`',
      'Remove it: nothing else of an agent starts processes that it could bound.',
      { path: ['limits'], code: 'conflict' },
    );
  }
  if (entry.secrets !== undefined && entry.module === undefined) {
    fault(context, '`secrets` belongs to `module`', 'Give a server `env` or `headers` instead.', {
      path: ['secrets'],
      code: 'conflict',
    });
  }
  if (entry.mcp !== undefined) return;
  for (const key of ['name', 'shared', 'tools'] as const) {
    if (entry[key] !== undefined)
      fault(context, `\`${key}\` belongs to \`mcp\``, 'Remove it.', { path: [key], code: 'conflict' });
  }
});
export type ToolEntry = z.output<typeof toolEntry>;
