/**
 * The filtered networks of a worker, one for each list of allowed addresses: programs reach the outside only through a
 * proxy of the worker, which checks every connection and resolves names itself.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createProxy } from '../../builtins/browser/proxy.ts';
import type { Gate } from '../../builtins/web/addresses.ts';
import { Outgoing } from '../../builtins/web/outgoing.ts';
import type { ProcessGroups } from '../../processes/processGroups.ts';
import { FilterGate } from './filterGate.ts';
import { openHolder } from './holder.ts';
import { isSocks, serveSocks } from './socks.ts';

const UNFILTERED = '`sandbox: { network: true }` in the batch file';

export interface FilteredNetwork {
  /** On Linux, a process in the network, in whose namespaces the sandbox is opened. */
  readonly pid?: number;
  /** Ports of loopback that lead outside. */
  readonly ports: readonly number[];
  /** Variables that make programs use the proxy. */
  readonly env: Readonly<Record<string, string>>;
}

export interface OpenNetwork extends FilteredNetwork {
  readonly ended: Promise<void>;
  end(): Promise<void>;
}

export class Networks {
  readonly #groups: ProcessGroups;
  readonly #open = new Map<string, Promise<OpenNetwork>>();

  constructor(groups: ProcessGroups) {
    this.#groups = groups;
  }

  /** Returns the network with these allowed addresses; the first call opens it. Throws StudioError `unavailable`. */
  open(allow: readonly string[]): Promise<FilteredNetwork> {
    const key = JSON.stringify(allow);
    const existing = this.#open.get(key);
    if (existing !== undefined) return existing;
    const gate = new FilterGate(allow);
    const { forwarded } = gate;
    const opening = openNetwork(gate, {
      outgoing: new Outgoing(undefined),
      groups: this.#groups,
      forwarded,
      unfiltered: UNFILTERED,
    });
    this.#open.set(key, opening);
    const forget = (): void => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    };
    opening.then(
      (network) =>
        network.ended.then(() => {
          forget();
          return network.end();
        }),
      forget,
    );
    return opening;
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map((opening) => opening.then((network) => network.end()).catch(() => undefined)));
  }
}

interface NetworkParts {
  readonly outgoing: Outgoing;
  readonly groups: ProcessGroups;
  /** Ports of this machine that programs reach directly. */
  readonly forwarded: readonly number[];
  /** The setting that does without a filter. */
  readonly unfiltered: string;
}

/** Opens a network in which everything leads through the gate. Throws StudioError `unavailable`. */
export async function openNetwork(
  gate: Gate,
  { outgoing, groups, forwarded, unfiltered }: NetworkParts,
): Promise<OpenNetwork> {
  const holder = process.platform === 'linux' ? await openHolder([0, ...forwarded], groups, unfiltered) : undefined;
  const listening = holder?.servers ?? [await listen()];
  const proxy = createProxy(gate, outgoing);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const [main, ...direct] = listening;
  main?.on('connection', (socket: Socket) => {
    track(socket);
    socket.once('readable', () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return; // it was closed
      socket.unshift(first);
      if (!isSocks(first)) proxy.server.emit('connection', socket);
      else serveSocks(socket, (host) => proxy.tunnel(host)).catch(() => socket.destroy());
    });
  });
  for (const [index, server] of direct.entries())
    server.on('connection', (socket: Socket) => {
      track(socket);
      forward(socket, forwarded[index] ?? 0, track);
    });
  const port = holder?.ports[0] ?? portOf(main);
  return {
    ...(holder === undefined ? {} : { pid: holder.pid }),
    ports: [port, ...forwarded],
    env: proxyVariables(port),
    ended: holder?.ended ?? new Promise(() => undefined),
    end: async () => {
      for (const server of listening) server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([holder?.end(), proxy.close()]);
    },
  };
}

/** On macOS, sandboxes share the network of the machine, and their profile closes the rest of it. */
function listen(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server.unref()));
  });
}

function portOf(server: Server | undefined): number {
  const address = server?.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Connects to an allowed port of this machine. */
function forward(socket: Socket, port: number, track: (socket: Socket) => void): void {
  const remote = connect(port, '127.0.0.1');
  track(remote);
  remote.once('close', () => socket.destroy());
  socket.once('close', () => remote.destroy());
  socket.pipe(remote).pipe(socket);
}

/** For curl, git, pip, npm, Go, Python, and Node.js. Most programs want lower case, some upper case. */
function proxyVariables(port: number): Record<string, string> {
  const proxy = `http://127.0.0.1:${port}`;
  const variables = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: 'localhost,127.0.0.1,::1' };
  const lower = Object.entries(variables).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...variables, ...(Object.fromEntries(lower) as Record<string, string>), NODE_USE_ENV_PROXY: '1' };
}
