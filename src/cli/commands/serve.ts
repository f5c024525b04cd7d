import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import { numberOption, textOption, type Command } from '../command.ts';

export const serve: Command = {
  name: 'serve',
  usage: '[--port N] [--host ADDRESS]',
  text: 'Runs the server of a store in the foreground until Ctrl-C. It does not end when idle.',
  options: {
    port: { type: 'string', value: 'N', text: 'port (any free one)' },
    host: { type: 'string', value: 'ADDRESS', text: 'address to listen on (127.0.0.1)' },
  },
  async run(context, given) {
    const port = numberOption(given, 'port', 0) ?? 0;
    const child = spawn(process.execPath, [
      '--disable-warning=ExperimentalWarning', fileURLToPath(entryUrl('server')), '--store', context.store,
      '--port', String(port), '--host', textOption(given, 'host') ?? '127.0.0.1', '--idle-seconds', '0',
    ], { stdio: ['ignore', 'inherit', 'inherit'] });
    // Ctrl-C in a terminal reaches the child too; a signal sent to us alone does not.
    context.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    });
    if (context.signal.aborted) return 0;
    if (code !== 0) throw new StudioError('unavailable', `The server ended with exit code ${String(code)}.`);
    return 0;
  },
};
