import { StudioError } from '../../common/errors.ts';
import type { Command, CommandLine, Outcome } from '../command.ts';
import type { Context } from '../context.ts';

interface Verb {
  /** Words after the verb, at least and at most. */
  readonly words: readonly [number, number];
  readonly options: readonly string[];
  run(context: Context, given: CommandLine): Promise<Outcome>;
}

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    words: [1, 1],
    options: [],
    run: async (context, given) => (await import('./tool/try.ts')).list(context, given),
  },
  try: {
    words: [2, 2],
    options: ['args', 'arguments', 'batch', 'task'],
    run: async (context, given) => (await import('./tool/try.ts')).tryIt(context, given),
  },
  add: {
    words: [1, Infinity],
    options: ['url', 'header', 'env', 'from', 'server', 'name', 'only', 'dry-run'],
    run: async (context, given) => (await import('./tool/add.ts')).add(context, given),
  },
  openapi: {
    words: [1, 1],
    options: ['out', 'force'],
    run: async (context, given) => (await import('./tool/openapi.ts')).openapi(context, given),
  },
};

export const tool: Command = {
  name: 'tool',
  usage: 'list FILE | try FILE TOOL [--batch FILE] | add AGENT [-- COMMAND ARGS…] | openapi SPEC --out FILE',
  text:
    'Tools as they are written, without any batch: FILE is a tool module or an agent file. `add` puts an MCP ' +
    'server into an agent file; `openapi` writes a module with a tool for each operation of a service.',
  options: {
    args: { type: 'string', value: 'JSON', text: 'try: the arguments, as one JSON object ({})' },
    arguments: { type: 'string', value: 'FILE', text: 'try: a JSON file with the arguments' },
    batch: { type: 'string', value: 'FILE', text: 'try: in the world that this batch file names' },
    task: { type: 'string', value: 'ID', text: 'try: the task it is opened for (the first)' },
    url: { type: 'string', value: 'URL', text: 'add: a server over HTTP, instead of a command' },
    header: {
      type: 'string',
      value: 'NAME:VALUE',
      multiple: true,
      text: 'add: an HTTP header; secrets as ${env:NAME}',
    },
    env: {
      type: 'string',
      value: 'NAME=VALUE',
      multiple: true,
      text: 'add: an environment variable of the command; secrets as ${env:NAME}',
    },
    from: {
      type: 'string',
      value: 'FILE',
      text: 'add: a server of .vscode/mcp.json, or of such a file of Claude, Cursor and others',
    },
    server: { type: 'string', value: 'NAME', text: 'add: which server of that file' },
    name: { type: 'string', value: 'NAME', text: 'add: the name it is shown under' },
    only: { type: 'string', value: 'TOOL,TOOL', text: 'add: only these of its tools' },
    'dry-run': { type: 'boolean', text: 'add: connect and list, but write nothing' },
    out: { type: 'string', value: 'FILE', text: 'openapi: the TypeScript module that is written' },
    force: { type: 'boolean', text: 'openapi: also when it exists' },
  },
  async run(context, given) {
    const [verb = '', ...words] = given.words;
    const chosen = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (chosen === undefined || words.length < chosen.words[0] || words.length > chosen.words[1])
      throw new StudioError('usage', `usage: rollout tool ${tool.usage}`);
    const foreign = Object.keys(given.options).find(
      (name) =>
        Object.hasOwn(tool.options, name) && given.options[name] !== undefined && !chosen.options.includes(name),
    );
    if (foreign !== undefined)
      throw new StudioError('usage', `--${foreign} means nothing to rollout tool ${verb}.`, {
        hint: 'rollout tool --help tells what belongs to what.',
      });
    return chosen.run(context, { words, options: given.options });
  },
};
