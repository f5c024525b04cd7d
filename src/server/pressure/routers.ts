/**
 * Routers in front of engines. They pass on what they do not know, such as `/metrics` or `/pause`, to one of the
 * engines, and its answer reads as if it were that of the endpoint.
 */
import { z } from 'zod';
import { jsonOf } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { outboundRequest } from '../../net/outboundRequest.ts';

export interface Router {
  /** undefined: one that does not say what it is, such as a load balancer. */
  readonly name?: string;
  /** Number of engines behind it, as far as known. */
  readonly engines: number;
}

/** Routes by which routers list their engines. Engines have none of these names. */
const LISTS = [
  {
    name: 'vLLM Router',
    path: '/list_workers',
    engines: z.object({ urls: z.array(z.string()) }).transform(({ urls }) => urls.length),
  },
  {
    name: 'router of the Production Stack',
    path: '/engines',
    engines: z.array(z.object({ engine_id: z.string() })).transform((list) => list.length),
  },
] as const;

/** Returns the router that answers at an address, if one does that lists its engines. Throws if nothing answers. */
export async function routerAt(
  root: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Router | undefined> {
  const found = await Promise.all(
    LISTS.map(async ({ name, path, engines }): Promise<Router[]> => {
      const response = await outboundRequest(`${root}${path}`, { method: 'GET', headers, signal });
      if (!response.ok) {
        await response.drop();
        return [];
      }
      const listed = engines.safeParse(jsonOf(await response.text()));
      return listed.success ? [{ name, engines: listed.data }] : [];
    }),
  );
  return found.flat()[0];
}

/** Returns what a router is, for people: `vLLM Router, 2 engines`. */
export function routerText({ name = 'router', engines }: Router): string {
  return `${name}, ${plural(engines, 'engine')}`;
}

/**
 * Recognizes several engines behind one address by the times at which their processes started: a restarted engine has
 * a later one, so one that is earlier than the last belongs to another engine.
 */
export class EngineStarts {
  readonly #seen = new Set<number>();
  #newest = -Infinity;
  #severalUntil = -Infinity;

  /** Whether engines with this start were seen before. */
  knows(start: number): boolean {
    return this.#seen.has(start);
  }

  /** Adds a reading. Returns the router, if the readings come from several engines. */
  add(start: number, now: number): Router | undefined {
    if (start < this.#newest) this.#severalUntil = now + SEVERAL_MS;
    else if (now >= this.#severalUntil) this.#seen.clear();
    this.#newest = Math.max(this.#newest, start);
    this.#seen.add(start);
    return now < this.#severalUntil ? { engines: this.#seen.size } : undefined;
  }
}

/** How long several engines are expected after the last sign of it. */
const SEVERAL_MS = 600_000;
