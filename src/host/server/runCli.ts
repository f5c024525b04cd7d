/** Runs the `rollout` command as a child process that prints one JSON document. Does not depend on VS Code. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cancelled } from '../../common/abort.ts';
import { entryUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cli, LineCli } from '../services.ts';
import { lineProcess } from './cliLines.ts';

export interface CliPorts {
  readonly store: () => string;
  readonly target: () => string;
  /** Where the programs of tools run if a batch file does not say it. */
  readonly sandbox?: () => string;
  /** Returns the variables with the tokens of the targets among the words. */
  readonly tokens?: (names: readonly string[]) => Promise<Readonly<Record<string, string>>>;
  /** Variables for the command, besides those of this process. */
  readonly environment?: () => Promise<Readonly<Record<string, string>>>;
  /** false in Restricted Mode. */
  readonly trusted: () => boolean;
  readonly log: (text: string) => void;
  /** The CLI file, if it is not next to this program. */
  readonly file?: string;
  /** How long to wait for a command to stop before killing it. */
  readonly stopTimeoutMs?: number;
}

const STOP_TIMEOUT_MS = 5_000;

export function cliOf(ports: CliPorts): LineCli {
  return {
    json: (args, options) => {
      checkTrust(ports);
      ports.log(`rollout ${args.join(' ')}`);
      return run(ports, args, options);
    },
    lines: async (args, { cwd, env, listener }) => {
      checkTrust(ports);
      ports.log(`rollout ${args.join(' ')}`);
      const child = await start(ports, args, { cwd, env }, 'pipe');
      return lineProcess(child, listener, ports.stopTimeoutMs ?? STOP_TIMEOUT_MS);
    },
  };
}

function checkTrust({ trusted }: CliPorts): void {
  if (trusted()) return;
  throw new StudioError('forbidden', 'Nothing runs in Restricted Mode.', { hint: 'Trust the workspace to continue.' });
}

async function run(
  ports: CliPorts,
  args: readonly string[],
  { cwd, signal, env, at, onProgress }: Parameters<Cli['json']>[1],
): Promise<unknown> {
  const child = await start(ports, [...args, '--json'], { cwd, env, at }, 'ignore', signal);
  let killTimer: NodeJS.Timeout | undefined;
  const stopped = { requested: false };
  const stop = (): void => {
    stopped.requested = true;
    if (child.connected) child.disconnect();
    killTimer = setTimeout(() => child.kill('SIGKILL'), ports.stopTimeoutMs ?? STOP_TIMEOUT_MS);
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const { stdout: output, stderr: errors } = child;
    if (output === null || errors === null) throw new StudioError('internal', 'The rollout command has no output.');
    const stderr: string[] = [];
    const lines = createInterface({ input: errors }).on('line', (line) => {
      stderr.push(line);
      ports.log(line);
      onProgress?.(line);
    });
    const stdout: Buffer[] = [];
    output.on('data', (chunk: Buffer) => stdout.push(chunk));
    const exited = new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(new StudioError('internal', `Cannot start the rollout command: ${cause.message}.`, { cause })),
      );
      child.once('exit', resolve);
    });
    // Not the child's `close` event, which never fires after the channel was closed here.
    const [code] = await Promise.all([exited, once(output, 'close'), once(lines, 'close')]);
    signal?.throwIfAborted();
    const { documentOf } = await import('./cliFailure.ts');
    return documentOf(Buffer.concat(stdout).toString('utf8'), stderr.join('\n'), code);
  } catch (error) {
    // Ignore its output after a stop request.
    throw stopped.requested ? cancelled(signal) : error;
  } finally {
    clearTimeout(killTimer);
    signal?.removeEventListener('abort', stop);
  }
}

type StartOptions = Pick<Parameters<Cli['json']>[1], 'cwd'> & {
  readonly env: Readonly<Record<string, string>> | undefined;
  readonly at?: Parameters<Cli['json']>[1]['at'] | undefined;
};

/** Starts the command. Throws if the signal aborts before. */
async function start(
  ports: CliPorts,
  args: readonly string[],
  { cwd, env, at }: StartOptions,
  input: 'ignore' | 'pipe',
  signal?: AbortSignal,
): Promise<ChildProcess> {
  const { store, target } = at ?? { store: ports.store(), target: ports.target() };
  const [tokens, environment] = await Promise.all([ports.tokens?.([target, ...args]), ports.environment?.()]);
  if (signal?.aborted === true) throw cancelled(signal);
  const file = ports.file ?? fileURLToPath(entryUrl('cli'));
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file, ...args], {
    // The IPC channel carries no messages. Closing it, even by a crash of this process, stops the command.
    cwd,
    stdio: [input, 'pipe', 'pipe', 'ipc'],
    windowsHide: true,
    // Pass the store in the environment: its URL may contain a password, and arguments are visible to other users.
    // Trust the system's certificates, as the editor does.
    env: {
      ...(tokens === undefined || Object.keys(tokens).length === 0 ? {} : { NODE_USE_SYSTEM_CA: '1' }),
      ...process.env,
      ...environment,
      ...tokens,
      ...env,
      ROLLOUT_STORE: store,
      ROLLOUT_TARGET: target,
      ...(ports.sandbox === undefined ? {} : { ROLLOUT_SANDBOX: ports.sandbox() }),
      ELECTRON_RUN_AS_NODE: '1',
    },
  });
}
