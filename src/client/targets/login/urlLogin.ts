/**
 * Logs in to a server at a URL with the token of a kubeconfig's context. The token goes to the server only over TLS,
 * the whole way: a gateway that reaches the server without it is recognized before.
 */
import { StudioError } from '../../../common/errors.ts';
import { jsonOf } from '../../../common/json.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { Login, LoginReply } from '../../../protocol/access.ts';
import type { ServerAddress } from '../../../protocol/transport.ts';
import { nodeTransport } from '../../nodeTransport.ts';
import { unreachableError } from '../unreachable.ts';
import { type LoginResult, readLogin, refuseImpersonation } from './loginResult.ts';

const LOGIN_MS = 20_000;
const UPDATE = 'Ask the operator of the server to update it.';

export type UrlPlace = Omit<ServerAddress, 'token'>;

/** Returns the session. Throws StudioError: what is missing for it, or what the server answered. */
export async function logInAt(place: UrlPlace, cluster: Cluster, signal: AbortSignal): Promise<LoginReply> {
  if (!place.url.startsWith('https:'))
    throw new StudioError('usage', `${place.url} would receive the credential of the cluster unencrypted.`, {
      hint: 'Use https.',
    });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_MS)]);
  await checkWay(place, limit);
  const first = await send(place, { token: await tokenOf(cluster, false) }, limit);
  // The credential may just have expired.
  const reply =
    'token' in first || first.error.code !== 'unauthorized'
      ? first
      : await send(place, { token: await tokenOf(cluster, true) }, limit);
  if ('token' in reply) return reply;
  throw reply.error;
}

async function tokenOf({ connection }: Cluster, reload: boolean): Promise<string> {
  const credential = await connection.credential(reload);
  refuseImpersonation(credential);
  const { token, certificate } = credential;
  if (token !== undefined) return token;
  const { context } = connection;
  if (certificate !== undefined)
    throw new StudioError(
      'unsupported',
      `The context ${context} has only a client certificate, which cannot be used at a URL: gateways do not pass it ` +
        'on.',
      {
        hint:
          'Use a context with a token, such as of an OIDC plug-in or a service account, a client token with ' +
          `--token-env, or the port-forward: rollout target add NAME --context ${context}.`,
      },
    );
  throw new StudioError('unsupported', `The context ${context} has no token.`, {
    hint: 'Log in to the cluster again (kubectl must work with this context).',
  });
}

/** Sends a login without a credential, by whose refusal the server says whether it would accept one here. */
async function checkWay(place: UrlPlace, signal: AbortSignal): Promise<void> {
  const answer = await send(place, {}, signal);
  if ('token' in answer) return;
  const { error } = answer;
  const { host } = new URL(place.url);
  if (error.code === 'usage')
    throw new StudioError(
      'unsupported',
      `The gateway at ${host} connects to the server without TLS, so the server accepts no users of its cluster there.`,
      {
        hint:
          'An administrator can change that with rollout cluster upgrade --ingress-backend https, or ' +
          '--gateway-backend https. Until then, use a client token with --token-env.',
        cause: error,
      },
    );
  // Without a certificate or a token, both mean that it would look at one.
  if (error.code === 'unauthorized' || error.details?.['login'] === 'token') return;
  throw error;
}

async function send(place: UrlPlace, body: Login, signal: AbortSignal): Promise<LoginResult> {
  const { status, text } = await nodeTransport(() => ({ ...place, token: '' }))
    .request({ method: 'POST', path: '/v1/login', body: JSON.stringify(body), signal })
    .then(async (reply) => ({ status: reply.status, text: await reply.text() }))
    .catch((error: unknown) => {
      if (StudioError.is(error, 'cancelled') && !isTimeout(signal.reason)) throw error;
      throw unreachableError(place, error);
    });
  // What the server itself says is JSON.
  if ((status >= 500 && jsonOf(text) === undefined) || (status >= 300 && status < 400))
    throw new StudioError('unavailable', `${place.url} answers logins with HTTP status ${status}.`, {
      hint:
        status < 400
          ? 'Check the URL of the target, and whether it shows a sign-in page.'
          : 'Try again. If the problem persists, check its log, and that its gateway or proxy forwards to it.',
    });
  return readLogin(status, text, UPDATE);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
