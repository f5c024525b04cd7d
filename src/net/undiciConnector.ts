/** Connects undici's dispatchers through the proxies of this process. */
import { once } from 'node:events';
import net, { isIP, type Socket } from 'node:net';
import tls from 'node:tls';
import { anyProxy, isStrict, proxyTo, trustedContext } from './outbound.ts';
import { openTunnel } from './tunnel.ts';

interface Destination {
  readonly hostname: string;
  readonly protocol: string;
  readonly port: string;
  readonly servername?: string | undefined;
}

type Connected = (...result: [null, Socket] | [Error, null]) => void;

/** Returns what an Agent takes as `connect`: undici's own way, unless this process has proxies. */
export function connectOptions(timeoutMs: number): { timeout: number } | ((to: Destination, done: Connected) => void) {
  return anyProxy() ? outboundConnect(timeoutMs) : { timeout: timeoutMs };
}

/** The same, whatever is configured when a connection is opened; it also trusts what the operating system trusts. */
export function outboundConnect(timeoutMs: number): (to: Destination, done: Connected) => void {
  return (to, done) => {
    open(to, timeoutMs).then(
      (socket) => done(null, socket),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

async function open({ hostname, protocol, port, servername }: Destination, timeoutMs: number): Promise<Socket> {
  const isSecure = protocol === 'https:';
  const url = new URL(
    `${protocol}//${hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname}`,
  );
  if (port !== '') url.port = port;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const number = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const signal = AbortSignal.timeout(timeoutMs);
  const proxy = await proxyTo(url);
  let socket: Socket | undefined;
  try {
    if (proxy !== undefined) socket = await openTunnel({ proxy, host, port: number, timeoutMs });
    else {
      socket = net.connect({ host, port: number, noDelay: true, keepAlive: true });
      await once(socket, 'connect', { signal });
    }
    if (!isSecure) return socket;
    const name = servername ?? (isIP(host) === 0 ? host : undefined);
    const secureContext = trustedContext(); // undefined as long as it is not needed
    const secured = tls.connect({
      socket,
      host,
      ...(secureContext === undefined ? {} : { secureContext }),
      ...(isStrict() ? {} : { rejectUnauthorized: false }),
      ALPNProtocols: ['http/1.1'],
      ...(name === undefined || name === '' ? {} : { servername: name }),
    });
    await once(secured, 'secureConnect', { signal });
    return secured;
  } catch (error) {
    socket?.destroy();
    throw error;
  }
}
