/** Whether a server answers at an address, is one of ours, and speaks this protocol. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import { PROTOCOL } from '../../protocol/worker.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { unreachableError } from './unreachable.ts';

/** Who is there answers within this time. */
export const REACH_MS = 15_000;
/** Of any version. */
const said = z.object({ product: z.string(), protocol: z.number().int() });

/** What to do about it. */
export interface Hints {
  /** An older server. */
  readonly update: string;
  /** A token that it does not take. */
  readonly token: string;
}

/** Gives its product. Throws StudioError `unavailable`, `unauthorized` or `version`. */
export async function askServer(
  address: ServerAddress,
  { update, token }: Hints,
  signal?: AbortSignal,
): Promise<string> {
  const limit = AbortSignal.timeout(REACH_MS);
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
  if (status === 401 || status === 403) {
    throw new StudioError('unauthorized', `The rollout server at ${address.url} does not take the token.`, {
      hint: token,
    });
  }
  const answer = jsonOf(text);
  if (status >= 500) {
    throw answer === undefined
      ? new StudioError(
          'unavailable',
          `What is before the rollout server at ${address.url} answers ${status}: it does not reach the server.`,
          { hint: 'See whether the server runs, and whether its gateway or proxy leads there.' },
        )
      : new StudioError('unavailable', `The rollout server at ${address.url} answers ${status}.`, {
          hint: 'Try again; see its log if it stays so.',
        });
  }
  const server = said.safeParse(answer);
  if (!server.success)
    throw new StudioError('unavailable', `What answers at ${address.url} is not a rollout server (status ${status}).`, {
      hint: 'See the address of the target, and whether a page to sign in stands before it.',
    });
  if (server.data.protocol < PROTOCOL)
    throw new StudioError('version', `The server is of an older version (${server.data.product}).`, { hint: update });
  if (server.data.protocol > PROTOCOL)
    throw new StudioError('version', `The server is of a newer version (${server.data.product}).`, {
      hint: 'Update this client.',
    });
  return server.data.product;
}
