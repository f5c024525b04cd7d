/** The `rollout` command as a child process that prints one JSON document. Knows nothing of VS Code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cancelled } from '../../common/abort.ts';
import { entryUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cli } from '../services.ts';

export interface CliPorts {
  readonly store: () => string;
  readonly target: () => string;
  /** Variables with the tokens of those targets; other words name none. */
  readonly tokens?: (names: readonly string[]) => Promise<Readonly<Record<string, string>>>;
  /** false in Restricted Mode. */
  readonly trusted: () => boolean;
  readonly log: (text: string) => void;
  /** The command's file, when it is not the one beside this program. */
  readonly file?: string;
  /** How long a command that was asked to end may take before it is ended. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 5_000;

export function cliOf(ports: CliPorts): Cli {
  return {
    json: (args, options) => {
      if (!ports.trusted())
        throw new StudioError('forbidden', 'This window is in Restricted Mode: nothing is run.', {
          hint: 'Trust the workspace to go on.',
        });
      ports.log(`rollout ${args.join(' ')}`);
      return run(ports, args, options);
    },
  };
}

async function run(
  ports: CliPorts,
  args: readonly string[],
  { cwd, signal, env, at, onProgress }: Parameters<Cli['json']>[1],
): Promise<unknown> {
  const { store, target } = at ?? { store: ports.store(), target: ports.target() };
  const tokens = await ports.tokens?.([target, ...args]);
  if (signal?.aborted === true) throw cancelled(signal);
  const file = ports.file ?? fileURLToPath(entryUrl('cli'));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args, '--json'], {
    // The channel carries nothing: closing it asks the command to end, also when this process dies.
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    windowsHide: true,
    // The store goes by the environment: an address may hold a password, and arguments can be seen by everybody.
    // The editor trusts the certificates that this machine trusts: so does what it starts.
    env: {
      ...(tokens === undefined || Object.keys(tokens).length === 0 ? {} : { NODE_USE_SYSTEM_CA: '1' }),
      ...process.env,
      ...tokens,
      ...env,
      ROLLOUT_STORE: store,
      ROLLOUT_TARGET: target,
      ELECTRON_RUN_AS_NODE: '1',
    },
  });
  let patience: NodeJS.Timeout | undefined;
  const stopped = { asked: false };
  const stop = (): void => {
    stopped.asked = true;
    if (child.connected) child.disconnect();
    patience = setTimeout(() => child.kill('SIGKILL'), ports.patienceMs ?? PATIENCE_MS);
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const { stdout: said, stderr: told } = child;
    if (said === null || told === null) throw new StudioError('internal', 'The rollout command has no output.');
    const stderr: string[] = [];
    const lines = createInterface({ input: told }).on('line', (line) => {
      stderr.push(line);
      ports.log(line);
      onProgress?.(line);
    });
    const stdout: Buffer[] = [];
    said.on('data', (chunk: Buffer) => stdout.push(chunk));
    const exited = new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new StudioError('internal', `The rollout command could not be started: ${cause.message}.`, { cause })),
      );
      child.once('exit', resolve);
    });
    // Not the child's own `close`: it never comes once the channel was closed from here.
    const [code] = await Promise.all([exited, once(said, 'close'), once(lines, 'close')]);
    signal?.throwIfAborted();
    const { documentOf } = await import('./cliFailure.ts');
    return documentOf(Buffer.concat(stdout).toString('utf8'), stderr.join('\n'), code);
  } catch (error) {
    // Whatever it said while it was ended.
    throw stopped.asked ? cancelled(signal) : error;
  } finally {
    clearTimeout(patience);
    signal?.removeEventListener('abort', stop);
  }
}
