/**
 * One connection to a port of a pod, as a WebSocket through the API server: the first byte of a frame says whether it
 * is
 * data or an error, and each of the two begins with the port's number. Backpressure goes both ways, and a connection
 * that answers no ping is ended: after a sleep or a change of networks nothing else would tell.
 */
import type net from 'node:net';
import { WebSocket } from 'ws';
import type { StudioError } from '../../common/errors.ts';
import type { Cluster } from './cluster.ts';
import { pathOf } from './kinds.ts';
import { answerError } from './kubeErrors.ts';

const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERROR = 1;
const HANDSHAKE_MS = 10_000;
const PING_MS = 15_000;
/** Above this much unsent data the local side has to wait. */
const UNSENT_BYTES = 1 << 20;
const PORT_BYTES = 2;
const CLOSING_MS = 2_000;

/** Opens a connection to a port of a pod; rejects with the reason where none comes about. */
export async function openPodSocket(
  cluster: Cluster,
  pod: string,
  port: number,
  signal: AbortSignal,
): Promise<WebSocket> {
  const first = await handshake(cluster, pod, port, signal, false);
  if (first instanceof WebSocket) return first;
  // The credentials may just have run out.
  const second = first.code === 'unauthorized' ? await handshake(cluster, pod, port, signal, true) : first;
  if (second instanceof WebSocket) return second;
  throw second;
}

async function handshake(
  cluster: Cluster,
  pod: string,
  port: number,
  signal: AbortSignal,
  fresh: boolean,
): Promise<WebSocket | StudioError> {
  const path = `${pathOf('Pod', cluster.namespace, pod, 'portforward')}?ports=${String(port)}`;
  const { url, credentials } = await cluster.connection.socket(path, fresh);
  if (signal.aborted) return cluster.connection.failure(signal.reason, signal);
  const { headers, agent, auth, ca, cert, key, servername, rejectUnauthorized } = credentials;
  const given = Object.fromEntries(
    Object.entries({ headers, agent, auth, ca, cert, key, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
  return new Promise((resolve) => {
    const socket = new WebSocket(url, [PROTOCOL], {
      ...given,
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
      // Nothing is read before somebody listens.
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
          answerError(
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
 * Carries bytes both ways until one side ends; resolves with the error the pod's side told, if it told one.
 * `onFirst`: the pod sent something.
 */
export function carry(local: net.Socket, remote: WebSocket, onFirst: () => void): Promise<string | undefined> {
  return new Promise((resolve) => {
    let told: string | undefined;
    let first = true;
    let alive = true;
    const headed = new Set<number>();
    const pinging = setInterval(() => {
      // While we do not read, no answer can be seen.
      if (!alive && !remote.isPaused) remote.terminate();
      alive = remote.isPaused;
      if (remote.readyState === WebSocket.OPEN) remote.ping();
    }, PING_MS);
    remote.on('pong', () => (alive = true));
    remote.on('message', (data: Buffer) => {
      alive = true;
      const channel = data[0] ?? ERROR;
      const body = data.subarray(headed.has(channel) ? 1 : 1 + PORT_BYTES);
      headed.add(channel);
      if (body.length === 0) return;
      if (channel !== DATA) {
        told = body.toString('utf8');
        end(remote);
        return;
      }
      if (first) onFirst();
      first = false;
      if (local.write(body)) return;
      remote.pause();
      local.once('drain', () => remote.resume());
    });
    remote.once('close', () => {
      clearInterval(pinging);
      if (told === undefined) local.end();
      else local.resetAndDestroy();
      resolve(told);
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

/** Closes politely, but does not wait long for the other side's word. */
function end(remote: WebSocket): void {
  remote.close();
  const timer = setTimeout(() => remote.terminate(), CLOSING_MS).unref();
  remote.once('close', () => clearTimeout(timer));
}
