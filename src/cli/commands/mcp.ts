import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { type Command, flag, numberOption, STDIO_OPTION, textOption } from '../command.ts';

export const mcp: Command = {
  name: 'mcp',
  usage: '[--read-only] [--folder DIR] [--http PORT]',
  text:
    'An MCP server for coding agents, on stdin and stdout: lists, reads, searches and compares rollouts, launches ' +
    'and forks them.',
  options: {
    ...STDIO_OPTION,
    'read-only': { type: 'boolean', text: 'without the tools that launch, fork, pause, resume and stop' },
    folder: {
      type: 'string',
      value: 'DIR',
      text: 'the workspace whose files may be checked and launched (this folder)',
    },
    http: {
      type: 'string',
      value: 'PORT',
      text: 'over streamable HTTP on 127.0.0.1 instead, 0 for any port; prints its secret URL',
    },
  },
  async run(context, given) {
    if (given.words.length > 0) throw new StudioError('usage', `usage: rollout ${mcp.name} ${mcp.usage}`);
    const port = numberOption(given, 'http', 0);
    const [{ serve }, { modulesLoader }] = await Promise.all([
      import('../../mcp/serve.ts'), // no other command needs any of it
      import('../../rerun/loadModules.ts'),
    ]);
    await serve({
      connect: () => context.connect(),
      target: context.target,
      folder: path.resolve(context.cwd, textOption(given, 'folder') ?? '.'),
      env: context.env,
      loadModules: modulesLoader(context.signal),
      readOnly: flag(given, 'read-only'),
      port,
      announce: (url) => (context.json ? context.printJson({ url }) : context.print(url)),
      tell: context.tell,
      signal: context.signal,
    });
    return 0;
  },
};
