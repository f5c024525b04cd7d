import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { type Command, flag, numberOption, STDIO_OPTION, textOption } from '../command.ts';

const MAX_ATTEMPTS = 100;

export const mcp: Command = {
  name: 'mcp',
  usage: '[--read-only] [--folder DIR] [--max-attempts N] [--http PORT]',
  text:
    'Starts an MCP server for coding agents on stdin and stdout. It lists, reads, searches, compares, launches, and ' +
    'forks rollouts.',
  options: {
    ...STDIO_OPTION,
    'read-only': { type: 'boolean', text: 'omit the tools that launch, fork, pause, resume, and stop' },
    folder: {
      type: 'string',
      value: 'DIR',
      text: 'workspace whose files can be checked and launched (this folder)',
    },
    'max-attempts': {
      type: 'string',
      value: 'N',
      text: `how many attempts an agent may launch in total without asking a person (${MAX_ATTEMPTS})`,
    },
    http: {
      type: 'string',
      value: 'PORT',
      text: 'serve streamable HTTP on 127.0.0.1 instead (0: any free port) and print the secret URL',
    },
  },
  async run(context, commandLine) {
    if (commandLine.words.length > 0) throw new StudioError('usage', `usage: rollout ${mcp.name} ${mcp.usage}`);
    const port = numberOption(commandLine, 'http', 0);
    const [{ serve }, { modulesLoader }] = await Promise.all([
      import('../../mcp/serve.ts'), // only this command needs it
      import('../../rerun/loadModules.ts'),
    ]);
    await serve({
      connect: () => context.connect(),
      target: context.target,
      folder: path.resolve(context.cwd, textOption(commandLine, 'folder') ?? '.'),
      env: context.env,
      loadModules: modulesLoader(context.signal),
      maxAttempts: numberOption(commandLine, 'max-attempts', 0) ?? MAX_ATTEMPTS,
      readOnly: flag(commandLine, 'read-only'),
      port,
      announce: (url) => (context.json ? context.printJson({ url }) : context.print(url)),
      log: context.log,
      signal: context.signal,
    });
    return 0;
  },
};
