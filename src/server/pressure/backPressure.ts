/**
 * Keeps one limit per endpoint, driven by the workers' reports and the engine's metrics, and divides it among the
 * sessions that use the endpoint. An endpoint is identified by its text in the batch's configuration (with `${env:…}`
 * substituted), which workers use too. Where an endpoint has known replicas (replicas.ts), each replica is an endpoint
 * in its place.
 */

import { publicUrl } from '../../common/redaction/hidable.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import type { Replica } from '../../protocol/replicas.ts';
import type { WaitReason } from '../../trace/schema.ts';
import type { EndpointWait } from '../shares/waiting.ts';
import type { DividedSession, Endpoint, Use } from './endpointState.ts';
import { EndpointLimit, START_PERMITS } from './limit.ts';
import { metricsUrl } from './metrics.ts';
import type { BackPressureOptions, BatchShare, Caller, EndpointReport, SessionPermits } from './options.ts';
import { EndpointOutage } from './outage.ts';
import { type ReplicaChange, ReplicaSets, replicaEvents } from './replicas.ts';
import { RolloutRooms } from './rooms.ts';
import { routerText } from './routers.ts';
import { excessCalls, loadRatio } from './scaling.ts';
import { type ScrapedMetrics, Scraper } from './scraper.ts';
import { dividePermits } from './shares.ts';

const MIN_CHANGE = 0.25;
const NONE_READY = 'none of its pods are ready';
/** How long each session has its turn when there are fewer permits than sessions. */
const TURN_MS = 2_000;
const DEMAND_MS = 100;
const ALONE: BatchShare = { priority: 0, queue: undefined, queueWeight: 1, user: '', userWeight: 1, blocked: false };

export class BackPressure {
  readonly #options: BackPressureOptions;
  readonly #now: () => number;
  readonly #endpoints = new Map<string, Endpoint>();
  /** By batch. */
  readonly #uses = new Map<string, Use>();
  readonly #replicas: ReplicaSets;
  readonly #scraper: Scraper;
  readonly #rooms: RolloutRooms;
  #turnTimer: NodeJS.Timeout | undefined;

  constructor(options: BackPressureOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#replicas = new ReplicaSets(options.replicas, (change) => this.#changedReplicas(change), this.#now);
    this.#scraper = new Scraper(() => this.#scraped());
    this.#rooms = new RolloutRooms({
      endpoint: (name) => this.#endpoints.get(name),
      spread: (batch) => Math.max(1, this.#uses.get(batch)?.spread ?? 1),
      callers: options.callers,
      shareOf: (batch) => this.#shareOf(batch),
      claims: () => options.claims?.(),
      now: this.#now,
    });
  }

  close(): void {
    this.#replicas.close();
    this.#scraper.close();
    clearInterval(this.#turnTimer);
    for (const endpoint of this.#endpoints.values()) clearTimeout(endpoint.timer);
  }

  /**
   * Sets the endpoints that `batch` calls: `agent` for its rollouts, up to `width` of them at once if set. Replaces
   * earlier settings.
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

  /** Returns what workers of the batch call instead of each endpoint that has known replicas. */
  replicas(batch: string): Record<string, string[]> {
    const use = this.#uses.get(batch);
    if (use === undefined) return {};
    const replicas: Record<string, string[]> = {};
    for (const name of [...use.agent, ...use.others]) {
      const urls = this.#replicas.urlsOf(name);
      if (urls[0] !== name) replicas[name] = [...urls];
    }
    return replicas;
  }

  /** Handles a worker's report on an endpoint. */
  report(batch: string, name: string, report: EndpointReport): void {
    if (this.#replicas.isObsolete(name)) return;
    const endpoint = this.#endpoint(name);
    endpoint.batches.add(batch);
    const now = this.#now();
    if (report.what === 'ok') endpoint.limit.ok(now, this.#recentDemand(endpoint, now), report.count);
    else {
      endpoint.limit.refused(report.what, now, report.retry_after_ms);
      endpoint.text = this.#replicas.noneReady(name) ? NONE_READY : report.text;
    }
    this.#reportOutage(endpoint, now);
    this.#update(endpoint, now);
  }

  /** Returns the permits of every session, by endpoint. */
  shares(): Map<string, SessionPermits> {
    const now = this.#now();
    const turn = Math.floor(now / TURN_MS);
    const callers = this.#options.callers();
    const shares = new Map<string, DividedSession>(
      callers.map((caller) => [caller.session, { permits: {}, waits: {} }]),
    );
    const claims = new Map<string, BatchShare>();
    for (const { batch } of callers) if (!claims.has(batch)) claims.set(batch, this.#shareOf(batch));
    for (const endpoint of this.#endpoints.values()) {
      const users = callers.filter((caller) => endpoint.batches.has(caller.batch));
      const divided = dividePermits(
        endpoint.limit.permits(now),
        users.map(({ batch, demand }) => ({ ...(claims.get(batch) ?? ALONE), demand })),
        turn,
      );
      const waits = new Map<string, WaitReason>();
      endpoint.waits = waits;
      users.forEach((caller, index) => {
        const share = shares.get(caller.session);
        if (share === undefined) return;
        share.permits[endpoint.name] = divided.permits[index] ?? 0;
        const reason = divided.waits[index];
        if (reason === undefined) return;
        share.waits[endpoint.name] = reason;
        if (caller.demand > 0) waits.set(caller.batch, reason);
      });
    }
    return shares;
  }

  #shareOf(batch: string): BatchShare {
    return this.#options.shareOf?.(batch) ?? ALONE;
  }

  /** Returns how many more rollouts of a batch may start, judging by the endpoints its agent calls. */
  room(batch: string, endpoints: readonly string[]): number {
    return this.#rooms.room(batch, this.#urlsOf(endpoints));
  }

  /** Returns why a batch gets no permits, or no further rollouts, at the endpoints its agent calls. */
  waitOf(batch: string, endpoints: readonly string[]): EndpointWait | undefined {
    return this.#rooms.waitOf(batch, this.#urlsOf(endpoints));
  }

  /** Returns the endpoints that batches use now, with their replicas, if known. */
  known(): Map<string, readonly Replica[]> {
    const known = new Map<string, readonly Replica[]>();
    for (const { agent, others } of this.#uses.values())
      for (const name of [...agent, ...others]) known.set(name, this.#replicas.of(name));
    return known;
  }

  /** Returns the batches that use endpoints, and which. */
  users(): ReadonlyMap<string, { readonly agent: readonly string[]; readonly others: readonly string[] }> {
    return this.#uses;
  }

  info(): ServerInfo['endpoints'] {
    const now = this.#now();
    return [...this.#endpoints.values()].map((each) => {
      const { name, label, limit, load, router, text } = each;
      const announced = this.#announced(name);
      const isPaused = announced.pause !== undefined;
      // Autoscalers keep a replica whose calls wait for the end of a pause.
      const ratio =
        isPaused && this.#demand(each, (caller) => caller.demand) > 0 ? 1 : loadRatio(each, this.#siblings(name));
      return {
        endpoint: label,
        ...this.#replicaInfo(name),
        ...announced,
        permits: limit.permits(now),
        ...(isPaused ? {} : { excess: this.#excess(each, now) }),
        ...(ratio === undefined ? {} : { load: ratio }),
        state: limit.state,
        ...(load === undefined ? {} : { running: load.running, waiting: load.waiting }),
        ...(load?.kvCache === undefined ? {} : { kv_cache: load.kvCache }),
        ...(load?.preemptions === undefined ? {} : { preemptions: load.preemptions }),
        ...(router === undefined ? {} : { router: routerText(router) }),
        ...(text === undefined || limit.state === 'ok' ? {} : { text }),
      };
    });
  }

  #excess(endpoint: Endpoint, now: number): number {
    const demand = this.#demand(endpoint, (caller) => caller.demand);
    return excessCalls(endpoint, demand, now);
  }

  /** Returns all replicas of an endpoint's service. */
  #siblings(name: string): Endpoint[] {
    const service = this.#replicas.at(name)?.endpoint ?? name;
    return this.#replicas.urlsOf(service).flatMap((url) => this.#endpoints.get(url) ?? []);
  }

  #replicaInfo(name: string): { service?: string; replica?: string } {
    const found = this.#replicas.at(name);
    return found === undefined ? {} : { service: this.#label(found.endpoint), replica: found.replica.name };
  }

  #announced(name: string): Pick<ServerInfo['endpoints'][number], 'pause' | 'weights'> {
    const service = this.#replicas.at(name)?.endpoint;
    return this.#options.announced?.(service ?? name, service === undefined ? undefined : name) ?? {};
  }

  #label(endpoint: string): string {
    return this.#options.label?.(endpoint) ?? publicUrl(endpoint);
  }

  #urlsOf(names: readonly string[]): Set<string> {
    return new Set(names.flatMap((name) => this.#replicas.urlsOf(name)));
  }

  #follow(): void {
    this.#replicas.follow(new Set([...this.#uses.values()].flatMap(({ agent, others }) => [...agent, ...others])));
  }

  #join(batch: string, use: Use): void {
    const agent = this.#urlsOf(use.agent);
    use.spread = agent.size;
    for (const name of [...agent, ...this.#urlsOf(use.others)]) {
      const endpoint = this.#endpoint(name);
      endpoint.batches.add(batch);
      if (use.width !== undefined)
        endpoint.limit.atLeast(agent.has(name) ? Math.ceil(use.width / agent.size) : use.width);
    }
  }

  #leaveAll(batch: string): void {
    for (const [name, endpoint] of [...this.#endpoints]) {
      endpoint.batches.delete(batch);
      endpoint.outage.forget(batch);
      // Keep the state of an endpoint that refuses calls, so that the next batch does not run into it again. Replicas
      // are forgotten: without a batch, nobody would notice when they disappear.
      if (endpoint.batches.size === 0 && (endpoint.limit.state === 'ok' || this.#replicas.at(name) !== undefined))
        this.#forget(name);
    }
  }

  /** Forgets the state of an endpoint. */
  #forget(name: string): void {
    clearTimeout(this.#endpoints.get(name)?.timer);
    this.#endpoints.delete(name);
  }

  #changedReplicas(change: ReplicaChange): void {
    const { endpoint, first, removed, now } = change;
    // A new replica at the address of a removed one starts fresh, and so does a service that had no replicas before.
    for (const { url } of removed) this.#forget(url);
    if ((now ?? []).length > 0) this.#forget(endpoint);
    const address = this.#label(endpoint);
    const events = first ? [] : replicaEvents(change, address);
    for (const [batch, use] of this.#uses) {
      if (!use.agent.includes(endpoint) && !use.others.includes(endpoint)) continue;
      this.#join(batch, use);
      for (const event of events) this.#options.trouble?.(batch, event);
    }
    const state = this.#endpoints.get(endpoint);
    if (this.#replicas.noneReady(endpoint) && state !== undefined) {
      state.limit.refused('down', this.#now());
      state.text = NONE_READY;
      this.#update(state, this.#now());
    }
    this.#options.changed();
  }

  #endpoint(name: string): Endpoint {
    let endpoint = this.#endpoints.get(name);
    if (endpoint === undefined) {
      endpoint = {
        name,
        label: this.#label(name),
        limit: new EndpointLimit(),
        batches: new Set(),
        load: undefined,
        router: undefined,
        text: undefined,
        outage: new EndpointOutage(),
        sentPermits: START_PERMITS,
        timer: undefined,
        waits: new Map(),
        demand: undefined,
      };
      this.#endpoints.set(name, endpoint);
    }
    return endpoint;
  }

  #reportOutage({ name, label: address, limit, batches, text, outage }: Endpoint, now: number): void {
    const pod = this.#replicas.at(name)?.replica.name;
    const label = pod === undefined ? address : `${address} (${pod})`;
    const about = {
      what: 'endpoint',
      endpoint: address,
      ...(this.#replicas.noneReady(name) ? { all_replicas: true as const } : {}),
    };
    if (limit.state === 'ok') {
      for (const batch of outage.end())
        this.#options.trouble?.(batch, { ...about, text: `The model endpoint ${label} is available again.` });
      return;
    }
    for (const batch of outage.newlyAffected(batches, now))
      this.#options.trouble?.(batch, {
        ...about,
        text:
          `The model endpoint ${label} is not available: ${text ?? 'unknown reason'}. Calls wait for it ` +
          '(model.endpoint_wait). Start it, or cancel the batch.',
      });
  }

  /** Returns a recent demand. It is cached briefly: each worker reports several times a second, and this visits all. */
  #recentDemand(endpoint: Endpoint, now: number): number {
    if (endpoint.demand === undefined || now - endpoint.demand.at >= DEMAND_MS)
      endpoint.demand = { at: now, rollouts: this.#demand(endpoint, ({ running }) => running) };
    return endpoint.demand.rollouts;
  }

  /** Adds up what could call the endpoint now; that of a batch with replicas is spread over them. */
  #demand(endpoint: Endpoint, of: (caller: Caller) => number): number {
    let demand = 0;
    for (const caller of this.#options.callers()) {
      if (endpoint.batches.has(caller.batch)) demand += of(caller) / (this.#uses.get(caller.batch)?.spread ?? 1);
    }
    return demand;
  }

  /** Reports a large change of permits, and checks again when they are due to change. */
  #update(endpoint: Endpoint, now: number): void {
    const permits = endpoint.limit.permits(now);
    const at = endpoint.limit.changesAt(now);
    if (at !== undefined) {
      clearTimeout(endpoint.timer);
      endpoint.timer = setTimeout(() => this.#update(endpoint, this.#now()), Math.max(1, at - now + 1));
    }
    if (permits === endpoint.sentPermits) return;
    if (
      permits > 0 &&
      endpoint.sentPermits > 0 &&
      Math.abs(permits - endpoint.sentPermits) < Math.max(1, endpoint.sentPermits * MIN_CHANGE)
    )
      return;
    endpoint.sentPermits = permits;
    this.#options.changed();
  }

  /** Passes the permits on to the next sessions where there are fewer permits than sessions, or than others need. */
  #turn(): void {
    const now = this.#now();
    const callers = this.#options.callers();
    for (const endpoint of this.#endpoints.values()) {
      const users = callers.filter((caller) => endpoint.batches.has(caller.batch)).length;
      if (endpoint.waits.size > 0 || endpoint.limit.permits(now) < users) {
        this.#options.changed();
        return;
      }
    }
  }

  *#scraped(): Generator<ScrapedMetrics> {
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.batches.size === 0) continue;
      const url = metricsUrl(endpoint.name);
      const location = endpoint.name.startsWith('demo:')
        ? this.#options.demo(endpoint.name)
        : url === undefined
          ? undefined
          : { url, headers: {} };
      if (location === undefined) continue;
      yield {
        ...location,
        name: endpoint.name,
        report: (load, router) => {
          const now = this.#now();
          endpoint.load = load;
          endpoint.router = router;
          endpoint.limit.load(load, now);
          this.#update(endpoint, now);
        },
      };
    }
  }
}
