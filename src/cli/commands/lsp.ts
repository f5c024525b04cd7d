import { type Command, flag, STDIO_OPTION } from '../command.ts';

export const lsp: Command = {
  name: 'lsp',
  usage: '',
  text:
    'Starts a language server on stdin and stdout that checks and completes agent, world, batch, and prompt files, ' +
    'for editors other than VS Code, where it is built in.',
  options: {
    ...STDIO_OPTION,
    trust: {
      type: 'boolean',
      text: 'trust the files: allows querying their endpoints for models, and starting their MCP servers to list tools',
    },
  },
  async run(context, commandLine) {
    const { startLanguageServer } = await import('../../language/main.ts');
    // The connection ends this process, as the protocol requires.
    const trusted = flag(commandLine, 'trust');
    startLanguageServer(
      { input: process.stdin, output: process.stdout },
      { trusted, ...(trusted ? { allowedPlaces: 'all' } : {}) },
    );
    await new Promise<void>((resolve) => {
      context.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return 0;
  },
};
