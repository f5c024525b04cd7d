/** An entry of `tools:`. */
import { z } from 'zod';
import { choice, expects, fault, flag, group, listOf, path, programs, text } from './values.ts';

export const BUILTINS = ['terminal', 'code', 'calculator', 'files'] as const;

const mcpServer = group({
  command: text('uvx').optional().describe('The program that is the server, spoken to over its standard input and output.'),
  args: listOf(z.string(expects('text', 'some-server')), 'a list of texts', '[some-server]').optional().describe('Arguments of `command`, each one text; no shell reads them.'),
  env: z.record(z.string(), z.string(expects('text', '"${env:TOKEN}"'))).optional().describe('Environment variables of `command`. Secrets by `${env:NAME}`.'),
  cwd: text('.').optional().describe('Folder that `command` starts in, relative to this file. Absent: the working directory of the rollout.'),
  url: text('http://localhost:3000/mcp').optional().describe('A server over streamable HTTP, instead of `command`.'),
  headers: z.record(z.string(), text('"${env:TOKEN}"')).optional().describe('HTTP headers sent to `url`. Secrets by `${env:NAME}`.'),
}, 'a group of keys with `command` or `url`', '{ command: uvx, args: [some-server] }')
  .superRefine((server, context) => {
    if ((server.command === undefined) === (server.url === undefined)) {
      const both = server.command !== undefined;
      fault(context, both ? 'an MCP server has either `command` or `url`, not both' : 'an MCP server needs `command` or `url`',
        both ? 'Remove one of the two.' : 'Add `command: uvx` with `args:`, or `url: http://…`.', { code: both ? 'conflict' : 'missing' });
      return;
    }
    const foreign = server.command === undefined ? (['args', 'env', 'cwd'] as const) : (['headers'] as const);
    for (const key of foreign) {
      if (server[key] === undefined) continue;
      fault(context, `\`${key}\` means nothing beside \`${server.command === undefined ? 'url' : 'command'}\``, 'Remove it.', { path: [key], code: 'conflict' });
    }
  });

export const toolEntry = group({
  module: path('tools/loans.ts').optional().describe('A TypeScript or JavaScript module: each exported tool is one the model may call.'),
  mcp: mcpServer.optional().describe('An MCP server: `command` and `args`, or `url`.'),
  builtin: listOf(choice(BUILTINS), `a list out of ${BUILTINS.join(', ')}`, '[terminal, code]').min(1, expects(`a list out of ${BUILTINS.join(', ')}`, '[terminal, code]')).optional()
    .describe(`Tools of the product: ${BUILTINS.join(', ')}.`),
  name: text('search').optional().describe('With `mcp`: the name this server is shown under. Absent: taken from its command or URL.'),
  shared: flag.optional().describe('With `mcp`: one connection for all rollouts of a worker instead of one each. Only for servers that keep nothing between calls.'),
  needs: programs().optional().describe('Programs that the tools start, beyond Node.js: `python`, `git`, `browser`. A batch is refused where nothing has them: on this machine the PATH, in pods `pods.image` with `pods.provides`. What the command of an MCP server shows need not be told.'),
  tools: listOf(text('read_file'), 'a list of tool names', '[read_file]').optional().describe('With `mcp`: only these of its tools. Absent: all.'),
}, 'an entry with one of `module`, `mcp`, `builtin`', 'builtin: [calculator]')
  .superRefine((entry, context) => {
    const kinds = (['module', 'mcp', 'builtin'] as const).filter((kind) => entry[kind] !== undefined);
    if (kinds.length === 0) {
      fault(context, 'an entry of `tools` needs one of `module`, `mcp`, `builtin`', 'Write for example `- module: tools/loans.ts`.', { code: 'missing' });
    } else if (kinds.length > 1) {
      fault(context, `an entry of \`tools\` is one thing, not ${kinds.map((kind) => `\`${kind}\``).join(' and ')} at once`, 'Give each its own `-`.', { code: 'conflict' });
    }
    if (entry.needs !== undefined && entry.mcp?.url !== undefined) {
      fault(context, '`needs` means nothing beside `url`: that server runs elsewhere', 'Remove it.', { path: ['needs'], code: 'conflict' });
    }
    if (entry.mcp !== undefined) return;
    for (const key of ['name', 'shared', 'tools'] as const) {
      if (entry[key] !== undefined) fault(context, `\`${key}\` belongs to \`mcp\``, 'Remove it.', { path: [key], code: 'conflict' });
    }
  });
export type ToolEntry = z.output<typeof toolEntry>;
