import { z } from 'zod';
import type { EndpointQuestion } from '../workspace/facts.ts';

const ASK_MS = 3000;
const MOST = 1000;

const list = z.object({ data: z.array(z.object({ id: z.string() })).max(MOST) });

/**
 * What `/v1/models` of an endpoint lists; its texts have the values of variables put in. Throws when it does not answer
 * in time.
 */
export async function servedModels(
  { endpoint, apiKey, headers }: EndpointQuestion,
  signal: AbortSignal,
): Promise<string[]> {
  const response = await fetch(`${endpoint.replace(/\/+$/, '')}/models`, {
    headers: { ...headers, ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) },
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]),
  });
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  return list.parse(await response.json()).data.map(({ id }) => id);
}
