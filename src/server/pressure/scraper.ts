/** Reads the metrics of endpoints every few seconds while they are in use. */

import { outboundRequest } from '../../net/outboundRequest.ts';
import type { EngineLoad } from './limit.ts';
import { hasEngineMetrics, parseEngineLoad, startOf } from './metrics.ts';
import { EngineStarts, type Router, routerAt } from './routers.ts';

const EVERY_MS = 3_000;
/** An endpoint without such metrics is retried less often. */
const WITHOUT_MS = 30_000;
const TIMEOUT_MS = 2_000;
const MAX_CHARS = 4 * 1024 * 1024;

export interface ScrapedMetrics {
  /** The name of the endpoint. */
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Reports the load; undefined if the endpoint did not respond, or if a router did: what it passes on is the load of
   * one of its engines.
   */
  report(load: EngineLoad | undefined, router: Router | undefined): void;
}

interface TargetState {
  isUnderway: boolean;
  /** When it is read next. */
  next: number;
  readonly starts: EngineStarts;
  /** Whether a router was looked for since the last start of the engine. */
  isProbed: boolean;
  router: Router | undefined;
}

export class Scraper {
  readonly #targets: () => Iterable<ScrapedMetrics>;
  readonly #states = new Map<string, TargetState>();
  readonly #end = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(targets: () => Iterable<ScrapedMetrics>) {
    this.#targets = targets;
    this.#timer = setInterval(() => this.#tick(), EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#end.abort();
  }

  #tick(): void {
    for (const target of this.#targets()) {
      const state = this.#state(target.name);
      if (state.isUnderway || state.next > performance.now()) continue;
      state.isUnderway = true;
      void scrape(target, state, this.#end.signal).then((load) => {
        state.isUnderway = false;
        if (this.#end.signal.aborted) return;
        if (load === 'without') state.next = performance.now() + WITHOUT_MS;
        target.report(typeof load === 'string' ? undefined : load, state.router);
      });
    }
  }

  #state(name: string): TargetState {
    let state = this.#states.get(name);
    if (state === undefined) {
      state = { isUnderway: false, next: 0, starts: new EngineStarts(), isProbed: false, router: undefined };
      this.#states.set(name, state);
    }
    return state;
  }
}

/**
 * `without`: it has no such metrics, or they are not those of the endpoint. `silent`: no response; calls themselves
 * report when an endpoint is down.
 */
async function scrape(
  target: ScrapedMetrics,
  state: TargetState,
  signal: AbortSignal,
): Promise<EngineLoad | 'without' | 'silent'> {
  try {
    const response = await outboundRequest(target.url, {
      method: 'GET',
      headers: target.headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (!response.ok) {
      await response.drop();
      // A server that is starting or overloaded may still have metrics later.
      if (response.status >= 500) return 'silent';
      state.router = undefined;
      return 'without';
    }
    const text = await response.text();
    if (text.length > MAX_CHARS || !hasEngineMetrics(text)) return 'without';
    await lookForRouter(target, state, startOf(text), signal);
    return state.router === undefined ? (parseEngineLoad(text) ?? 'without') : 'without';
  } catch (error) {
    if (error instanceof Error) return 'silent';
    throw error;
  }
}

/** Looks for a router when metrics of an engine come for the first time, and again after each of its starts. */
async function lookForRouter(
  { url, headers }: ScrapedMetrics,
  state: TargetState,
  start: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { starts } = state;
  const isNew = start !== undefined && !starts.knows(start);
  const several = start === undefined ? undefined : starts.add(start, performance.now());
  // A router may come and go at the same address.
  if (isNew || !state.isProbed || state.router !== undefined) {
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      state.router = await routerAt(url.replace(/\/metrics$/, ''), headers, limit);
      state.isProbed = true;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      state.isProbed = false;
    }
  }
  state.router ??= several;
}
