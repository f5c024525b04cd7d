/**
 * A disk that fills up: a small tmpfs where this user may mount one, else a limit on the size of the server's files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Bench } from './cli.ts';

export interface SmallDisk {
  /** The store's folder. */
  readonly store: string;
  /** Starts the server under the limit, where the disk itself has none. */
  start(): Promise<void>;
  /** Makes enough room. */
  makeRoom(): void;
  close(): void;
}

const MB = 1024 * 1024;

/** undefined: not possible on this machine; `why` has the reason. */
export function smallDisk(bench: Bench, megabytes: number): SmallDisk | { readonly why: string } {
  if (process.platform !== 'linux') return { why: 'only Linux can mount a small disk here' };
  const folder = bench.path('small');
  mkdirSync(folder);
  if (succeeds('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'rollout-test', folder)) {
    return {
      store: path.join(folder, 'store'),
      start: () => Promise.resolve(),
      makeRoom: () => void succeeds('mount', '-o', 'remount,size=1g', folder),
      close: () => void succeeds('umount', '-l', folder),
    };
  }
  if (!succeeds('prlimit', '--version')) return { why: 'neither mount nor prlimit is allowed here' };
  let pid = 0;
  const store = path.join(folder, 'store');
  return {
    store,
    async start() {
      // The soft limit applies; it can be raised again up to the hard one.
      const server = spawn(
        'prlimit',
        [
          `--fsize=${megabytes * MB}:`,
          process.execPath,
          path.resolve(import.meta.dirname, '../../dist/server.mjs'),
          '--store',
          store,
        ],
        { stdio: ['ignore', 'pipe', 'ignore'] },
      );
      server.unref();
      pid = server.pid ?? 0; // prlimit becomes the server
      await once(server.stdout, 'data');
    },
    makeRoom: () => void succeeds('prlimit', '--pid', String(pid), '--fsize=unlimited:'),
    close: () => undefined,
  };
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
