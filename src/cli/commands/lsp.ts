import { type Command, flag, STDIO_OPTION } from '../command.ts';

export const lsp: Command = {
  name: 'lsp',
  usage: '',
  text:
    'Speaks the Language Server Protocol on stdin and stdout: checks and completes agent, world, batch and prompt ' +
    'files in editors other than VS Code, which has the server built in.',
  options: {
    ...STDIO_OPTION,
    trust: {
      type: 'boolean',
      text:
        'the files are yours: endpoints they name may be asked for their models, MCP servers started and asked for ' +
        'their tools',
    },
  },
  async run(context, given) {
    const { startLanguageServer } = await import('../../language/main.ts');
    // The connection ends this process, as the protocol wants it.
    startLanguageServer({ input: process.stdin, output: process.stdout }, { trusted: flag(given, 'trust') });
    await new Promise<void>((resolve) => {
      context.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return 0;
  },
};
