import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../../client/targets/local.ts';
import { entryUrl, LONG_RUNNING } from '../../common/entries.ts';
import { errorCodeOf, StudioError } from '../../common/errors.ts';
import { type ReadyLine, readyLine } from '../../protocol/serverFile.ts';
import { type Command, numberOption, textOption } from '../command.ts';

export const serve: Command = {
  name: 'serve',
  usage: '[--port N] [--host ADDRESS] [--otlp URL] [--metrics open] [--log json]',
  text: 'Runs the server of a store in the foreground until Ctrl-C. It does not end when idle.',
  options: {
    port: { type: 'string', value: 'N', text: 'port (any free one)' },
    host: { type: 'string', value: 'ADDRESS', text: 'address to listen on (127.0.0.1)' },
    otlp: { type: 'string', value: 'URL', text: 'collector that gets finished rollouts as traces' },
    metrics: {
      type: 'string',
      value: 'token|open',
      text: 'who may read /metrics: clients with a token (default), or anyone',
    },
    log: { type: 'string', value: 'text|json', text: 'form of the log on stderr (text)' },
  },
  async run(context, given) {
    if (context.target !== undefined && context.target !== LOCAL)
      throw new StudioError('usage', 'rollout serve runs the server of a store of this machine.', {
        hint: 'In a cluster: rollout cluster install.',
      });
    const port = numberOption(given, 'port', 0) ?? 0;
    const child = spawn(
      process.execPath,
      [
        ...LONG_RUNNING,
        fileURLToPath(entryUrl('server')),
        '--store',
        context.store,
        '--port',
        String(port),
        '--host',
        textOption(given, 'host') ?? '127.0.0.1',
        '--idle-seconds',
        '0',
        ...['otlp', 'metrics', 'log'].flatMap((name) => {
          const value = textOption(given, name);
          return value === undefined ? [] : [`--${name}`, value];
        }),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    // Ctrl-C in a terminal reaches the child too; a signal sent to us alone does not.
    context.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
    const exit = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve); // with its output read
    });
    const line = await Promise.race([firstLine(child), exit.then(() => undefined)]);
    if (line?.type === 'taken')
      throw new StudioError('unavailable', line.message, {
        hint: 'Commands on this store find it by themselves; use another store with --store to run a second one.',
      });
    if (line?.type === 'failed')
      throw new StudioError(errorCodeOf(line.code), line.message, line.hint === undefined ? {} : { hint: line.hint });
    if (line !== undefined && context.json) context.printJson(line);
    else if (line !== undefined)
      context.print(
        `The server of ${context.store} listens on ${line.host}, port ${line.port} (process ${line.pid}). Ctrl-C ` +
          'ends it.',
      );
    const code = await exit;
    if (context.signal.aborted) return 0;
    if (code !== 0) throw new StudioError('unavailable', `The server ended with exit code ${String(code)}.`);
    return 0;
  },
};

/** What the server says first; undefined when it ends without a word. */
async function firstLine(child: ChildProcess): Promise<ReadyLine | undefined> {
  if (child.stdout === null) return undefined;
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string]; // what readline gives
  return readyLine.parse(JSON.parse(line));
}
