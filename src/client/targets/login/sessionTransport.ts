/** Requests with a session that ends: it is renewed before them, or when the server does not know it. */
import type { Transport } from '../../../protocol/transport.ts';

interface SessionPorts {
  /** Whether the session has ended, such as while the machine slept. */
  readonly hasEnded: () => boolean;
  /** Whether there is a session, which could be renewed. */
  readonly hasSession: () => boolean;
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
    if (ports.hasEnded()) await ports.reach(signal);
    const reply = await once();
    // The store, and so its key, may be another one.
    if (reply.status !== 401 || !ports.hasSession()) return reply;
    ports.forget();
    await ports.reach(signal);
    return once();
  };
  return {
    request: (request) => send(request.signal, () => plain.request(request)),
    stream: (request) => send(request.signal, () => plain.stream(request)),
  };
}
