/**
 * Forwards a local port to a pod. Every local connection gets its own connection through the API server, so that
 * none waits for another. After a pod was replaced, the next connection finds the new one. While the API server is
 * down, new connections end at once, and the client that made them retries.
 */
import net from 'node:net';
import type { WebSocket } from 'ws';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from './cluster.ts';
import { carry, openPodSocket } from './podSocket.ts';

interface ForwardOptions {
  /** Ends the forward. */
  readonly signal?: AbortSignal | undefined;
  /** Called once with the reason when connections fail, and with undefined when they work again. */
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
  const server = net.createServer({ pauseOnConnect: true, noDelay: true }, (socket) => void forwarder.accept(socket));
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
    throw new StudioError('cancelled', 'The port forward was stopped before it started.');
  return { url: `http://127.0.0.1:${String(address.port)}`, close };
}

class Forwarder {
  readonly #cluster: Cluster;
  readonly #findPod: (signal: AbortSignal) => Promise<string>;
  readonly #port: number;
  readonly #options: ForwardOptions;
  readonly #end = new AbortController();
  readonly #locals = new Set<net.Socket>();
  /** The pod of the latest connections, until one of them fails. */
  #pod: Promise<string> | undefined;
  #isFailing = false;

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

  /** Connects a local connection to the pod, until one of them ends. */
  async accept(local: net.Socket): Promise<void> {
    this.#locals.add(local);
    const closed = new AbortController();
    local.on('error', () => local.destroy());
    local.once('close', () => {
      this.#locals.delete(local);
      closed.abort();
    });
    try {
      const remote = await this.#open(AbortSignal.any([closed.signal, this.#end.signal]));
      if (local.destroyed) {
        remote.terminate();
        return;
      }
      const failure = await carry(local, remote, () => this.#notice(undefined));
      if (failure !== undefined)
        throw new StudioError(
          'unavailable',
          `The pod does not respond on port ${String(this.#port)}: ${REFUSED.exec(failure)?.[0] ?? failure.trim()}.`,
          { hint: 'Its program may be starting or may have ended: check its log.' },
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
    this.#end.abort();
    for (const local of this.#locals) local.destroy();
  }

  async #open(signal: AbortSignal): Promise<WebSocket> {
    const previous = this.#pod;
    this.#pod ??= this.#findPod(this.#end.signal);
    try {
      return await openPodSocket(this.#cluster, await this.#pod, this.#port, signal);
    } catch (error) {
      this.#pod = undefined;
      // The previous pod may have been replaced; one that was just found is not looked for again.
      if (previous === undefined || signal.aborted || StudioError.is(error, 'forbidden') || isServerDown(error))
        throw error;
      return this.#open(signal);
    }
  }

  #notice(error: StudioError | undefined): void {
    if (error === undefined ? !this.#isFailing : this.#isFailing) return;
    this.#isFailing = error !== undefined;
    this.#options.onNotice?.(error);
  }
}

/** The useful part of a node's long message. */
const REFUSED = /connection refused/;

/** Returns whether the API server itself could not be reached, so that looking for the pod would fail too. */
function isServerDown(error: unknown): boolean {
  return StudioError.is(error, 'unavailable') && error.details?.['server'] !== undefined;
}
