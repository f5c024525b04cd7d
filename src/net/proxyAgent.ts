/** Agents of `node:http` and `node:https` that connect through a proxy. Each connection asks for its own. */
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { openTunnel } from './tunnel.ts';

type Created = (error: Error | null, socket: Duplex) => void;
interface Address {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
  readonly servername?: string | undefined;
}

/** For https and wss. `proxy` returns the proxy for a host, or undefined. */
export class ProxyHttpsAgent extends https.Agent {
  readonly #proxy: (host: string, port: number) => URL | undefined;

  constructor(proxy: (host: string, port: number) => URL | undefined, options: https.AgentOptions = {}) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: https.RequestOptions, created?: Created): Duplex | null | undefined {
    const { host, port, servername } = addressOf(options, 443);
    const proxy = this.#proxy(host, port);
    if (proxy === undefined || created === undefined) return super.createConnection(options, created);
    openTunnel({ proxy, host, port }).then(
      (socket) => {
        const name = servername ?? (isIP(host) === 0 ? host : undefined);
        const { path: _path, ...rest } = options as tls.ConnectionOptions;
        created(null, tls.connect({ ...rest, socket, host, ...(name === undefined ? {} : { servername: name }) }));
      },
      (error: unknown) => fail(created, error),
    );
    return undefined;
  }
}

/** For http and ws. */
export class ProxyHttpAgent extends http.Agent {
  readonly #proxy: (host: string, port: number) => URL | undefined;

  constructor(proxy: (host: string, port: number) => URL | undefined, options: http.AgentOptions = {}) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: http.ClientRequestArgs, created?: Created): Duplex | null | undefined {
    const { host, port } = addressOf(options, 80);
    const proxy = this.#proxy(host, port);
    if (proxy === undefined || created === undefined) return super.createConnection(options, created);
    openTunnel({ proxy, host, port }).then(
      (socket) => created(null, socket),
      (error: unknown) => fail(created, error),
    );
    return undefined;
  }
}

/** Without a connection there is none to pass on. */
function fail(created: Created, error: unknown): void {
  (created as (error: Error) => void)(error instanceof Error ? error : new Error(String(error)));
}

function addressOf({ host, port, servername }: Address, fallback: number) {
  return {
    host: host ?? 'localhost',
    port: Number(port ?? fallback),
    servername: servername === '' ? undefined : servername,
  };
}
