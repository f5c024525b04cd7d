/**
 * One limit per endpoint, fed by what workers report and by the engine's metrics; shared out to the sessions that use
 * the endpoint. Endpoints are known by the text a batch gives them (`${env:…}` put in), which is what workers call
 * them too; where one is known to have replicas (replicas.ts), each of these is an endpoint in its place.
 */

import { plural } from '../../common/text.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import type { ReplicaSource } from '../../protocol/replicas.ts';
import { EndpointLimit, type EngineLoad, START_PERMITS } from './limit.ts';
import { metricsUrl } from './metrics.ts';
import { type ReplicaChange, ReplicaSets } from './replicas.ts';
import { type ScrapedMetrics, Scraper } from './scraper.ts';
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
  /** Who knows the replicas behind endpoints; without it each endpoint is one place. */
  readonly replicas?: ReplicaSource | undefined;
  /**
   * An endpoint has taken no call for a while, or takes them again, or a replica of it came or went; told once to each
   * batch that uses it.
   */
  readonly trouble?: (batch: string, endpoint: string, text: string) => void;
  /** Where the server's own demo model has the metrics of a `demo:` endpoint, and how to ask. */
  readonly demo: (
    endpoint: string,
  ) => { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined;
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
  /** Rollouts that could call it, when that was last worked out. */
  demand: { readonly at: number; readonly rollouts: number } | undefined;
}

/** What a batch calls, by the names it gives. */
interface Use {
  readonly agent: readonly string[];
  readonly others: readonly string[];
  /** Rollouts at once, where the batch says how many. */
  readonly width: number | undefined;
  /** Places over which its rollouts are spread. */
  spread: number;
}

/** With `concurrency: auto`, rollouts per permit: about half of a rollout's time is tools. */
const ROLLOUTS_PER_PERMIT = 2;
const TOLD_CHANGE = 0.25;
const NONE_READY = 'none of its pods is ready';
/** What is over sooner is nobody's concern. */
const TROUBLE_MS = 1_500;
/** How long each session has its turn when there are fewer permits than sessions. */
const TURN_MS = 2_000;
const DEMAND_MS = 100;

export class BackPressure {
  readonly #options: BackPressureOptions;
  readonly #now: () => number;
  readonly #endpoints = new Map<string, Endpoint>();
  /** By batch. */
  readonly #uses = new Map<string, Use>();
  readonly #replicas: ReplicaSets;
  readonly #scraper: Scraper;
  #turnTimer: NodeJS.Timeout | undefined;

  constructor(options: BackPressureOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#replicas = new ReplicaSets(options.replicas, (change) => this.#changedReplicas(change));
    this.#scraper = new Scraper(() => this.#scraped());
  }

  close(): void {
    this.#replicas.close();
    this.#scraper.close();
    clearInterval(this.#turnTimer);
    for (const endpoint of this.#endpoints.values()) clearTimeout(endpoint.timer);
  }

  /**
   * `batch` calls these endpoints: `agent` for its rollouts, `width` of them at once when it says so. A repeat replaces
   * what was told before.
   */
  use(batch: string, agent: readonly string[], others: readonly string[], width: number | undefined): void {
    this.#leaveAll(batch);
    const use: Use = { agent, others, width, spread: 1 };
    this.#uses.set(batch, use);
    this.#follow();
    this.#join(batch, use);
    this.#turnTimer ??= setInterval(() => this.#turn(), TURN_MS).unref();
  }

  release(batch: string): void {
    this.#uses.delete(batch);
    this.#leaveAll(batch);
    this.#follow();
    if (this.#uses.size === 0) {
      clearInterval(this.#turnTimer);
      this.#turnTimer = undefined;
    }
  }

  /** What workers of the batch call instead of an endpoint it names: only where replicas are known. */
  replicas(batch: string): Record<string, string[]> {
    const use = this.#uses.get(batch);
    if (use === undefined) return {};
    const found: Record<string, string[]> = {};
    for (const name of [...use.agent, ...use.others]) {
      const behind = this.#replicas.behind(name);
      if (behind[0] !== name) found[name] = [...behind];
    }
    return found;
  }

  /** What a worker of `batch` says of an endpoint. */
  report(batch: string, name: string, report: EndpointReport): void {
    if (this.#replicas.isPast(name)) return;
    const endpoint = this.#endpoint(name);
    endpoint.batches.add(batch);
    const now = this.#now();
    if (report.what === 'ok') endpoint.limit.ok(now, this.#demandAbout(endpoint, now), report.count);
    else {
      endpoint.limit.refused(report.what, now, report.retry_after_ms);
      endpoint.text = this.#replicas.noneReady(name) ? NONE_READY : report.text;
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
      const parts = sharePermits(
        endpoint.limit.permits(now),
        using.map((caller) => caller.running),
        turn,
      );
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
    for (const name of this.#behind(endpoints)) {
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
      endpoint: withoutCredentials(name),
      ...this.#replicaShown(name),
      permits: limit.permits(now),
      state: limit.state,
      ...(load === undefined ? {} : { running: load.running, waiting: load.waiting }),
      ...(load?.kvCache === undefined ? {} : { kv_cache: load.kvCache }),
      ...(load?.preemptions === undefined ? {} : { preemptions: load.preemptions }),
      ...(text === undefined || limit.state === 'ok' ? {} : { text }),
    }));
  }

  #replicaShown(name: string): { service?: string; replica?: string } {
    const found = this.#replicas.at(name);
    return found === undefined ? {} : { service: withoutCredentials(found.endpoint), replica: found.replica.name };
  }

  #behind(names: readonly string[]): Set<string> {
    return new Set(names.flatMap((name) => this.#replicas.behind(name)));
  }

  #follow(): void {
    this.#replicas.follow(new Set([...this.#uses.values()].flatMap(({ agent, others }) => [...agent, ...others])));
  }

  #join(batch: string, use: Use): void {
    const agent = this.#behind(use.agent);
    use.spread = agent.size;
    for (const name of [...agent, ...this.#behind(use.others)]) {
      const endpoint = this.#endpoint(name);
      endpoint.batches.add(batch);
      if (use.width !== undefined)
        endpoint.limit.atLeast(agent.has(name) ? Math.ceil(use.width / agent.size) : use.width);
    }
  }

  #leaveAll(batch: string): void {
    for (const [name, endpoint] of [...this.#endpoints]) {
      endpoint.batches.delete(batch);
      endpoint.toldTo.delete(batch);
      // What was learned of an endpoint is kept while it refuses: the next batch should not run into it again. Of a
      // replica nobody would tell when it is gone.
      if (endpoint.batches.size === 0 && (endpoint.limit.state === 'ok' || this.#replicas.at(name) !== undefined))
        this.#forget(name);
    }
  }

  /** All that was learned of it goes. */
  #forget(name: string): void {
    clearTimeout(this.#endpoints.get(name)?.timer);
    this.#endpoints.delete(name);
  }

  #changedReplicas({ endpoint, first, joined, left, now }: ReplicaChange): void {
    // One at the address of another that is gone begins anew, and so does a service that was one place.
    for (const { url } of left) this.#forget(url);
    if ((now ?? []).length > 0) this.#forget(endpoint);
    const shown = withoutCredentials(endpoint);
    const news = [
      ...left.map(({ name }) => `Replica ${name} of ${shown} is gone`),
      ...joined.map(({ name }) => `Replica ${name} of ${shown} takes calls`),
    ];
    for (const [batch, use] of this.#uses) {
      if (!use.agent.includes(endpoint) && !use.others.includes(endpoint)) continue;
      this.#join(batch, use);
      if (!first && news.length > 0)
        this.#options.trouble?.(
          batch,
          shown,
          `${news.join('; ')}. ` +
            (now === undefined
              ? 'It is called by its own address.'
              : now.length === 0
                ? 'None is ready.'
                : `It has ${plural(now.length, 'replica')} now.`),
        );
    }
    const own = this.#endpoints.get(endpoint);
    if (this.#replicas.noneReady(endpoint) && own !== undefined) {
      own.limit.refused('down', this.#now());
      own.text = NONE_READY;
      this.#look(own, this.#now());
    }
    this.#options.changed();
  }

  #endpoint(name: string): Endpoint {
    let endpoint = this.#endpoints.get(name);
    if (endpoint === undefined) {
      endpoint = {
        name,
        limit: new EndpointLimit(),
        batches: new Set(),
        load: undefined,
        text: undefined,
        troubledSince: undefined,
        toldTo: new Set(),
        told: START_PERMITS,
        timer: undefined,
        demand: undefined,
      };
      this.#endpoints.set(name, endpoint);
    }
    return endpoint;
  }

  #tellTrouble(endpoint: Endpoint, now: number): void {
    const { trouble } = this.#options;
    const name = withoutCredentials(endpoint.name);
    const pod = this.#replicas.at(endpoint.name)?.replica.name;
    const shown = pod === undefined ? name : `${name} (${pod})`;
    if (endpoint.limit.state === 'ok') {
      for (const batch of endpoint.toldTo) trouble?.(batch, name, `The model endpoint ${shown} takes calls again.`);
      endpoint.toldTo.clear();
      endpoint.troubledSince = undefined;
      return;
    }
    endpoint.troubledSince ??= now;
    if (now - endpoint.troubledSince < TROUBLE_MS) return;
    for (const batch of endpoint.batches) {
      if (endpoint.toldTo.has(batch)) continue;
      endpoint.toldTo.add(batch);
      trouble?.(
        batch,
        name,
        `The model endpoint ${shown} takes no calls: ${endpoint.text ?? 'it does not say why'}. They wait for it ` +
          '(model.endpoint_wait); start it, or cancel the batch.',
      );
    }
  }

  /** As of a moment ago: each worker reports several times a second, and it goes through all of them. */
  #demandAbout(endpoint: Endpoint, now: number): number {
    if (endpoint.demand === undefined || now - endpoint.demand.at >= DEMAND_MS)
      endpoint.demand = { at: now, rollouts: this.#demand(endpoint, this.#options.callers()) };
    return endpoint.demand.rollouts;
  }

  /** Rollouts that could call it now; those of a batch with replicas are spread over them. */
  #demand(endpoint: Endpoint, callers: readonly Caller[]): number {
    let demand = 0;
    for (const caller of callers) {
      if (endpoint.batches.has(caller.batch)) demand += caller.running / (this.#uses.get(caller.batch)?.spread ?? 1);
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
    if (
      permits > 0 &&
      endpoint.told > 0 &&
      Math.abs(permits - endpoint.told) < Math.max(1, endpoint.told * TOLD_CHANGE)
    )
      return;
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

  *#scraped(): Generator<ScrapedMetrics> {
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.batches.size === 0) continue;
      const url = metricsUrl(endpoint.name);
      const where = endpoint.name.startsWith('demo:')
        ? this.#options.demo(endpoint.name)
        : url === undefined
          ? undefined
          : { url, headers: {} };
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
