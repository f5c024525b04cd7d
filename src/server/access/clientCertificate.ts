/** The user in the certificate of a TLS connection: CN is its name, O its groups, as at the API server. */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { StudioError } from '../../common/errors.ts';
import { certificatesIn, isIssuedBy } from './certificateChain.ts';
import type { ClusterUser } from './userSession.ts';

/** The group of everybody whom the cluster knows. */
export const AUTHENTICATED = 'system:authenticated';

/** Returns whether a request came over TLS. */
export function isSecure(request: IncomingMessage): boolean {
  return request.socket instanceof TLSSocket;
}

/**
 * Returns the user in the client certificate of a request. `authority`: that of the cluster for client certificates
 * (PEM), if the connection also accepts those of others. Throws `unauthorized`.
 */
export function certificateUser(request: IncomingMessage, authority?: string): ClusterUser {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) throw refused('The connection has no client certificate.');
  const { subject, valid_to: until } = socket.getPeerCertificate() as Partial<
    ReturnType<TLSSocket['getPeerCertificate']>
  >;
  if (subject === undefined) throw refused('The connection has no client certificate.');
  if (!socket.authorized)
    throw refused(`The cluster did not issue the client certificate (${String(socket.authorizationError)}).`);
  const certificate = authority === undefined ? undefined : socket.getPeerX509Certificate();
  if (authority !== undefined && (certificate === undefined || !isIssuedBy(certificate, certificatesIn(authority))))
    throw refused('The cluster did not issue the client certificate.');
  // A connection may be older than the end of its certificate.
  if (!(Date.parse(until ?? '') > Date.now())) throw refused('The client certificate has expired.');
  const { CN: user, O: groups } = subject as { readonly CN?: string | string[]; readonly O?: string | string[] };
  if (typeof user !== 'string' || user === '') throw refused('The client certificate has no single name (CN).');
  return { user, groups: [...new Set([...(groups === undefined ? [] : [groups].flat()), AUTHENTICATED])] };
}

function refused(message: string): StudioError {
  return new StudioError('unauthorized', message, {
    hint: 'Log in to the cluster again (kubectl must work with this context).',
  });
}
