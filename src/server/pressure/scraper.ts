/** Reads the metrics of endpoints every few seconds while they are in use. */

import { outboundRequest } from '../../net/outboundRequest.ts';
import type { EngineLoad } from './limit.ts';
import { parseEngineLoad } from './metrics.ts';

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
  /** Reports the load; undefined if the endpoint did not respond. */
  report(load: EngineLoad | undefined): void;
}

export class Scraper {
  readonly #targets: () => Iterable<ScrapedMetrics>;
  readonly #without = new Map<string, number>();
  readonly #underway = new Set<string>();
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
      if (this.#underway.has(target.name) || (this.#without.get(target.name) ?? 0) > performance.now()) continue;
      this.#underway.add(target.name);
      void scrape(target, this.#end.signal).then((metrics) => {
        this.#underway.delete(target.name);
        if (this.#end.signal.aborted) return;
        if (metrics === 'without') this.#without.set(target.name, performance.now() + WITHOUT_MS);
        target.report(typeof metrics === 'string' ? undefined : metrics);
      });
    }
  }
}

/** `without`: it has no such metrics. `silent`: no response; calls themselves report when an endpoint is down. */
async function scrape(target: ScrapedMetrics, signal: AbortSignal): Promise<EngineLoad | 'without' | 'silent'> {
  try {
    const response = await outboundRequest(target.url, {
      method: 'GET',
      headers: target.headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    if (!response.ok) {
      await response.drop();
      // A server that is starting or overloaded may still have metrics later.
      return response.status >= 500 ? 'silent' : 'without';
    }
    const text = await response.text();
    return text.length > MAX_CHARS ? 'without' : (parseEngineLoad(text) ?? 'without');
  } catch (error) {
    if (error instanceof Error) return 'silent';
    throw error;
  }
}
