/** Schema of an entry in `tools:`. */
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
import { askedModels } from './modelSection.ts';
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
      .describe('The program that runs the server. It communicates over standard input and output.'),
    args: listOf(z.string(expects('text', 'some-server')), 'a list of texts', '[some-server]')
      .optional()
      .describe('Arguments of `command`. They are not interpreted by a shell.'),
    env: z
      .record(z.string(), z.string(expects('text', '"${env:TOKEN}"')))
      .optional()
      .describe('Environment variables of `command`. Write secrets as `${env:NAME}`.'),
    cwd: text('.')
      .optional()
      .describe('Folder where `command` starts, relative to this file. Default: the working directory of the rollout.'),
    url: text('http://localhost:3000/mcp')
      .optional()
      .describe('URL of a server over streamable HTTP, instead of `command`.'),
    headers: z
      .record(z.string(), text('"${env:TOKEN}"'))
      .optional()
      .describe('HTTP headers sent to `url`. Write secrets as `${env:NAME}`.'),
  },
  'a group of keys with `command` or `url`',
  '{ command: uvx, args: [some-server] }',
).superRefine((server, context) => {
  if ((server.command === undefined) === (server.url === undefined)) {
    const both = server.command !== undefined;
    fault(
      context,
      both ? 'an MCP server has either `command` or `url`, not both' : 'an MCP server needs `command` or `url`',
      both ? 'Remove one of them.' : 'Add `command: uvx` with `args:`, or `url: http://…`.',
      { code: both ? 'conflict' : 'missing' },
    );
    return;
  }
  const unsupported = server.command === undefined ? (['args', 'env', 'cwd'] as const) : (['headers'] as const);
  for (const key of unsupported) {
    if (server[key] === undefined) continue;
    fault(
      context,
      `\`${key}\` has no effect with \`${server.command === undefined ? 'url' : 'command'}\``,
      'Remove it.',
      { path: [key], code: 'conflict' },
    );
  }
});

/** An MCP server as written, or the one that a catalog name stands for. */
type McpSection = z.output<typeof mcpServer> & { readonly catalogued?: CatalogueName };

function catalogued(name: CatalogueName): McpSection {
  const { command, args, env } = CATALOGUE[name];
  return { command, args: [...args], env: { ...env }, catalogued: name };
}

const SETTINGS_HINTS: Readonly<Record<(typeof NEEDS_SETTINGS)[number], string>> = {
  search: 'Add `search: { provider: brave, api_key: "${env:BRAVE_KEY}" }`. Other providers are google and searxng.',
  vision: 'Add `vision: { endpoint: "http://localhost:8000/v1", model: … }` with a model that accepts images.',
  audio: 'Add `audio: { endpoint: "http://localhost:8000/v1", model: … }` with a model that transcribes speech.',
};

export const toolEntry = group(
  {
    module: path('tools/loans.ts')
      .optional()
      .describe('A TypeScript or JavaScript module. The model may call every tool that it exports.'),
    mcp: z
      .union([choice(CATALOGUE_NAMES).transform(catalogued), mcpServer.transform((server): McpSection => server)])
      .optional()
      .describe(
        'An MCP server: `command` and `args`, or `url`, or one of these names: ' +
          `${CATALOGUE_NAMES.map((name) => `\`${name}\` (${CATALOGUE[name].description})`).join('; ')}.`,
      ),
    builtin: listOf(choice(BUILTINS), `a list of ${BUILTINS.join(', ')}`, '[terminal, code]')
      .min(1, expects(`a list of ${BUILTINS.join(', ')}`, '[terminal, code]'))
      .optional()
      .describe(
        'Built-in tool sets: ' +
          `${BUILTINS.map((set) => `${set} (${BUILTIN_TOOLS[set].join(', ')})`).join('; ')}. ` +
          `${NEEDS_SETTINGS.join(', ')} need settings under a key of the same name. \`browser\` needs Chromium or ` +
          'Chrome; `code` needs Python, unless you add `code: { languages: [javascript] }`.',
      ),
    search: searchSettings.optional().describe('With `builtin: [search]`: the search provider.'),
    vision: visionSettings.optional().describe('With `builtin: [vision]`: the model that describes images.'),
    audio: audioSettings.optional().describe('With `builtin: [audio]`: the model that transcribes speech.'),
    browser: browserSettings.optional().describe('With `builtin: [browser]`: what it may access.'),
    code: codeSettings.optional().describe('With `builtin: [code]`: the supported languages.'),
    secrets: z
      .record(z.string(), text('"${env:API_KEY}"'))
      .optional()
      .describe(
        'With `module`: secrets that its tools get in `context.secrets`, by name. Write values as `${env:NAME}`; ' +
          'they are removed from all records.',
      ),
    models: askedModels
      .optional()
      .describe(
        'With `module`: models that its tools may ask with `context.ask`, by name. The tools never see their keys.',
      ),
    limits: processLimits
      .optional()
      .describe(
        'With `builtin: [terminal]`, `[code]`, or the command of an `mcp`: limits of each process that they start, ' +
          'if the operating system supports them.',
      ),
    name: text('search')
      .optional()
      .describe('With `mcp`: display name of the server. Default: derived from its command or URL.'),
    shared: flag
      .optional()
      .describe(
        'With `mcp`: uses one connection for all rollouts of a worker instead of one each. Only for servers that ' +
          'keep no state between calls.',
      ),
    needs: programs()
      .optional()
      .describe(
        'Programs that the tools start, beyond Node.js: `python`, `git`, `browser`. A batch is rejected if they are ' +
          'missing: on this machine from the PATH, in a cluster from `pods.image` (see `pods.provides`). The command ' +
          'of an MCP server is detected automatically.',
      ),
    tools: listOf(text('read_file'), 'a list of tool names', '[read_file]')
      .optional()
      .describe('With `mcp`: the tools to use. Default: all.'),
  },
  'an entry with one of `module`, `mcp`, `builtin`',
  'builtin: [calculator]',
).superRefine((entry, context) => {
  const kinds = (['module', 'mcp', 'builtin'] as const).filter((kind) => entry[kind] !== undefined);
  if (kinds.length === 0) {
    fault(
      context,
      'an entry of `tools` needs one of `module`, `mcp`, `builtin`',
      'For example, write `- module: tools/loans.ts`.',
      { code: 'missing' },
    );
  } else if (kinds.length > 1) {
    fault(
      context,
      `an entry of \`tools\` cannot have ${kinds.map((kind) => `\`${kind}\``).join(' and ')} at the same time`,
      'Make each a separate entry with its own `-`.',
      { code: 'conflict' },
    );
  }
  if (entry.needs !== undefined && entry.mcp?.url !== undefined) {
    fault(context, '`needs` has no effect with `url`: that server runs elsewhere', 'Remove it.', {
      path: ['needs'],
      code: 'conflict',
    });
  }
  for (const key of SETTINGS) {
    if (entry[key] !== undefined && entry.builtin?.includes(key) !== true) {
      fault(context, `\`${key}\` requires \`builtin: [${key}]\``, `Add ${key} to \`builtin\`, or remove \`${key}\`.`, {
        path: [key],
        code: 'conflict',
      });
    }
  }
  for (const set of NEEDS_SETTINGS) {
    if (entry[set] !== undefined || entry.builtin?.includes(set) !== true) continue;
    fault(context, `the built-in \`${set}\` needs settings under \`${set}\``, SETTINGS_HINTS[set], {
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
      '`limits` only applies to `terminal`, `code`, and the command of an `mcp`',
      'Remove it: other tools do not start processes.',
      { path: ['limits'], code: 'conflict' },
    );
  }
  if (entry.secrets !== undefined && entry.module === undefined) {
    fault(context, '`secrets` requires `module`', 'For a server, use `env` or `headers`.', {
      path: ['secrets'],
      code: 'conflict',
    });
  }
  if (entry.models !== undefined && entry.module === undefined) {
    fault(context, '`models` requires `module`', 'Remove it: only the tools of modules can ask models.', {
      path: ['models'],
      code: 'conflict',
    });
  }
  if (entry.mcp !== undefined) return;
  for (const key of ['name', 'shared', 'tools'] as const) {
    if (entry[key] !== undefined)
      fault(context, `\`${key}\` requires \`mcp\``, 'Remove it.', { path: [key], code: 'conflict' });
  }
});
export type ToolEntry = z.output<typeof toolEntry>;
