/**
 * Checks the Host and Origin headers. A page of another site can make a browser call a server on loopback, directly or
 * through a DNS name it points there. Both are refused: the host name must be allowed, and so must the origin if there
 * is one.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { StudioError } from '../../common/errors.ts';

export interface OriginRules {
  /** The address the server listens on. */
  readonly host: string;
  readonly allowHosts: readonly string[];
  readonly allowOrigins: readonly string[];
}

export const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);
const ALL_ADDRESSES = new Set(['0.0.0.0', '::']);

/** Throws StudioError `forbidden`. */
export function checkOrigin(request: IncomingMessage, rules: OriginRules): void {
  const host = request.headers.host ?? '';
  const name = hostName(host);
  if (name === undefined || !allowedHost(name, rules)) {
    throw new StudioError('forbidden', `The host name “${host.slice(0, 200)}” is not allowed.`, {
      hint: 'Use 127.0.0.1 or localhost, or allow this name with --allow-host.',
    });
  }
  const origin = request.headers.origin?.toLowerCase();
  if (origin === undefined) return;
  if (
    origin === `http://${host.toLowerCase()}` ||
    origin === `https://${host.toLowerCase()}` ||
    rules.allowOrigins.includes(origin)
  )
    return;
  throw new StudioError('forbidden', `Pages from ${origin.slice(0, 200)} are not allowed to call this server.`, {
    hint: 'Allow this origin with --allow-origin.',
  });
}

/** Returns the name or address of a Host header, without port and brackets. */
function hostName(host: string): string | undefined {
  try {
    const { hostname, pathname, username, search, hash } = new URL(`http://${host}`);
    if (hostname === '' || pathname !== '/' || username !== '' || search !== '' || hash !== '') return undefined;
    return hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function allowedHost(name: string, rules: OriginRules): boolean {
  if (LOOPBACK.has(name) || name === rules.host.toLowerCase() || rules.allowHosts.includes(name)) return true;
  // When listening on all addresses, any address may be this machine's. Unlike a DNS name, an address cannot be
  // re-pointed.
  return ALL_ADDRESSES.has(rules.host) && isIP(name) !== 0;
}
