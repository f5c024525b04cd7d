import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../../client/targets/local.ts';
import {
  entryUrl,
  LONG_RUNNING_ENV,
  RETENTION_VARIABLE,
  SERVER_OPTIONS,
  SHARES_VARIABLE,
} from '../../common/entries.ts';
import { errorCodeOf, StudioError } from '../../common/errors.ts';
import { type ReadyLine, readyLine } from '../../protocol/serverFile.ts';
import { type Command, type CommandLine, numberOption, textOption } from '../command.ts';
import type { Context } from '../context.ts';

export const serve: Command = {
  name: 'serve',
  usage:
    '[--port N] [--host ADDRESS] [--otlp URL] [--metrics open] [--rollout-gb N] [--shares FILE] [--retention FILE] ' +
    '[--log json]',
  text: 'Runs the server of a store in the foreground until Ctrl-C. It does not stop when idle.',
  options: {
    port: { type: 'string', value: 'N', text: 'port to listen on (any free port)' },
    host: { type: 'string', value: 'ADDRESS', text: 'address to listen on (127.0.0.1)' },
    otlp: { type: 'string', value: 'URL', text: 'collector that receives finished rollouts as traces' },
    metrics: {
      type: 'string',
      value: 'token|open',
      text: 'who can read /metrics: clients with a token, or anyone (token)',
    },
    'rollout-gb': {
      type: 'string',
      value: 'N',
      text: 'GB of large values that each rollout may store; one that exceeds it is truncated (16, or ROLLOUT_GB)',
    },
    shares: { type: 'string', value: 'FILE', text: 'YAML file with weights and limits of users and queues' },
    retention: {
      type: 'string',
      value: 'FILE',
      text: 'YAML file with rules by which the server removes ended batches itself (none)',
    },
    log: { type: 'string', value: 'text|json', text: 'log format on stderr (text)' },
  },
  async run(context, commandLine) {
    if (context.target !== undefined && context.target !== LOCAL)
      throw new StudioError('usage', 'rollout serve runs only on the local machine.', {
        hint: 'Install a server in a cluster with rollout cluster install.',
      });
    const port = numberOption(commandLine, 'port', 0) ?? 0;
    const files = await filesOf(context, commandLine);
    const child = spawn(
      process.execPath,
      [
        ...SERVER_OPTIONS,
        fileURLToPath(entryUrl('server')),
        '--port',
        String(port),
        '--host',
        textOption(commandLine, 'host') ?? '127.0.0.1',
        '--idle-seconds',
        '0',
        ...['otlp', 'metrics', 'rollout-gb', 'log'].flatMap((name) => {
          const value = textOption(commandLine, name);
          return value === undefined ? [] : [`--${name}`, value];
        }),
      ],
      // The store is not an argument, because other users see those, and its URL may contain a password.
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          ...LONG_RUNNING_ENV,
          ROLLOUT_STORE: context.store,
          ...files,
        },
      },
    );
    // Ctrl-C in a terminal reaches the child too, but a signal sent only to this process does not.
    context.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
    const exit = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve); // after all output was read
    });
    const ready = await Promise.race([firstLine(child), exit.then(() => undefined)]);
    if (ready?.type === 'taken')
      throw new StudioError('unavailable', ready.message, {
        hint: 'Commands on this store connect to it automatically. To run a second server, use another --store.',
      });
    if (ready?.type === 'failed')
      throw new StudioError(
        errorCodeOf(ready.code),
        ready.message,
        ready.hint === undefined ? {} : { hint: ready.hint },
      );
    if (ready !== undefined && context.json) context.printJson(ready);
    else if (ready !== undefined)
      context.print(
        `The server of ${context.store} is listening on ${ready.host}, port ${ready.port} (process ${ready.pid}). ` +
          'Press Ctrl-C to stop it.',
      );
    const code = await exit;
    if (context.signal.aborted) return 0;
    if (code !== 0) throw new StudioError('unavailable', `The server exited with code ${String(code)}.`);
    return 0;
  },
};

/** Reads the first line the server prints. */
async function firstLine(child: ChildProcess): Promise<ReadyLine | undefined> {
  if (child.stdout === null) return undefined;
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  return readyLine.parse(JSON.parse(line));
}

/** Returns the contents of the files that options name, as the variables by which the server gets them. */
async function filesOf({ cwd }: Context, commandLine: CommandLine): Promise<Record<string, string>> {
  const shares = textOption(commandLine, 'shares');
  const retention = textOption(commandLine, 'retention');
  if (shares === undefined && retention === undefined) return {};
  const { readRetentionFile, readSharesFile } = await import('../optionFile.ts');
  return {
    ...(shares === undefined ? {} : { [SHARES_VARIABLE]: JSON.stringify(await readSharesFile(cwd, shares)) }),
    ...(retention === undefined
      ? {}
      : { [RETENTION_VARIABLE]: JSON.stringify(await readRetentionFile(cwd, retention)) }),
  };
}
