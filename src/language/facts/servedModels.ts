import { z } from 'zod';
import type { EndpointRef } from '../workspace/facts.ts';

const TIMEOUT_MS = 3000;
const MAX_MODELS = 1000;

const list = z.object({ data: z.array(z.object({ id: z.string() })).max(MAX_MODELS) });

/**
 * Lists the models at `/v1/models` of an endpoint, whose variables are already resolved. Throws if it does not respond
 * in time.
 */
export async function servedModels({ endpoint, apiKey, headers }: EndpointRef, signal: AbortSignal): Promise<string[]> {
  const response = await fetch(`${endpoint.replace(/\/+$/, '')}/models`, {
    headers: { ...headers, ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) },
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (!response.ok) throw new Error(`the endpoint returned HTTP status ${response.status}`);
  return list.parse(await response.json()).data.map(({ id }) => id);
}
