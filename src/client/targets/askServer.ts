/** Whether a server answers at an address, is one of ours, and speaks this protocol. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { fetchTransport, type ServerAddress } from '../../protocol/transport.ts';
import { PROTOCOL } from '../../protocol/worker.ts';

const TIMEOUT_MS = 15_000;
/** Of any version. */
const said = z.object({ product: z.string(), protocol: z.number().int() });

/** Gives its product. Throws StudioError `unavailable`, `unauthorized` or `version`; `update`: how an older one is brought to this version. */
export async function askServer(address: ServerAddress, update: string, signal?: AbortSignal): Promise<string> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const reply = await fetchTransport(() => address)
    .request({ method: 'GET', path: '/v1/server', signal: signal === undefined ? limit : AbortSignal.any([limit, signal]) })
    .catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new StudioError('unavailable', `The rollout server at ${address.url} does not answer.`, { mend: 'rollout target status shows what is wrong.', cause: error });
    });
  if (reply.status === 401 || reply.status === 403) {
    throw new StudioError('unauthorized', `The rollout server at ${address.url} does not take the token.`, { mend: 'The token may be an old one; a server that was installed anew takes its tokens within a minute.' });
  }
  const server = said.safeParse(jsonOf(await reply.text()));
  if (reply.status >= 500) throw new StudioError('unavailable', `The rollout server at ${address.url} answers ${reply.status}.`, { mend: 'Try again; see its log if it stays so.' });
  if (!server.success) throw new StudioError('unavailable', `What answers at ${address.url} is not a rollout server (status ${reply.status}).`, { mend: 'See the address of the target.' });
  if (server.data.protocol < PROTOCOL) throw new StudioError('version', `The server is of an older version (${server.data.product}).`, { mend: update });
  if (server.data.protocol > PROTOCOL) throw new StudioError('version', `The server is of a newer version (${server.data.product}).`, { mend: 'Update this client.' });
  return server.data.product;
}
