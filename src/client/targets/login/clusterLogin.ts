/**
 * Logs in to the server of a cluster with the user's own credential of the cluster: over TLS, verified with the
 * certificate that the installation publishes, so no other pod receives the credential. The server answers with a token
 * of its own, for at most an hour.
 */

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { UserCredential } from '../../../kubernetes/access/connection.ts';
import { openForward } from '../../../kubernetes/access/portForward.ts';
import { NAMES } from '../../../kubernetes/names.ts';
import { OWN_KEYS } from '../../../kubernetes/tls/authority.ts';
import type { Login, LoginReply } from '../../../protocol/access.ts';
import type { ServerPod } from '../serverPod.ts';
import { type LoginResult, readLogin, refuseImpersonation } from './loginResult.ts';

const LOGIN_MS = 20_000;

/** Returns the session. Throws StudioError: what is missing for it, or what the server answered. */
export async function logIn(cluster: Cluster, pod: ServerPod, signal: AbortSignal): Promise<LoginReply> {
  const { tlsPort } = pod;
  if (tlsPort === undefined)
    throw new StudioError('unsupported', 'The server has no port for TLS, over which users log in.', {
      hint: 'Upgrade it with rollout cluster upgrade.',
    });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)]);
  const ca = await authorityOf(cluster, limit);
  const forward = await openForward(cluster, () => Promise.resolve(pod.name), tlsPort, { signal: limit });
  try {
    const url = `${forward.url.replace(/^http:/, 'https:')}/v1/login`;
    const first = await exchange(url, ca, await cluster.connection.credential(), limit);
    // The credential may just have expired.
    const reply =
      'token' in first || first.error.code !== 'unauthorized'
        ? first
        : await exchange(url, ca, await cluster.connection.credential(true), limit);
    if ('token' in reply) return reply;
    throw reply.error;
  } finally {
    forward.close();
  }
}

/** Reads the certificate by which the server is known, which needs no right to Secrets. */
async function authorityOf(cluster: Cluster, signal: AbortSignal): Promise<string> {
  const map = await cluster.get('ConfigMap', NAMES.authority, { signal });
  const ca = map?.data?.[OWN_KEYS.cert];
  if (ca !== undefined) return ca;
  throw new StudioError(
    'not_found',
    `The server has not published its certificate in the ConfigMap ${NAMES.authority} of namespace ` +
      `${cluster.namespace}.`,
    { hint: 'Upgrade it with rollout cluster upgrade, and see the log of its pod.' },
  );
}

async function exchange(
  url: string,
  ca: string,
  credential: UserCredential,
  signal: AbortSignal,
): Promise<LoginResult> {
  const { certificate, token } = credential;
  refuseImpersonation(credential);
  if (certificate === undefined && token === undefined)
    throw new StudioError('unsupported', 'The kubeconfig has neither a token nor a client certificate.', {
      hint: 'Log in to the cluster again (kubectl must work with this context).',
    });
  const body: Login = certificate === undefined && token !== undefined ? { token } : {};
  const { status, answer } = await send(url, ca, certificate, JSON.stringify(body), signal);
  return readLogin(status, answer, 'Upgrade it with rollout cluster upgrade.');
}

/** Each login has a connection of its own: the client certificate belongs to the connection. */
async function send(
  url: string,
  ca: string,
  certificate: UserCredential['certificate'],
  body: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly answer: string }> {
  try {
    const request = https.request(url, {
      ...certificate,
      method: 'POST',
      ca,
      agent: false,
      signal,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    });
    const response = once(request, 'response');
    request.end(body);
    const [reply] = (await response) as [IncomingMessage];
    return { status: reply.statusCode ?? 0, answer: await text(reply) };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    throw new StudioError('unavailable', `The server does not answer logins${code === '' ? '' : ` (${code})`}.`, {
      hint: /CERT|SIGNATURE|SELF_SIGNED|ISSUER/.test(code)
        ? `Its certificate is not of the authority in the ConfigMap ${NAMES.authority}: another program may answer, ` +
          'or the authority was replaced. Restart the server, or ask its administrator.'
        : 'Try again. If the problem persists, see the log of its pod.',
      cause,
    });
  }
}
