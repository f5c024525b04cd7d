/**
 * Access tokens. Client tokens belong to one run of a server, unless they are configured. A worker token is a signature
 * of its batch's ID with the store's key, so it outlives the server and is valid at every server of the store.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Tokens of clients: with full access, or read-only. */
export interface ClientTokens {
  readonly full: string;
  readonly read: string;
}

export type Identity =
  | { readonly kind: 'client'; readonly readOnly: boolean }
  /** May lease and append to the rollouts of one batch, and read what they need. */
  | { readonly kind: 'worker'; readonly batch: string };

const WORKER = /^w\.([A-Za-z0-9_-]{1,64})\.([0-9a-f]{64})$/;
/** A browser's WebSocket cannot send headers: there the token is a subprotocol. */
const SUBPROTOCOL = /^token\.(.+)$/;

export class Tokens {
  readonly full: string;
  readonly read: string;
  readonly #key: string;

  /** `key`: the store's secret key. */
  constructor(
    key: string,
    clients: ClientTokens = { full: randomBytes(32).toString('hex'), read: randomBytes(32).toString('hex') },
  ) {
    this.full = clients.full;
    this.read = clients.read;
    this.#key = key;
  }

  worker(batch: string): string {
    return `w.${batch}.${this.#sign(batch)}`;
  }

  /** Returns whose token this is; undefined if the token is unknown. */
  identify(token: string): Identity | undefined {
    const worker = WORKER.exec(token);
    if (worker !== null) {
      const [, batch = '', signature = ''] = worker;
      return same(signature, this.#sign(batch)) ? { kind: 'worker', batch } : undefined;
    }
    // Always compare both, so that the time does not leak which one matched.
    const full = same(token, this.full);
    const read = same(token, this.read);
    return full || read ? { kind: 'client', readOnly: !full } : undefined;
  }

  #sign(batch: string): string {
    return createHmac('sha256', this.#key).update(`worker:${batch}`).digest('hex');
  }
}

/** Returns the token of a request. */
export function presentedToken(request: IncomingMessage): string | undefined {
  const header = request.headers.authorization;
  if (header !== undefined) return /^Bearer +(\S+)$/i.exec(header)?.[1];
  for (const protocol of (request.headers['sec-websocket-protocol'] ?? '').split(',')) {
    const found = SUBPROTOCOL.exec(protocol.trim());
    if (found !== null) return found[1];
  }
  return undefined;
}

/** Compares in constant time, independent of the lengths. */
function same(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
