/**
 * A network of its own on Linux, with nothing but loopback, in which sandboxes are opened. A process holds its
 * namespaces; the sockets that listen there belong to the worker, so that nothing stands between it and programs.
 */
import { spawn } from 'node:child_process';
import { Server } from 'node:net';
import { StudioError } from '../../../common/errors.ts';
import type { ProcessGroups } from '../../processes/processGroups.ts';
import { killTree } from '../../processes/processTree.ts';
import { marked } from '../../processes/strays.ts';
import { LOOPBACK } from '../loopback.ts';

const OPEN_MS = 20_000;
/** Exit code if nothing can start loopback. */
const NO_LOOPBACK = 9;

/** Starts loopback, runs the listener `$@`, and then only waits until its standard input ends. */
const SETUP = `
${LOOPBACK} || exit ${NO_LOOPBACK}
"$@" || exit 1
exec cat > /dev/null 3>&-
`;

/** Listens on the ports and hands the sockets over. 0: any port. */
const LISTEN = `
const ports = JSON.parse(process.argv[1]);
process.on('message', () => process.exit());
for (const port of ports) {
  const server = require('net').createServer();
  server.on('error', (error) => process.send({ port, error: error.message }));
  server.listen(port, '127.0.0.1', () => process.send({ port, at: server.address().port }, server));
}
`;

export interface Holder {
  readonly pid: number;
  /** The listening sockets, in the order of the requested ports. */
  readonly servers: readonly Server[];
  /** The ports on which they listen. */
  readonly ports: readonly number[];
  /** Resolves when the namespaces cannot be entered anymore. */
  readonly ended: Promise<void>;
  end(): Promise<void>;
}

/**
 * Opens a network that listens on the ports (0: any). Throws StudioError `unavailable`. `unfiltered`: the setting that
 * does without it.
 */
export async function openHolder(
  requested: readonly number[],
  groups: ProcessGroups,
  unfiltered: string,
): Promise<Holder> {
  const child = spawn(
    'unshare',
    [
      ...['--user', '--map-root-user', '--net', '/bin/sh', '-c', SETUP, 'sh'],
      ...[process.execPath, '-e', LISTEN, JSON.stringify(requested)],
    ],
    {
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
      detached: true,
      env: marked({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ELECTRON_RUN_AS_NODE: '1' }, groups.owner),
    },
  );
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const servers = new Map<number, { readonly server: Server; readonly at: number }>();
  const end = async (): Promise<void> => {
    if (pid !== undefined) {
      child.ref();
      if (child.exitCode === null && child.signalCode === null) killTree(pid);
      await ended;
      groups.remove(pid);
    }
    for (const { server } of servers.values()) server.close();
  };
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin?.on('error', () => undefined); // its exit is reported
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (reason: string, hint = `To do without the filter, use ${unfiltered}.`): void => {
        clearTimeout(timer);
        reject(new StudioError('unavailable', `Cannot filter the network of programs: ${reason}.`, { hint }));
      };
      const timer = setTimeout(() => fail(`it took longer than ${OPEN_MS / 1000} s`), OPEN_MS);
      child.once('error', (error) => fail(error.message));
      child.once('exit', (code) =>
        code === NO_LOOPBACK
          ? fail('nothing on this machine can start loopback', `Install iproute2, or use ${unfiltered}.`)
          : fail(errors.trim().split('\n')[0] ?? 'it ended'),
      );
      child.on('message', (message: { port: number; at?: number; error?: string }, handle) => {
        if (message.at === undefined || !(handle instanceof Server)) {
          fail(message.error ?? 'it has no socket');
          return;
        }
        servers.set(message.port, { server: handle, at: message.at });
        if (servers.size < requested.length) return;
        clearTimeout(timer);
        child.send('done');
        resolve();
      });
    });
  } catch (error) {
    await end();
    throw error;
  }
  child.unref();
  const all = requested.flatMap((port) => servers.get(port) ?? []);
  return { pid: pid ?? 0, servers: all.map(({ server }) => server), ports: all.map(({ at }) => at), ended, end };
}
