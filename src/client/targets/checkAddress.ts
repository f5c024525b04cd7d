/** Asks an address before it is kept as a target: is it there, is its certificate trusted, is the token right? */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { Api } from '../../protocol/api.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { askServer, REACH_MS } from './askServer.ts';
import { isUntrusted, unreachableError } from './unreachable.ts';

/**
 * `untrusted`: it answers, but its certificate is of an authority that is not known. Throws StudioError where nothing
 * answers, or it is no TLS.
 */
export async function reachAddress(
  address: Omit<ServerAddress, 'token'>,
  signal: AbortSignal,
): Promise<'reached' | 'untrusted'> {
  try {
    await nodeTransport(() => ({ ...address, token: '' })).request({
      method: 'GET',
      path: '/v1/server',
      signal: AbortSignal.any([signal, AbortSignal.timeout(REACH_MS)]),
    });
    return 'reached';
  } catch (error) {
    if (signal.aborted) throw error;
    if (isUntrusted(error)) return 'untrusted';
    throw unreachableError(address, error);
  }
}

/**
 * Whether the token may `write` or only `read`; gives the server's product, too. Throws StudioError where it is none,
 * or the server is of another version.
 */
export async function checkToken(
  address: ServerAddress,
  signal: AbortSignal,
): Promise<{ readonly may: 'write' | 'read'; readonly product: string }> {
  const product = await askServer(
    address,
    {
      update: 'Ask whoever runs the server to update it.',
      token: 'It is the token of its file server.json, or of its Secret in the cluster.',
    },
    signal,
  );
  try {
    // A batch that is not there: who may write hears that, who may not hears so first.
    await new Api(nodeTransport(() => address)).commandBatch(
      newId('b'),
      { command: newId('c'), verb: 'pause', args: {} },
      signal,
    );
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return { may: 'read', product };
    if (!StudioError.is(error, 'not_found')) throw error;
  }
  return { may: 'write', product };
}
