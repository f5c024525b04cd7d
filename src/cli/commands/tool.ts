import { StudioError } from '../../common/errors.ts';
import type { Command, CommandLine, Outcome } from '../command.ts';
import type { Context } from '../context.ts';

interface Verb {
  /** Minimum and maximum number of words after the verb. */
  readonly words: readonly [number, number];
  readonly options: readonly string[];
  run(context: Context, commandLine: CommandLine): Promise<Outcome>;
}

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    words: [1, 1],
    options: [],
    run: async (context, commandLine) => (await import('./tool/try.ts')).list(context, commandLine),
  },
  try: {
    words: [2, 2],
    options: ['args', 'arguments', 'batch', 'task'],
    run: async (context, commandLine) => (await import('./tool/try.ts')).tryTool(context, commandLine),
  },
  add: {
    words: [1, Infinity],
    options: ['url', 'header', 'env', 'from', 'server', 'name', 'only', 'dry-run'],
    run: async (context, commandLine) => (await import('./tool/add.ts')).add(context, commandLine),
  },
  openapi: {
    words: [1, 1],
    options: ['out', 'force'],
    run: async (context, commandLine) => (await import('./tool/openapi.ts')).openapi(context, commandLine),
  },
};

export const tool: Command = {
  name: 'tool',
  usage: 'list FILE | try FILE TOOL [--batch FILE] | add AGENT [-- COMMAND ARGS…] | openapi SPEC --out FILE',
  text:
    'Lists and runs tools without a batch; FILE is a tool module or an agent file. `add` adds an MCP server to an ' +
    'agent file. `openapi` generates a module with a tool for each operation of a service.',
  options: {
    args: { type: 'string', value: 'JSON', text: 'try: arguments as one JSON object ({})' },
    arguments: { type: 'string', value: 'FILE', text: 'try: JSON file with the arguments' },
    batch: { type: 'string', value: 'FILE', text: 'try: run the tool in the world of this batch file' },
    task: { type: 'string', value: 'ID', text: 'try: task to open the world for (the first)' },
    url: { type: 'string', value: 'URL', text: 'add: URL of an HTTP server, instead of a command' },
    header: {
      type: 'string',
      value: 'NAME:VALUE',
      multiple: true,
      text: 'add: HTTP header; write secrets as ${env:NAME}',
    },
    env: {
      type: 'string',
      value: 'NAME=VALUE',
      multiple: true,
      text: 'add: environment variable for the command; write secrets as ${env:NAME}',
    },
    from: {
      type: 'string',
      value: 'FILE',
      text: 'add: take the server from .vscode/mcp.json or a similar file of Claude, Cursor, and others',
    },
    server: { type: 'string', value: 'NAME', text: 'add: name of the server in that file' },
    name: { type: 'string', value: 'NAME', text: 'add: display name of the server' },
    only: { type: 'string', value: 'TOOL,TOOL', text: 'add: add only these tools' },
    'dry-run': { type: 'boolean', text: 'add: connect and list, but write nothing' },
    out: { type: 'string', value: 'FILE', text: 'openapi: TypeScript module to write' },
    force: { type: 'boolean', text: 'openapi: overwrite an existing file' },
  },
  async run(context, commandLine) {
    const [verb = '', ...words] = commandLine.words;
    const chosen = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (chosen === undefined || words.length < chosen.words[0] || words.length > chosen.words[1])
      throw new StudioError('usage', `usage: rollout tool ${tool.usage}`);
    const foreign = Object.keys(commandLine.options).find(
      (name) =>
        Object.hasOwn(tool.options, name) && commandLine.options[name] !== undefined && !chosen.options.includes(name),
    );
    if (foreign !== undefined)
      throw new StudioError('usage', `rollout tool ${verb} has no option --${foreign}.`, {
        hint: 'See all options with rollout tool --help.',
      });
    return chosen.run(context, { words, options: commandLine.options });
  },
};
