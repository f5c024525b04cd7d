/** Opens connections through an HTTP proxy, with CONNECT. */
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { StudioError } from '../common/errors.ts';
import { proxyAuthorization } from './proxyRules.ts';

export interface TunnelRequest {
  readonly proxy: URL;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs?: number;
}

const CONNECT_MS = 15_000;

/** Returns a connection to a host. Throws StudioError `unavailable` if the proxy does not answer, or refuses. */
export function openTunnel({ proxy, host, port, timeoutMs = CONNECT_MS }: TunnelRequest): Promise<Socket> {
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const failed = (message: string, hint: string, cause?: unknown): StudioError =>
    new StudioError('unavailable', message, {
      hint,
      details: { proxy: proxy.host },
      ...(cause === undefined ? {} : { cause }),
    });
  const check = `Check the address of the proxy. If ${host} needs none, add it to NO_PROXY (in VS Code: http.noProxy).`;
  return new Promise((resolve, reject) => {
    const request = (proxy.protocol === 'https:' ? https : http).request({
      method: 'CONNECT',
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : Number(proxy.port),
      path: target,
      headers: { host: target, ...proxyAuthorization(proxy) },
      agent: false,
      timeout: timeoutMs,
    });
    request.once('connect', (response, socket, head) => {
      const status = response.statusCode ?? 0;
      if (status === 200) {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(
        status === 407
          ? failed(
              `The proxy ${proxy.host} requires a user name and a password.`,
              'Put them into the address of the proxy, such as http://USER:PASSWORD@HOST:PORT.',
            )
          : failed(
              `The proxy ${proxy.host} refuses to connect to ${target} (HTTP status ${status}).`,
              `If ${host} needs no proxy, add it to NO_PROXY (in VS Code: http.noProxy).`,
            ),
      );
    });
    request.once('timeout', () => request.destroy(failed(`The proxy ${proxy.host} does not respond.`, check)));
    // Whoever does not know CONNECT answers as to other requests.
    request.once('response', (response) => {
      response.resume();
      request.destroy(failed(`${proxy.host} is not an HTTP proxy.`, check));
    });
    request.once('error', (error) =>
      reject(
        StudioError.is(error)
          ? error
          : failed(`Cannot connect to the proxy ${proxy.host}: ${error.message}.`, check, error),
      ),
    );
    request.end();
  });
}
