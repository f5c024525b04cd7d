/**
 * `connect`: the one way to a server. Attaches to the server of a store when there is one, else starts it detached
 * and waits for its ready line. A server that was lost is found or started again by the next `reconnect`.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sleep } from '../common/abort.ts';
import { entryUrl, LONG_RUNNING } from '../common/entries.ts';
import { errorCodeOf, StudioError } from '../common/errors.ts';
import { isPostgresUrl } from '../common/postgres.ts';
import { Api } from '../protocol/api.ts';
import { type ReadyLine, readyLine, type ServerFile, serverFile } from '../protocol/serverFile.ts';
import { fetchTransport, type ServerAddress } from '../protocol/transport.ts';
import { PROTOCOL } from '../protocol/worker.ts';
import { dataFolder } from './folders.ts';

const START_TIMEOUT_MS = 30_000;
const REPLACE_POLL_MS = 500;
/** A server that has the store but cannot be found tells where it is again within this time, or never. */
const UNFOUND_MS = 20_000;

export interface Connection {
  readonly api: Api;
  /** Where the server is now. */
  address(): ServerAddress;
  /** The same, with the token that may only read. */
  readAddress(): ServerAddress;
  /** Finds or starts the server again after it was lost. */
  reconnect(signal?: AbortSignal): Promise<void>;
}

export interface ConnectOptions {
  /** A folder, or `postgres://…`. */
  readonly store: string;
  /** false: only attach; `unavailable` when no server is there. */
  readonly start?: boolean;
  readonly signal?: AbortSignal;
  /** Told when the wait has a reason a person should know (an older server is still busy). */
  readonly onNotice?: (text: string) => void;
}

interface FoundAddress extends ServerAddress {
  readonly readToken: string;
}

export async function connect(options: ConnectOptions): Promise<Connection> {
  let address = await attachOrStart(options);
  return {
    api: new Api(fetchTransport(() => address)),
    address: () => ({ url: address.url, token: address.token }),
    readAddress: () => ({ url: address.url, token: address.readToken }),
    reconnect: async (signal) => {
      address = await attachOrStart(signal === undefined ? options : { ...options, signal });
    },
  };
}

/** The folder that holds a store's `server.json`: the store itself, or for PostgreSQL one in the user's data folder. */
export function serverFolder(store: string): string {
  if (!isPostgresUrl(store)) return path.resolve(store);
  const url = new URL(store);
  url.password = '';
  return path.join(dataFolder(), 'postgres', createHash('sha256').update(url.href).digest('hex').slice(0, 32));
}

async function attachOrStart(options: ConnectOptions): Promise<FoundAddress> {
  const folder = serverFolder(options.store);
  let noticed = false;
  let takenSince: number | undefined;
  for (;;) {
    const running = await findServer(folder, options.signal);
    if (running === undefined) {
      if (options.start === false)
        throw new StudioError('unavailable', `No rollout server runs on ${options.store}.`, {
          hint: 'Start one with rollout serve.',
        });
      const started = await startServer(options.store, folder, options.signal);
      if ('address' in started) return started.address;
      // Somebody else was faster: attach to theirs.
      takenSince ??= performance.now();
      if (performance.now() - takenSince > UNFOUND_MS) {
        throw new StudioError('unavailable', started.taken, {
          hint:
            `Its file server.json in ${folder} does not lead to it. End that process, or use another store with ` +
            '--store.',
        });
      }
      continue;
    }
    if (running.file.protocol === PROTOCOL) return running.address;
    if (running.file.protocol > PROTOCOL) {
      throw new StudioError('version', `The server of this store is of a newer version (${running.file.product}).`, {
        hint: 'Update this client.',
      });
    }
    // An older server is replaced once nothing runs there; it ends by itself when it is idle.
    if (!noticed)
      options.onNotice?.(
        `An older server (${running.file.product}) is still at work on this store; it is replaced once it is idle.`,
      );
    noticed = true;
    await sleep(REPLACE_POLL_MS, options.signal);
  }
}

async function findServer(
  folder: string,
  signal: AbortSignal | undefined,
): Promise<{ file: ServerFile; address: FoundAddress } | undefined> {
  const file = readServerFile(folder);
  if (file === undefined) return undefined;
  const address = {
    url: `http://${file.host.includes(':') ? `[${file.host}]` : file.host}:${file.port}`,
    token: file.token,
    readToken: file.read_token,
  };
  try {
    const response = await fetch(`${address.url}/v1/server`, {
      headers: { authorization: `Bearer ${file.token}` },
      signal: AbortSignal.any([AbortSignal.timeout(5_000), ...(signal === undefined ? [] : [signal])]),
    });
    // Another program may have got the port of a dead server: only ours knows the token.
    return response.ok ? { file, address } : undefined;
  } catch (error) {
    if (signal?.aborted === true) throw new StudioError('cancelled', 'Connecting was cancelled.', { cause: error });
    return undefined; // the file was left by a server that died
  }
}

/** What `server.json` in `folder` says; undefined when there is none or it is not one. */
export function readServerFile(folder: string): ServerFile | undefined {
  let text: string;
  try {
    text = readFileSync(path.join(folder, 'server.json'), 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR')
      throw new StudioError('storage', `The store ${folder} cannot be a folder: a part of its path is a file.`, {
        hint: 'Choose another one with --store.',
        cause: error,
      });
    throw new StudioError('storage', `The file server.json in ${folder} cannot be read.`, {
      hint: 'It belongs to whoever started the server; use a store of your own with --store.',
      cause: error,
    });
  }
  try {
    return serverFile.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Error) return undefined; // half written by a dying server
    throw error;
  }
}

/** Starts a server detached. `taken`: another one took the store first. */
async function startServer(
  store: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<{ address: FoundAddress } | { taken: string }> {
  const logFile = path.join(folder, 'log', 'server.log');
  const log = openLog(folder, logFile);
  const child = spawn(process.execPath, [...LONG_RUNNING, fileURLToPath(entryUrl('server')), '--store', store], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', 'pipe', log],
    // Under VS Code, execPath is Electron: this makes it a plain Node.
    env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
  });
  closeSync(log);
  try {
    const line = await firstLine(child, logFile, signal);
    child.stdout?.destroy();
    child.unref();
    if (line.type === 'taken') return { taken: line.message };
    if (line.type === 'failed')
      throw new StudioError(errorCodeOf(line.code), line.message, line.hint === undefined ? {} : { hint: line.hint });
    const found = await findServer(folder, signal);
    if (found === undefined)
      throw new StudioError('unavailable', 'The rollout server started and was gone at once.', {
        hint: `See ${logFile}.`,
      });
    return { address: found.address };
  } catch (error) {
    child.unref();
    throw error;
  }
}

function openLog(folder: string, file: string): number {
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    return openSync(file, 'a', 0o600);
  } catch (cause) {
    const full = ['ENOSPC', 'EDQUOT'].includes(codeOf(cause) ?? '');
    throw full
      ? new StudioError('storage', `The disk below ${folder} is full.`, {
          hint: 'Make room on it, or choose another store with --store.',
          cause,
        })
      : new StudioError('storage', `You may not write into the store's folder ${folder}, or its disk is read-only.`, {
          hint: 'Choose another one with --store.',
          cause,
        });
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function firstLine(
  child: ReturnType<typeof spawn>,
  logFile: string,
  signal: AbortSignal | undefined,
): Promise<ReadyLine> {
  const stdout = child.stdout;
  if (stdout === null) return Promise.reject(new StudioError('internal', 'The server was started without an output.'));
  return new Promise((resolve, reject) => {
    const fail = (text: string, cause?: unknown): void => {
      done();
      reject(new StudioError('unavailable', text, { hint: `See ${logFile}.`, cause }));
    };
    const timer = setTimeout(() => {
      child.kill();
      fail(`The rollout server did not get ready within ${START_TIMEOUT_MS / 1000} s.`);
    }, START_TIMEOUT_MS);
    const onAbort = (): void => {
      child.kill();
      fail('Starting the rollout server was cancelled.');
    };
    const onExit = (code: number | null): void =>
      fail(`The rollout server ended before it was ready (exit code ${String(code)}).`);
    const onError = (error: Error): void => fail(`The rollout server could not be started: ${error.message}`, error);
    const lines = createInterface({ input: stdout });
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      child.off('close', onExit);
      child.off('error', onError);
      lines.close();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    child.once('close', onExit); // its output was read by then
    child.once('error', onError);
    lines.once('line', (line) => {
      try {
        const ready = readyLine.parse(JSON.parse(line));
        done();
        resolve(ready);
      } catch (error) {
        fail('The rollout server’s first line is not a ready line.', error);
      }
    });
  });
}
