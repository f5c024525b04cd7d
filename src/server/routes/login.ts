/** The route by which users of a cluster get a token of its server. */
import { StudioError } from '../../common/errors.ts';
import { login } from '../../protocol/access.ts';
import { certificateUser, isSecure } from '../access/clientCertificate.ts';
import type { Logins } from '../access/logins.ts';
import type { ProxyIdentity } from '../access/proxyIdentity.ts';
import { type Call, readJson } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';

const MAX_BYTES = 128 * 1024;

/** `proxy`: whose client certificates the port for TLS accepts, too. */
export function loginRoutes(logins: Logins, proxy: ProxyIdentity | undefined): RouteHandler[] {
  return [{ method: 'POST', path: '/v1/login', handle: (call) => logIn(logins, proxy, call) }];
}

async function logIn(logins: Logins, proxy: ProxyIdentity | undefined, call: Call): Promise<unknown> {
  const { request, response, signal } = call;
  // Also certificates are verified once, when the connection is made.
  response.setHeader('connection', 'close');
  if (!isSecure(request))
    throw new StudioError('usage', 'Credentials of a cluster are accepted only over TLS.', {
      hint: 'Use the port for TLS, and verify the server with the certificate of its installation.',
    });
  const { token } = await readJson(call, login, MAX_BYTES);
  if (token !== undefined) return logins.login({ token }, signal);
  if (logins.reviewer !== undefined && logins.reviewer.clientAuthority() === undefined)
    throw new StudioError('unsupported', 'The server does not know who issues client certificates of its cluster.', {
      hint: 'An administrator can apply the RoleBinding in kube-system that rollout cluster render prints.',
      details: { login: 'token' },
    });
  const authority = proxy?.authority() === undefined ? undefined : (logins.reviewer?.clientAuthority() ?? '');
  return logins.login({ certificate: certificateUser(request, authority) }, signal);
}
