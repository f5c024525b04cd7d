/** Checks an address before it is saved as a target: reachability, certificate, and token. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { Api } from '../../protocol/api.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { askServer, REACH_TIMEOUT_MS } from './askServer.ts';
import { isUntrusted, unreachableError } from './unreachable.ts';

/**
 * Returns `untrusted` if the certificate is from an unknown CA. Throws StudioError if nothing responds or TLS fails.
 */
export async function reachAddress(
  address: Omit<ServerAddress, 'token'>,
  signal: AbortSignal,
): Promise<'reached' | 'untrusted'> {
  try {
    await nodeTransport(() => ({ ...address, token: '' })).request({
      method: 'GET',
      path: '/v1/server',
      signal: AbortSignal.any([signal, AbortSignal.timeout(REACH_TIMEOUT_MS)]),
    });
    return 'reached';
  } catch (error) {
    if (signal.aborted) throw error;
    if (isUntrusted(error)) return 'untrusted';
    throw unreachableError(address, error);
  }
}

/**
 * Returns whether the token can `write` or only `read`, and the server's product. Throws StudioError if the token is
 * invalid or the server has another version.
 */
export async function checkToken(
  address: ServerAddress,
  signal: AbortSignal,
): Promise<{ readonly access: 'write' | 'read'; readonly product: string }> {
  const product = await askServer(
    address,
    {
      update: 'Ask the operator of the server to update it.',
      token: 'Use the token in its server.json file, or in its Secret in the cluster.',
    },
    signal,
  );
  try {
    // Use a batch that does not exist: a full token gets `not_found`, a read-only one `forbidden`.
    await new Api(nodeTransport(() => address)).commandBatch(
      newId('b'),
      { command: newId('c'), verb: 'pause', args: {} },
      signal,
    );
  } catch (error) {
    if (StudioError.is(error, 'forbidden')) return { access: 'read', product };
    if (!StudioError.is(error, 'not_found')) throw error;
  }
  return { access: 'write', product };
}
