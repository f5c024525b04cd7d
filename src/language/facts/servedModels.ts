import { z } from 'zod';
import type { outboundRequest } from '../../net/outboundRequest.ts';
import type { EndpointRef } from '../workspace/facts.ts';

const TIMEOUT_MS = 3000;
const MAX_MODELS = 1000;
const MAX_BYTES = 4 * 1024 * 1024;

const list = z.object({ data: z.array(z.object({ id: z.string() })).max(MAX_MODELS) });

/**
 * Lists the models at `/v1/models` of an endpoint, whose variables are already resolved. Throws if it does not respond
 * in time.
 */
export async function servedModels(
  { endpoint, apiKey, headers }: EndpointRef,
  send: typeof outboundRequest,
  signal: AbortSignal,
): Promise<string[]> {
  const response = await send(`${endpoint.replace(/\/+$/, '')}/models`, {
    method: 'GET',
    headers: { ...headers, ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (!response.ok) {
    await response.drop();
    throw new Error(`the endpoint returned HTTP status ${response.status}`);
  }
  return list.parse(JSON.parse(await response.text(MAX_BYTES))).data.map(({ id }) => id);
}
