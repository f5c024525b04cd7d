/**
 * One limit per endpoint, fed by what workers report and by the engine's metrics; shared out to the sessions that use
 * the endpoint. Endpoints are known by the text a batch gives them (`${env:…}` put in), which is what workers call
 * them too.
 */
import type { ServerInfo } from '../../protocol/client.ts';
import { EndpointLimit, START_PERMITS, type EngineLoad } from './limit.ts';
import { metricsUrl } from './metrics.ts';
import { Scraper, type Scraped } from './scraper.ts';
import { sharePermits } from './shares.ts';

/** A worker's session, as far as permits go. */
export interface Caller {
  readonly session: string;
  readonly batch: string;
  /** Rollouts that could call now: not those held. */
  readonly running: number;
}

export interface EndpointReport {
  readonly what: 'ok' | 'busy' | 'down';
  readonly retry_after_ms?: number | undefined;
  readonly text?: string | undefined;
  /** Calls of which this is said; 1 unless told. */
  readonly count?: number | undefined;
}

export interface BackPressureOptions {
  readonly callers: () => readonly Caller[];
  /** Shares may have changed by much: they should be sent now. */
  readonly changed: () => void;
  /** An endpoint has taken no call for a while, or takes them again; told once to each batch that uses it. */
  readonly trouble?: (batch: string, endpoint: string, text: string) => void;
  /** Where the server's own demo model has the metrics of a `demo:` endpoint, and how to ask. */
  readonly demo: (endpoint: string) => { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  readonly now?: () => number;
}

interface Endpoint {
  readonly name: string;
  readonly limit: EndpointLimit;
  readonly batches: Set<string>;
  load: EngineLoad | undefined;
  text: string | undefined;
  /** When it was last well; undefined: it is. */
  troubledSince: number | undefined;
  /** Batches that know of its trouble. */
  readonly toldTo: Set<string>;
  /** Permits when they were last told. */
  told: number;
  timer: NodeJS.Timeout | undefined;
}

/** With `concurrency: auto`, rollouts per permit: about half of a rollout's time is tools. */
const ROLLOUTS_PER_PERMIT = 2;
const TOLD_CHANGE = 0.25;
/** What is over sooner is nobody's concern. */
const TROUBLE_MS = 1_500;
/** How long each session has its turn when there are fewer permits than sessions. */
const TURN_MS = 2_000;

export class BackPressure {
  readonly #options: BackPressureOptions;
  readonly #now: () => number;
  readonly #endpoints = new Map<string, Endpoint>();
  /** Replicas over which the rollouts of each batch are spread. */
  readonly #replicas = new Map<string, number>();
  readonly #scraper: Scraper;
  #turnTimer: NodeJS.Timeout | undefined;

  constructor(options: BackPressureOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#scraper = new Scraper(() => this.#scraped());
  }

  close(): void {
    this.#scraper.close();
    clearInterval(this.#turnTimer);
    for (const endpoint of this.#endpoints.values()) clearTimeout(endpoint.timer);
  }

  /** `batch` calls these endpoints: `agent` for its rollouts, `width` of them at once when it says so. A repeat replaces what was told before. */
  use(batch: string, agent: readonly string[], others: readonly string[], width: number | undefined): void {
    this.release(batch);
    const replicas = new Set(agent);
    this.#replicas.set(batch, replicas.size);
    for (const name of new Set([...agent, ...others])) {
      const endpoint = this.#endpoint(name);
      endpoint.batches.add(batch);
      if (width !== undefined) endpoint.limit.atLeast(replicas.has(name) ? Math.ceil(width / replicas.size) : width);
    }
    this.#turnTimer ??= setInterval(() => this.#turn(), TURN_MS).unref();
  }

  release(batch: string): void {
    this.#replicas.delete(batch);
    for (const [name, endpoint] of this.#endpoints) {
      endpoint.batches.delete(batch);
      endpoint.toldTo.delete(batch);
      // What was learned of an endpoint is kept while it refuses: the next batch should not run into it again.
      if (endpoint.batches.size > 0 || endpoint.limit.state !== 'ok') continue;
      clearTimeout(endpoint.timer);
      this.#endpoints.delete(name);
    }
    if (this.#replicas.size === 0) {
      clearInterval(this.#turnTimer);
      this.#turnTimer = undefined;
    }
  }

  /** What a worker of `batch` says of an endpoint. */
  report(batch: string, name: string, report: EndpointReport): void {
    const endpoint = this.#endpoint(name);
    endpoint.batches.add(batch);
    const now = this.#now();
    if (report.what === 'ok') endpoint.limit.ok(now, this.#demand(endpoint, this.#options.callers()), report.count);
    else {
      endpoint.limit.refused(report.what, now, report.retry_after_ms);
      endpoint.text = report.text;
    }
    this.#tellTrouble(endpoint, now);
    this.#look(endpoint, now);
  }

  /** Permits of every session, by endpoint. */
  shares(): Map<string, Record<string, number>> {
    const now = this.#now();
    const turn = Math.floor(now / TURN_MS);
    const callers = this.#options.callers();
    const shares = new Map<string, Record<string, number>>(callers.map((caller) => [caller.session, {}]));
    for (const endpoint of this.#endpoints.values()) {
      const using = callers.filter((caller) => endpoint.batches.has(caller.batch));
      const parts = sharePermits(endpoint.limit.permits(now), using.map((caller) => caller.running), turn);
      using.forEach((caller, index) => {
        const own = shares.get(caller.session);
        if (own !== undefined) own[endpoint.name] = parts[index] ?? 0;
      });
    }
    return shares;
  }

  /** How many more rollouts of a batch may start, for all that is known of the endpoints its agent calls. */
  room(batch: string, endpoints: readonly string[]): number {
    const now = this.#now();
    const callers = this.#options.callers();
    let room = 0;
    for (const name of endpoints) {
      const endpoint = this.#endpoints.get(name);
      const permits = endpoint?.limit.permits(now) ?? START_PERMITS;
      room += permits * ROLLOUTS_PER_PERMIT - (endpoint === undefined ? 0 : this.#demand(endpoint, callers));
    }
    // Somebody has to find out whether an endpoint is there again.
    const idle = !callers.some((caller) => caller.batch === batch && caller.running > 0);
    return Math.max(Math.floor(room), idle ? 1 : 0);
  }

  info(): ServerInfo['endpoints'] {
    const now = this.#now();
    return [...this.#endpoints.values()].map(({ name, limit, load, text }) => ({
      endpoint: withoutCredentials(name), permits: limit.permits(now), state: limit.state,
      ...(load === undefined ? {} : { running: load.running, waiting: load.waiting }),
      ...(load?.kvCache === undefined ? {} : { kv_cache: load.kvCache }),
      ...(load?.preemptions === undefined ? {} : { preemptions: load.preemptions }),
      ...(text === undefined || limit.state === 'ok' ? {} : { text }),
    }));
  }

  #endpoint(name: string): Endpoint {
    let endpoint = this.#endpoints.get(name);
    if (endpoint === undefined) {
      endpoint = { name, limit: new EndpointLimit(), batches: new Set(), load: undefined, text: undefined, troubledSince: undefined, toldTo: new Set(), told: START_PERMITS, timer: undefined };
      this.#endpoints.set(name, endpoint);
    }
    return endpoint;
  }

  #tellTrouble(endpoint: Endpoint, now: number): void {
    const { trouble } = this.#options;
    const name = withoutCredentials(endpoint.name);
    if (endpoint.limit.state === 'ok') {
      for (const batch of endpoint.toldTo) trouble?.(batch, name, `The model endpoint ${name} takes calls again.`);
      endpoint.toldTo.clear();
      endpoint.troubledSince = undefined;
      return;
    }
    endpoint.troubledSince ??= now;
    if (now - endpoint.troubledSince < TROUBLE_MS) return;
    for (const batch of endpoint.batches) {
      if (endpoint.toldTo.has(batch)) continue;
      endpoint.toldTo.add(batch);
      trouble?.(batch, name, `The model endpoint ${name} takes no calls: ${endpoint.text ?? 'it does not say why'}. They wait for it (model.endpoint_wait); start it, or cancel the batch.`);
    }
  }

  /** Rollouts that could call it now; those of a batch with replicas are spread over them. */
  #demand(endpoint: Endpoint, callers: readonly Caller[]): number {
    let demand = 0;
    for (const caller of callers) {
      if (endpoint.batches.has(caller.batch)) demand += caller.running / (this.#replicas.get(caller.batch) ?? 1);
    }
    return demand;
  }

  /** Tells when permits changed by much, and looks again when they change by themselves. */
  #look(endpoint: Endpoint, now: number): void {
    const permits = endpoint.limit.permits(now);
    const at = endpoint.limit.changesAt(now);
    if (at !== undefined) {
      clearTimeout(endpoint.timer);
      endpoint.timer = setTimeout(() => this.#look(endpoint, this.#now()), Math.max(1, at - now + 1));
    }
    if (permits === endpoint.told) return;
    if (permits > 0 && endpoint.told > 0 && Math.abs(permits - endpoint.told) < Math.max(1, endpoint.told * TOLD_CHANGE)) return;
    endpoint.told = permits;
    this.#options.changed();
  }

  /** Fewer permits than sessions: the next ones have their turn. */
  #turn(): void {
    const now = this.#now();
    const callers = this.#options.callers();
    for (const endpoint of this.#endpoints.values()) {
      const users = callers.filter((caller) => endpoint.batches.has(caller.batch)).length;
      if (endpoint.limit.permits(now) < users) {
        this.#options.changed();
        return;
      }
    }
  }

  *#scraped(): Generator<Scraped> {
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.batches.size === 0) continue;
      const url = metricsUrl(endpoint.name);
      const where = endpoint.name.startsWith('demo:') ? this.#options.demo(endpoint.name) : url === undefined ? undefined : { url, headers: {} };
      if (where === undefined) continue;
      yield {
        ...where,
        name: endpoint.name,
        tell: (load) => {
          const now = this.#now();
          endpoint.load = load;
          endpoint.limit.load(load, now);
          this.#look(endpoint, now);
        },
      };
    }
  }
}

function withoutCredentials(endpoint: string): string {
  if (!URL.canParse(endpoint)) return endpoint;
  const url = new URL(endpoint);
  if (url.username === '' && url.password === '') return endpoint;
  url.username = '';
  url.password = '';
  return url.href;
}
