/**
 * Connects to the server of a store. If none is running, starts one detached and waits for its ready line. If the
 * server is lost, the next `reconnect` finds or restarts it.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sleep } from '../common/abort.ts';
import { createFolder } from '../common/createFolder.ts';
import { entryUrl, LONG_RUNNING_ENV, SERVER_OPTIONS } from '../common/entries.ts';
import { errorCodeOf, StudioError, systemCodeOf } from '../common/errors.ts';
import { isPostgresUrl } from '../common/postgres.ts';
import { Api } from '../protocol/api.ts';
import { type ReadyLine, readyLine, type ServerFile } from '../protocol/serverFile.ts';
import { databaseFile, deletedText } from '../protocol/storeFolder.ts';
import type { ServerAddress } from '../protocol/transport.ts';
import { PROTOCOL } from '../protocol/version.ts';
import { dataFolder } from './folders.ts';
import { nodeTransport } from './nodeTransport.ts';
import { isReadOnlyStore } from './readOnlyStore.ts';
import { readServerFile } from './serverFile.ts';

const START_TIMEOUT_MS = 30_000;
const REPLACE_POLL_MS = 500;
/** How long to wait for the address of a server that holds the store but cannot be found. */
const FIND_TIMEOUT_MS = 20_000;

export interface Connection {
  readonly api: Api;
  /** Returns the current address of the server. */
  address(): ServerAddress;
  /** Returns the address with the read-only token. */
  readAddress(): ServerAddress;
  /** Finds or restarts the server after it was lost. */
  reconnect(signal?: AbortSignal): Promise<void>;
  /** Completes the commands in a message, so that they reach this server when copied. Absent: they do as they are. */
  placed?(text: string): string;
  /** Throws StudioError `storage` if the store, a folder, was deleted after this connection was opened. */
  checkStore?(): void;
}

export interface ConnectOptions {
  /** A folder or `postgres://…`. */
  readonly store: string;
  /** If false, only attaches, and throws `unavailable` if no server is running. */
  readonly start?: boolean;
  /** Variables of a server that is started, besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with the reason for a wait, for example that an older server is still busy. */
  readonly onNotice?: (text: string) => void;
}

interface LocalAddress extends ServerAddress {
  readonly readToken: string;
}

export async function connect(options: ConnectOptions): Promise<Connection> {
  let address = await attachOrStart(options);
  const database = isPostgresUrl(options.store) ? undefined : databaseFile(path.resolve(options.store));
  return {
    api: new Api(nodeTransport(() => address)),
    address: () => ({ url: address.url, token: address.token }),
    readAddress: () => ({ url: address.url, token: address.readToken }),
    reconnect: async (signal) => {
      address = await attachOrStart(signal === undefined ? options : { ...options, signal });
    },
    checkStore: () => {
      if (database !== undefined && !existsSync(database))
        throw new StudioError('storage', deletedText(options.store), { hint: 'What it recorded is lost.' });
    },
  };
}

/**
 * Returns the folder of a store's `server.json`: the store, or for PostgreSQL and a folder that cannot be written to,
 * one in the user's data folder.
 */
export function serverFolder(store: string): string {
  if (!isPostgresUrl(store)) {
    const folder = path.resolve(store);
    return isReadOnlyStore(folder) ? ownFolder('read-only', folder) : folder;
  }
  const url = new URL(store);
  url.password = '';
  return ownFolder('postgres', url.href);
}

function ownFolder(kind: string, store: string): string {
  return path.join(dataFolder(), kind, createHash('sha256').update(store).digest('hex').slice(0, 32));
}

async function attachOrStart(options: ConnectOptions): Promise<LocalAddress> {
  const folder = serverFolder(options.store);
  let noticed = false;
  let takenSince: number | undefined;
  for (;;) {
    const running = await findServer(folder, options.signal);
    if (running === undefined) {
      if (options.start === false)
        throw new StudioError('unavailable', `No rollout server is running on ${options.store}.`, {
          hint: 'Start one with rollout serve.',
        });
      const started = await startServer(options.store, folder, options);
      if ('address' in started) return started.address;
      // Another process started a server first: attach to it.
      takenSince ??= performance.now();
      if (performance.now() - takenSince > FIND_TIMEOUT_MS) {
        throw new StudioError('unavailable', started.taken, {
          hint:
            `The file server.json in ${folder} does not point to it. End that process, or use another store with ` +
            '--store.',
        });
      }
      continue;
    }
    if (running.file.protocol === PROTOCOL) return running.address;
    if (running.file.protocol > PROTOCOL) {
      throw new StudioError('version', `The server of this store is newer than this client: ${running.file.product}.`, {
        hint: 'Update this client.',
      });
    }
    // An older server stops by itself when idle and is then replaced.
    if (!noticed)
      options.onNotice?.(
        `An older server (${running.file.product}) is still busy with this store. It will be replaced when idle.`,
      );
    noticed = true;
    await sleep(REPLACE_POLL_MS, options.signal);
  }
}

async function findServer(
  folder: string,
  signal: AbortSignal | undefined,
): Promise<{ file: ServerFile; address: LocalAddress } | undefined> {
  const file = readServerFile(folder);
  if (file === undefined) return undefined;
  const address = {
    url: `http://${file.host.includes(':') ? `[${file.host}]` : file.host}:${file.port}`,
    token: file.token,
    readToken: file.read_token,
  };
  try {
    const { status } = await nodeTransport(() => address).request({
      method: 'GET',
      path: '/v1/server',
      signal: AbortSignal.any([AbortSignal.timeout(5_000), ...(signal === undefined ? [] : [signal])]),
    });
    // Another program may now use the port of a dead server; only the rollout server knows the token.
    return status === 200 ? { file, address } : undefined;
  } catch (error) {
    if (signal?.aborted === true) throw new StudioError('cancelled', 'Connecting was cancelled.', { cause: error });
    return undefined; // a server that died left the file
  }
}

/** Starts a detached server. Returns `taken` with a message if another server already holds the store. */
async function startServer(
  store: string,
  folder: string,
  { signal, environment }: Pick<ConnectOptions, 'signal' | 'environment'>,
): Promise<{ address: LocalAddress } | { taken: string }> {
  const logFile = path.join(folder, 'log', 'server.log');
  const log = openLog(folder, logFile);
  const child = spawn(process.execPath, [...SERVER_OPTIONS, fileURLToPath(entryUrl('server'))], {
    detached: true,
    windowsHide: true,
    stdio: ['ignore', 'pipe', log],
    // In VS Code, execPath is Electron; ELECTRON_RUN_AS_NODE makes it run as plain Node. The store is not an argument,
    // because other users see those, and its URL may contain a password.
    env: { ...process.env, ...environment, ...LONG_RUNNING_ENV, ROLLOUT_STORE: store, ELECTRON_RUN_AS_NODE: '1' },
  });
  closeSync(log);
  try {
    const line = await firstLine(child, logFile, signal);
    child.stdout?.destroy();
    child.unref();
    if (line.type === 'taken') return { taken: line.message };
    if (line.type === 'failed')
      throw new StudioError(errorCodeOf(line.code), line.message, line.hint === undefined ? {} : { hint: line.hint });
    const server = await findServer(folder, signal);
    if (server === undefined)
      throw new StudioError('unavailable', 'The rollout server exited right after it started.', {
        hint: `See the log: ${logFile}`,
      });
    return { address: server.address };
  } catch (error) {
    child.unref();
    throw error;
  }
}

function openLog(folder: string, file: string): number {
  try {
    createFolder(path.dirname(file), path, (each) => mkdirSync(each, { mode: 0o700 }));
    return openSync(file, 'a', 0o600);
  } catch (cause) {
    const full = ['ENOSPC', 'EDQUOT'].includes(systemCodeOf(cause) ?? '');
    throw full
      ? new StudioError('storage', `The disk of ${folder} is full.`, {
          hint: 'Free up space, or choose another store with --store.',
          cause,
        })
      : new StudioError('storage', `Cannot write to the store ${folder}.`, {
          hint: 'Check its permissions, or choose another store with --store.',
          cause,
        });
  }
}

function firstLine(
  child: ReturnType<typeof spawn>,
  logFile: string,
  signal: AbortSignal | undefined,
): Promise<ReadyLine> {
  const stdout = child.stdout;
  if (stdout === null) return Promise.reject(new StudioError('internal', 'The server was started without a stdout.'));
  return new Promise((resolve, reject) => {
    const fail = (text: string, cause?: unknown): void => {
      done();
      reject(new StudioError('unavailable', text, { hint: `See the log: ${logFile}`, cause }));
    };
    const timer = setTimeout(() => {
      child.kill();
      fail(`The rollout server was not ready within ${START_TIMEOUT_MS / 1000} s.`);
    }, START_TIMEOUT_MS);
    const onAbort = (): void => {
      child.kill();
      fail('Starting the rollout server was cancelled.');
    };
    const onExit = (code: number | null): void =>
      fail(`The rollout server exited with code ${String(code)} before it was ready.`);
    const onError = (error: Error): void => fail(`Could not start the rollout server: ${error.message}`, error);
    const lines = createInterface({ input: stdout });
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      child.off('close', onExit);
      child.off('error', onError);
      lines.close();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    child.once('close', onExit); // after all output was read
    child.once('error', onError);
    lines.once('line', (line) => {
      try {
        const ready = readyLine.parse(JSON.parse(line));
        done();
        resolve(ready);
      } catch (error) {
        fail('The first line of the rollout server is not a valid ready line.', error);
      }
    });
  });
}
