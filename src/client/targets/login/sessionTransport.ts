/** Requests with a session that ends: it is renewed before them, or when the server does not know it. */
import type { Transport } from '../../../protocol/transport.ts';

interface SessionPorts {
  /** When the session ends; undefined without one that could be renewed. */
  readonly until: () => number | undefined;
  /** Gets a session if there is none. */
  readonly reach: (signal: AbortSignal | undefined) => Promise<void>;
  readonly forget: () => void;
}

/** Returns a transport that renews a session. `plain` sends with the current one. */
export function sessionTransport(plain: Required<Transport>, ports: SessionPorts): Required<Transport> {
  const send = async <T extends { readonly status: number }>(
    signal: AbortSignal | undefined,
    once: () => Promise<T>,
  ): Promise<T> => {
    // It may have ended while the machine slept.
    if ((ports.until() ?? Infinity) <= Date.now()) await ports.reach(signal);
    const reply = await once();
    // The store, and so its key, may be another one.
    if (reply.status !== 401 || ports.until() === undefined) return reply;
    ports.forget();
    await ports.reach(signal);
    return once();
  };
  return {
    request: (request) => send(request.signal, () => plain.request(request)),
    stream: (request) => send(request.signal, () => plain.stream(request)),
  };
}
