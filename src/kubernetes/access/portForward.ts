/**
 * A local address for a port of a pod. Every local connection gets a connection of its own through the API server, so
 * that none waits for another. A pod that was replaced is found anew by the next connection; while the API server is
 * away new connections end at once, and whoever made them tries again.
 */
import net from 'node:net';
import type { WebSocket } from 'ws';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from './cluster.ts';
import { carry, openPodSocket } from './podSocket.ts';

export interface ForwardOptions {
  /** Ends the forward. */
  readonly signal?: AbortSignal | undefined;
  /** Why connections do not come about (told once), and that they do again (undefined). */
  readonly onNotice?: ((error: StudioError | undefined) => void) | undefined;
}

export interface Forward {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  close(): void;
}

/**
 * Listens on a free local port for connections to `port` of the pod that `findPod` names, in the cluster's namespace.
 */
export async function openForward(
  cluster: Cluster,
  findPod: (signal: AbortSignal) => Promise<string>,
  port: number,
  options: ForwardOptions = {},
): Promise<Forward> {
  const forwarder = new Forwarder(cluster, findPod, port, options);
  const server = net.createServer({ pauseOnConnect: true, noDelay: true }, (socket) => void forwarder.take(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    options.signal?.removeEventListener('abort', close);
    server.close();
    forwarder.close();
  };
  options.signal?.addEventListener('abort', close, { once: true });
  if (options.signal?.aborted === true) close();
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new StudioError('cancelled', 'The forward was ended before it began.');
  return { url: `http://127.0.0.1:${String(address.port)}`, close };
}

class Forwarder {
  readonly #cluster: Cluster;
  readonly #findPod: (signal: AbortSignal) => Promise<string>;
  readonly #port: number;
  readonly #options: ForwardOptions;
  readonly #ended = new AbortController();
  readonly #locals = new Set<net.Socket>();
  /** The pod of the latest connections, until one of them fails. */
  #pod: Promise<string> | undefined;
  #noticed = false;

  constructor(
    cluster: Cluster,
    findPod: (signal: AbortSignal) => Promise<string>,
    port: number,
    options: ForwardOptions,
  ) {
    this.#cluster = cluster;
    this.#findPod = findPod;
    this.#port = port;
    this.#options = options;
  }

  /** Connects a local connection to the pod, for as long as both last. */
  async take(local: net.Socket): Promise<void> {
    this.#locals.add(local);
    const gone = new AbortController();
    local.on('error', () => local.destroy());
    local.once('close', () => {
      this.#locals.delete(local);
      gone.abort();
    });
    try {
      const remote = await this.#open(AbortSignal.any([gone.signal, this.#ended.signal]));
      if (local.destroyed) {
        remote.terminate();
        return;
      }
      const told = await carry(local, remote, () => this.#notice(undefined));
      if (told !== undefined)
        throw new StudioError(
          'unavailable',
          `The pod does not answer on port ${String(this.#port)}: ${REFUSED.exec(told)?.[0] ?? told.trim()}.`,
          { hint: 'Its program may be starting, or have ended: see its log.' },
        );
    } catch (error) {
      this.#pod = undefined;
      local.resetAndDestroy();
      if (!StudioError.is(error, 'cancelled'))
        this.#notice(
          StudioError.is(error)
            ? error
            : new StudioError('internal', error instanceof Error ? error.message : String(error), { cause: error }),
        );
    }
  }

  close(): void {
    this.#ended.abort();
    for (const local of this.#locals) local.destroy();
  }

  async #open(signal: AbortSignal): Promise<WebSocket> {
    const known = this.#pod;
    this.#pod ??= this.#findPod(this.#ended.signal);
    try {
      return await openPodSocket(this.#cluster, await this.#pod, this.#port, signal);
    } catch (error) {
      this.#pod = undefined;
      // The pod we knew may be another one by now; one that was just found is not looked for again.
      if (known === undefined || signal.aborted || StudioError.is(error, 'forbidden') || isAway(error)) throw error;
      return this.#open(signal);
    }
  }

  #notice(error: StudioError | undefined): void {
    if (error === undefined ? !this.#noticed : this.#noticed) return;
    this.#noticed = error !== undefined;
    this.#options.onNotice?.(error);
  }
}

/** What a node says of a port at length, in short. */
const REFUSED = /connection refused/;

/** The API server itself could not be reached: looking for the pod cannot go better. */
function isAway(error: unknown): boolean {
  return StudioError.is(error, 'unavailable') && error.details?.['server'] !== undefined;
}
