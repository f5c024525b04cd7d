/**
 * Runs one PostgreSQL for a test and removes it when the test ends, however it ends: `postgres.ts` starts it, and it
 * reads commands from standard input and ends with it. Arguments: the folder of the binaries.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdtemp, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './freePort.ts';

const run = promisify(execFile);
/** PostgreSQL refuses to run as root; this user runs it then. */
const USER = 'postgres';
const EXE = process.platform === 'win32' ? '.exe' : '';

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

async function identity(): Promise<Identity> {
  if (process.getuid?.() !== 0) return {};
  const number = async (flag: string): Promise<number> => Number((await run('id', [flag, USER])).stdout);
  try {
    return { uid: await number('-u'), gid: await number('-g') };
  } catch {
    await run('useradd', ['--system', '--user-group', '--no-create-home', USER]);
    return { uid: await number('-u'), gid: await number('-g') };
  }
}

/** Returns whether another user can enter all parent folders. */
async function reachable(folder: string): Promise<boolean> {
  for (let at = folder; ; at = path.dirname(at)) {
    if (((await stat(at)).mode & 0o005) !== 0o005 && at !== path.dirname(at)) return false;
    if (at === path.dirname(at)) return true;
  }
}

async function main(native: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-postgres-'));
  let server: ChildProcess | undefined;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    const running = server;
    server = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, 'exit');
    running.kill(signal);
    await ended;
  };
  let ending = false;
  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    await stop('SIGINT');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    process.exit(code);
  };
  process.on('SIGTERM', () => void end(1));
  try {
    const who = await identity();
    let binaries = native;
    if (who.uid !== undefined && who.gid !== undefined) {
      if (!(await reachable(native))) {
        binaries = path.join(folder, 'native');
        await cp(native, binaries, { recursive: true, verbatimSymlinks: true });
      }
      await chown(folder, who.uid, who.gid);
    }
    const data = path.join(folder, 'data');
    await run(
      path.join(binaries, 'bin', `initdb${EXE}`),
      ['--pgdata', data, '--username', USER, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'],
      { ...who, cwd: folder },
    );
    const port = await freePort();
    const start = async (): Promise<void> => {
      const flags = {
        listen_addresses: '127.0.0.1',
        port: String(port),
        unix_socket_directories: '',
        max_connections: '200', // those of a closed store take a while to end
        fsync: process.env['PG_FSYNC'] ?? 'off',
      };
      const child = spawn(
        path.join(binaries, 'bin', `postgres${EXE}`),
        ['-D', data, ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
        { ...who, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
      );
      server = child;
      let log = '';
      await new Promise<void>((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', () => reject(new Error(`PostgreSQL ended: ${log}`)));
        child.stderr.on('data', (text: Buffer) => {
          log = (log + text.toString()).slice(-4000);
          if (log.includes('database system is ready to accept connections')) resolve();
        });
      });
    };
    await start();
    process.stdout.write(`${JSON.stringify({ ready: `postgres://${USER}@127.0.0.1:${port}/` })}\n`);
    for await (const command of readline.createInterface({ input: process.stdin })) {
      if (command === 'stop' || command === 'crash') await stop(command === 'stop' ? 'SIGINT' : 'SIGQUIT');
      if (command === 'start') await start();
      process.stdout.write(`${JSON.stringify({ done: command })}\n`);
    }
    await end(0);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    await end(1);
  }
}

// The terminal's Ctrl-C reaches this process too; only the end of standard input ends it.
process.on('SIGINT', () => undefined);
process.stdout.on('error', () => undefined); // the reader is gone; the end of standard input reports that too
await main(process.argv[2] ?? '');
