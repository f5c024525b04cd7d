/**
 * One connection to a port of a pod, as a WebSocket through the API server: the first byte of a frame says whether it
 * is data or an error, and each of the two channels starts with the port's number. Backpressure goes both ways. A
 * connection that answers no ping is closed: after a sleep or a change of networks nothing else would notice.
 *
 * `PortForward` of @kubernetes/client-node 2.0.1 is not used. Observed against an API server of a test:
 * - No backpressure: with a local side that did not read, 300 MiB from the pod were all buffered (509 MB resident);
 *   with a pod that did not read, 200 MiB of upload were all buffered in the WebSocket (415 MB resident).
 * - No timeout and no ping: a handshake without answer was still pending after 30 s, and a connection whose other side
 *   went silent was still open after 35 s.
 * - A refused handshake rejects with an `ErrorEvent` ("Unexpected server response: 404") without the API's reason, and
 *   a 401 does not load the credentials again.
 */
import type net from 'node:net';
import { WebSocket } from 'ws';
import type { StudioError } from '../../common/errors.ts';
import type { Cluster } from './cluster.ts';
import { responseError } from './kubeErrors.ts';

const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERROR = 1;
const HANDSHAKE_MS = 10_000;
const PING_MS = 15_000;
/** The local side has to wait while more data than this is unsent. */
const UNSENT_BYTES = 1 << 20;
const PORT_BYTES = 2;
const CLOSING_MS = 2_000;

/** Opens a connection to a port of a pod; throws the API's reason if it refuses. */
export async function openPodSocket(
  cluster: Cluster,
  pod: string,
  port: number,
  signal: AbortSignal,
): Promise<WebSocket> {
  const first = await handshake(cluster, pod, port, signal, false);
  if (first instanceof WebSocket) return first;
  // The credentials may just have expired.
  const second = first.code === 'unauthorized' ? await handshake(cluster, pod, port, signal, true) : first;
  if (second instanceof WebSocket) return second;
  throw second;
}

async function handshake(
  cluster: Cluster,
  pod: string,
  port: number,
  signal: AbortSignal,
  reload: boolean,
): Promise<WebSocket | StudioError> {
  const path = `/api/v1/namespaces/${cluster.namespace}/pods/${pod}/portforward?ports=${String(port)}`;
  const { url, credentials } = await cluster.connection.socket(path, { reload, signal });
  if (signal.aborted) return cluster.connection.failure(signal.reason, signal);
  const { headers, agent, auth, ca, cert, key, servername, rejectUnauthorized } = credentials;
  const options = Object.fromEntries(
    Object.entries({ headers, agent, auth, ca, cert, key, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
  return new Promise((resolve) => {
    const socket = new WebSocket(url, [PROTOCOL], {
      ...options,
      handshakeTimeout: HANDSHAKE_MS,
      perMessageDeflate: false,
      maxPayload: 64 << 20,
    });
    const stop = (): void => socket.terminate();
    const done = (result: WebSocket | StudioError | Promise<StudioError>): void => {
      signal.removeEventListener('abort', stop);
      resolve(result);
    };
    signal.addEventListener('abort', stop, { once: true });
    socket.once('open', () => {
      // Nothing is read before carry() listens.
      socket.pause();
      done(socket);
    });
    socket.once('unexpected-response', (request, response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.once('close', () => {
        request.destroy();
        done(
          responseError(
            { status: response.statusCode ?? 0, text, skewMs: undefined },
            { verb: 'create', resource: 'pods/portforward', group: '', name: pod, namespace: cluster.namespace },
            cluster.context,
          ),
        );
      });
    });
    socket.on('error', (error) => done(cluster.connection.failure(error, signal)));
  });
}

/**
 * Carries bytes both ways until one side ends; resolves with the error that the pod's side reported, if any.
 * `onFirst` is called when the pod sends its first data.
 */
export function carry(local: net.Socket, remote: WebSocket, onFirst: () => void): Promise<string | undefined> {
  return new Promise((resolve) => {
    let reported: string | undefined;
    let isFirst = true;
    let isAlive = true;
    /** Channels that have sent the port's number. */
    const opened = new Set<number>();
    const pinging = setInterval(() => {
      // While we do not read, we cannot see an answer.
      if (!isAlive && !remote.isPaused) remote.terminate();
      isAlive = remote.isPaused;
      if (remote.readyState === WebSocket.OPEN) remote.ping();
    }, PING_MS);
    remote.on('pong', () => (isAlive = true));
    remote.on('message', (data: Buffer) => {
      isAlive = true;
      const channel = data[0] ?? ERROR;
      const body = data.subarray(opened.has(channel) ? 1 : 1 + PORT_BYTES);
      opened.add(channel);
      if (body.length === 0) return;
      if (channel !== DATA) {
        reported = body.toString('utf8');
        end(remote);
        return;
      }
      if (isFirst) onFirst();
      isFirst = false;
      if (local.write(body)) return;
      remote.pause();
      local.once('drain', () => remote.resume());
    });
    remote.once('close', () => {
      clearInterval(pinging);
      if (reported === undefined) local.end();
      else local.resetAndDestroy();
      resolve(reported);
    });
    local.on('data', (chunk: Buffer) => {
      const frame = Buffer.allocUnsafe(chunk.length + 1);
      frame[0] = DATA;
      chunk.copy(frame, 1);
      remote.send(frame, () => {
        if (remote.bufferedAmount <= UNSENT_BYTES) local.resume();
      });
      if (remote.bufferedAmount > UNSENT_BYTES) local.pause();
    });
    local.once('close', () => end(remote));
    local.resume();
    remote.resume();
  });
}

/** Closes with a handshake, but does not wait long for the other side. */
function end(remote: WebSocket): void {
  remote.close();
  const timer = setTimeout(() => remote.terminate(), CLOSING_MS).unref();
  remote.once('close', () => clearTimeout(timer));
}
