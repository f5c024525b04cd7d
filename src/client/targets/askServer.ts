/** Checks that a compatible rollout server responds at an address. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { httpError } from '../../protocol/client.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import { PROTOCOL } from '../../protocol/version.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { unreachableError } from './unreachable.ts';

/** How long to wait for a response. */
export const REACH_TIMEOUT_MS = 15_000;
/** The fields that servers of all versions return. */
const serverInfo = z.object({ product: z.string(), protocol: z.number().int() });

/** Hints for errors. */
interface ServerHints {
  /** For an outdated server. */
  readonly update: string;
  /** For a rejected token. */
  readonly token: string;
}

/** Returns the server's product name and version. Throws StudioError `unavailable`, `unauthorized`, or `version`. */
export async function askServer(
  address: ServerAddress,
  { update, token }: ServerHints,
  signal?: AbortSignal,
): Promise<string> {
  const limit = AbortSignal.timeout(REACH_TIMEOUT_MS);
  const { status, text } = await nodeTransport(() => address)
    .request({
      method: 'GET',
      path: '/v1/server',
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    })
    .then(async (reply) => ({ status: reply.status, text: await reply.text() }))
    .catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw unreachableError(address, error);
    });
  const body = jsonOf(text);
  const refusal = status === 403 ? httpError.safeParse(body).data?.error : undefined;
  // What a user of the cluster lacks.
  if (refusal?.details?.['right'] !== undefined)
    throw new StudioError('forbidden', refusal.message, refusal.hint === undefined ? {} : { hint: refusal.hint });
  if (status === 401 || status === 403) {
    throw new StudioError('unauthorized', `The rollout server at ${address.url} rejected the token.`, {
      hint: token,
    });
  }
  if (status >= 500) {
    throw body === undefined
      ? new StudioError(
          'unavailable',
          `The gateway at ${address.url} returned HTTP status ${status}: it cannot reach the rollout server.`,
          { hint: 'Check that the server is running and that its gateway or proxy forwards to it.' },
        )
      : new StudioError('unavailable', `The rollout server at ${address.url} returned HTTP status ${status}.`, {
          hint: 'Try again. If the problem persists, check its log.',
        });
  }
  const server = serverInfo.safeParse(body);
  if (!server.success)
    throw new StudioError('unavailable', `${address.url} is not a rollout server (HTTP status ${status}).`, {
      hint: 'Check the URL of the target, and whether it shows a sign-in page.',
    });
  if (server.data.protocol < PROTOCOL)
    throw new StudioError('version', `The server is older than this client: ${server.data.product}.`, { hint: update });
  if (server.data.protocol > PROTOCOL)
    throw new StudioError('version', `The server is newer than this client: ${server.data.product}.`, {
      hint: 'Update this client.',
    });
  return server.data.product;
}
