/**
 * The engines that the server itself pauses, tells the version of their weights, and resumes: those of vLLM 0.32, whose
 * routes for that exist with `VLLM_SERVER_DEV_MODE=1`. They are next to `/v1`.
 */
import { endpointKey } from '../../common/endpointKey.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { shortened } from '../../common/text.ts';
import { outboundRequest } from '../../net/outboundRequest.ts';
import type { Replica } from '../../protocol/replicas.ts';
import type { EndpointChange } from '../../store/endpointStore.ts';
import { type Router, routerAt, routerText } from '../pressure/routers.ts';

export interface ControlledEndpoint {
  readonly endpoint: string;
  /** May contain secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Engine {
  /** URL that ends with `/v1`, for requests. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How long a request may take that waits for no call. */
const ANSWER_MS = 30_000;

/** Returns the engines of an endpoint, or of one of its replicas; none if the server does not control it. */
export function enginesOf(
  { endpoint, replica }: Pick<EndpointChange, 'endpoint' | 'replica'>,
  controlled: readonly ControlledEndpoint[],
  known: ReadonlyMap<string, readonly Replica[]>,
): Engine[] {
  const found = controlled.find((one) => endpointKey(one.endpoint) === endpoint);
  if (found === undefined) return [];
  const { endpoint: url, headers } = found;
  const replicas = known.get(url) ?? [];
  const urls = replicas.length === 0 ? [url] : replicas.map((one) => one.url);
  return urls
    .filter((one) => replica === undefined || endpointKey(one) === replica.url)
    .map((one) => ({ url: one, headers }));
}

/**
 * Throws `unsupported` if a router answers for one of the engines: it would pass a command on to one of those behind
 * it, and the others would go on. `unavailable` if nothing answers.
 */
export async function refuseRouters(engines: readonly Engine[], signal: AbortSignal): Promise<void> {
  await Promise.all(
    engines.map(async (engine) => {
      const router = await routerOf(engine, signal);
      if (router === undefined) return;
      throw new StudioError(
        'unsupported',
        `${endpointKey(engine.url)} is a router (${routerText(router)}), and would pass commands on to one engine.`,
        {
          hint:
            'Name the engines themselves in `model.endpoint`, as a list or as a headless Service. Or remove ' +
            '`control: vllm` from the agent file: then calls wait during a pause, and whoever pauses does the rest.',
        },
      );
    }),
  );
}

/** Returns the engines that are not routers. */
export async function withoutRouters(engines: readonly Engine[], signal: AbortSignal): Promise<Engine[]> {
  const routers = await Promise.all(engines.map((engine) => routerOf(engine, signal)));
  return engines.filter((_, at) => routers[at] === undefined);
}

async function routerOf({ url, headers }: Engine, signal: AbortSignal): Promise<Router | undefined> {
  try {
    return await routerAt(controlUrl(url, ''), headers, AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]));
  } catch (error) {
    throw new StudioError('unavailable', `${endpointKey(url)} does not answer: ${errorText(error)}.`, {
      hint: 'The endpoint is as it was before, for the workers. Send the request again.',
      cause: error,
    });
  }
}

/** Pauses engines that no worker calls anymore. Other clients' requests end by themselves, or are aborted. */
export async function pauseEngines(
  engines: readonly Engine[],
  mode: 'wait' | 'abort',
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(engines.map((engine) => send(engine, `/pause?mode=${mode}`, undefined, ms, signal)));
}

export async function setVersion(engines: readonly Engine[], version: number, signal: AbortSignal): Promise<void> {
  const body = { new_version: String(version) };
  await Promise.all(engines.map((engine) => send(engine, '/update_weight_version', body, ANSWER_MS, signal)));
}

export async function resumeEngines(engines: readonly Engine[], signal: AbortSignal): Promise<void> {
  await Promise.all(engines.map((engine) => send(engine, '/resume', undefined, ANSWER_MS, signal)));
}

/** Throws `unavailable` with the path and what the engine said. */
async function send(engine: Engine, path: string, body: unknown, ms: number, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(Math.max(1, Math.round(ms)));
  const what = `${endpointKey(engine.url)}: ${path.split('?', 1)[0] ?? path}`;
  let status: number;
  let text: string;
  try {
    const response = await outboundRequest(controlUrl(engine.url, path), {
      method: 'POST',
      headers: { ...engine.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, limit]),
    });
    ({ status } = response);
    text = await response.text();
  } catch (error) {
    const why = limit.aborted ? `no answer in ${Math.round(ms / 1000)} s` : errorText(error);
    throw new StudioError('unavailable', `The engine did not do what it must. ${what}: ${why}.`, {
      hint: 'The endpoint is as it was before, for the workers. Send the request again.',
      cause: error,
    });
  }
  if (status >= 200 && status < 300) return;
  throw new StudioError('unavailable', `The engine refused. ${what}: ${status} ${shortened(text, 200)}`, {
    hint:
      status === 404
        ? 'Start vLLM with VLLM_SERVER_DEV_MODE=1, or remove `control: vllm` from the agent file.'
        : 'The endpoint is as it was before, for the workers. Send the request again.',
  });
}

function controlUrl(base: string, path: string): string {
  const url = new URL(base);
  return `${url.origin}${url.pathname.replace(/\/v1\/?$/, '').replace(/\/$/, '')}${path}`;
}
