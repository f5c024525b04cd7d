/** `GET /metrics`: counters of the server, totals of its store, and the state of its endpoints and process. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PRODUCT } from '../../common/product.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { PROTOCOL } from '../../protocol/version.ts';
import type { SessionRecord, Store, StoreTotals } from '../../store/store.ts';
import type { PodTotal } from '../../store/usageStore.ts';
import type { Counters } from './counters.ts';
import { Exposition, type Sample } from './prometheus.ts';

/** The store is queried at most this often, however many scrapers there are. */
const STORE_EVERY_MS = 1_000;
const LOOP_RESOLUTION_MS = 20;

interface ScrapeOptions {
  readonly store: Pick<Store, 'counts' | 'totals' | 'sessions' | 'kind' | 'usage'>;
  readonly counters: Counters;
  readonly endpoints: () => ServerInfo['endpoints'];
  /** Clients connected to this server. */
  readonly clients: () => number;
  readonly workers: () => number;
  readonly draining: () => boolean;
}

interface StoredCounts {
  readonly counts: { readonly queued: number; readonly running: number; readonly held: number };
  readonly totals: StoreTotals;
  readonly sessions: readonly SessionRecord[];
  readonly pods: readonly PodTotal[];
}

interface LoopLag {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

export class Scrape {
  readonly #options: ScrapeOptions;
  /** Enabled at the first scrape. */
  readonly #loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  #stored: { readonly at: number; readonly counts: Promise<StoredCounts>; readonly lag: LoopLag } | undefined;

  constructor(options: ScrapeOptions) {
    this.#options = options;
  }

  /** Returns the metrics. Passes on errors of the store: an incomplete scrape would look like an idle server. */
  async text(): Promise<string> {
    const { counts, lag } = this.#read();
    const stored = await counts;
    const out = new Exposition();
    this.#process(out);
    writeStored(out, stored);
    this.#counted(out);
    writeEndpoints(out, this.#options.endpoints());
    writeProcess(out, lag);
    return out.toString();
  }

  close(): void {
    this.#loop.disable();
  }

  #read(): { readonly counts: Promise<StoredCounts>; readonly lag: LoopLag } {
    const now = performance.now();
    if (this.#stored === undefined || now - this.#stored.at >= STORE_EVERY_MS) {
      const reading = { at: now, counts: this.#query(), lag: this.#lag() };
      this.#stored = reading;
      // The next scrape retries.
      reading.counts.catch(() => {
        if (this.#stored === reading) this.#stored = undefined;
      });
    }
    return this.#stored;
  }

  async #query(): Promise<StoredCounts> {
    const { store } = this.#options;
    const [counts, totals, sessions, pods] = await Promise.all([
      store.counts(),
      store.totals(),
      store.sessions(),
      store.usage.podTotals(),
    ]);
    return { counts, totals, sessions, pods };
  }

  /** Returns how late timers ran since the last scrape. */
  #lag(): LoopLag {
    const seconds = (ns: number): number =>
      Number.isFinite(ns) ? Math.max(0, ns / 1e9 - LOOP_RESOLUTION_MS / 1e3) : 0;
    const lag = {
      mean: seconds(this.#loop.mean),
      p99: seconds(this.#loop.percentile(99)),
      max: seconds(this.#loop.max),
    };
    this.#loop.reset();
    this.#loop.enable();
    return lag;
  }

  #process(out: Exposition): void {
    const { store, draining } = this.#options;
    out.gauge('rollout_build_info', 'Version of the server; always 1.', [
      {
        value: 1,
        labels: {
          version: PRODUCT.split(' ').at(-1) ?? '',
          protocol: String(PROTOCOL),
          node: process.version,
          store: store.kind,
        },
      },
    ]);
    out.gauge('rollout_server_draining', '1 while the server is shutting down.', Number(draining()));
  }

  #counted(out: Exposition): void {
    const { counters, clients, workers } = this.#options;
    out.gauge('rollout_connected_clients', 'Clients connected to this server.', clients());
    out.gauge('rollout_connected_workers', 'Workers connected to this server.', workers());
    out.counter('rollout_leases_total', 'Rollouts this server leased to workers.', counters.leases.samples());
    out.histogram(
      'rollout_lease_duration_seconds',
      'Time from a worker’s request for rollouts to the reply.',
      counters.leaseSeconds,
    );
    out.histogram(
      'rollout_queue_wait_seconds',
      'Time from queueing a rollout to its first lease.',
      counters.queueSeconds,
    );
    out.counter('rollout_appends_total', 'Appends from workers to this server, by result.', counters.appends.samples());
    out.histogram(
      'rollout_append_duration_seconds',
      'Time from receiving an append until its events are durable.',
      counters.appendSeconds,
    );
    out.counter('rollout_events_ingested_total', 'Events this server stored for workers.', counters.events.samples());
    out.counter(
      'rollout_event_bytes_ingested_total',
      'Bytes of the appends with those events.',
      counters.eventBytes.samples(),
    );
    out.counter(
      'rollout_ended_total',
      'Rollouts ended by workers of this server, by outcome; includes every try.',
      counters.ended.samples(),
    );
    out.counter(
      'rollout_traces_total',
      'Finished rollouts exported as traces (OTLP) or lost.',
      counters.traces.samples(),
    );
    out.gauge('rollout_traces_waiting', 'Finished rollouts waiting to be exported as traces.', counters.tracesWaiting);
  }
}

/** Writes the metrics that are the same at every server of a store. */
function writeStored(out: Exposition, { counts, totals, sessions, pods }: StoredCounts): void {
  out.gauge(
    'rollout_rollouts',
    'Rollouts that have not ended, by state, in the whole store.',
    byLabel('state', counts),
  );
  out.gauge(
    'rollout_attempts_settled',
    'Settled attempts, by outcome, in the whole store.',
    byLabel('outcome', totals.settled),
  );
  out.gauge('rollout_batches', 'Batches, by state, in the whole store.', byLabel('state', totals.batches));
  out.gauge('rollout_sessions', 'Worker sessions in the whole store.', sessions.length);
  out.gauge(
    'rollout_session_slots',
    'Slots of all workers in the whole store.',
    sessions.reduce((total, { slots }) => total + slots, 0),
  );
  const used = byUserAndModel(pods);
  out.counter(
    'rollout_gpu_seconds_total',
    'GPU time that pods of batches requested, by user and model, in the whole store.',
    used.filter(({ gpu }) => gpu > 0).map(({ gpu, labels }) => ({ value: gpu, labels })),
  );
  out.counter(
    'rollout_cpu_seconds_total',
    'CPU time that pods of batches requested, by user and model, in the whole store.',
    used.map(({ cpu, labels }) => ({ value: cpu, labels })),
  );
}

/** Pairs of a user and a model with series of their own; those that used least are added up. */
const MAX_PAIRS = 200;

/** Returns what pods used by user and model. An empty user: whoever has a client token. */
function byUserAndModel(
  pods: readonly PodTotal[],
): { readonly gpu: number; readonly cpu: number; readonly labels: Readonly<Record<string, string>> }[] {
  const sums = new Map<string, { gpu: number; cpu: number; readonly labels: Readonly<Record<string, string>> }>();
  const add = (labels: Readonly<Record<string, string>>, gpu: number, cpu: number): void => {
    const key = JSON.stringify(labels);
    const sum = sums.get(key) ?? { gpu: 0, cpu: 0, labels };
    sums.set(key, sum);
    sum.gpu += gpu;
    sum.cpu += cpu;
  };
  for (const { user, model, gpuSeconds, cpuSeconds } of pods) add({ user, model }, gpuSeconds, cpuSeconds);
  if (sums.size <= MAX_PAIRS) return [...sums.values()];
  const sorted = [...sums.values()].sort((a, b) => b.gpu - a.gpu || b.cpu - a.cpu);
  sums.clear();
  for (const [index, { gpu, cpu, labels }] of sorted.entries())
    add(index < MAX_PAIRS ? labels : { user: '(others)', model: '(others)' }, gpu, cpu);
  return [...sums.values()];
}

function byLabel(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ value, labels: { [label]: name } }));
}

function writeEndpoints(out: Exposition, endpoints: ServerInfo['endpoints']): void {
  const endpointSamples = (value: (endpoint: ServerInfo['endpoints'][number]) => number | undefined): Sample[] =>
    endpoints.flatMap((endpoint) => {
      const found = value(endpoint);
      return found === undefined ? [] : [{ value: found, labels: labelsOf(endpoint) }];
    });
  out.gauge(
    'rollout_endpoint_permits',
    'Model calls that may run concurrently.',
    endpointSamples(({ permits }) => permits),
  );
  out.gauge(
    'rollout_endpoint_excess_calls',
    'Model calls that wait in workers because the endpoint takes no more.',
    endpointSamples(({ excess }) => excess),
  );
  out.gauge(
    'rollout_endpoint_load_ratio',
    'Calls of the endpoint as a share of those that a replica of its service runs at once, 0 to 1; 1 while they wait ' +
      'for the end of a pause.',
    endpointSamples((endpoint) => endpoint.load),
  );
  out.gauge(
    'rollout_endpoint_up',
    '1 if the endpoint accepts calls, 0 if it is down.',
    endpointSamples(({ state }) => Number(state !== 'down')),
  );
  out.gauge(
    'rollout_endpoint_busy',
    '1 while the endpoint refuses calls because it is busy.',
    endpointSamples(({ state }) => Number(state === 'busy')),
  );
  out.gauge(
    'rollout_endpoint_running',
    'Requests running in the engine, as reported by it.',
    endpointSamples(({ running }) => running),
  );
  out.gauge(
    'rollout_endpoint_waiting',
    'Requests waiting in the engine, as reported by it.',
    endpointSamples(({ waiting }) => waiting),
  );
  out.gauge(
    'rollout_endpoint_kv_cache_ratio',
    'Share of the engine’s KV cache in use, 0 to 1.',
    endpointSamples(({ kv_cache }) => kv_cache),
  );
  out.counter(
    'rollout_endpoint_preemptions_total',
    'Requests preempted by the engine, as reported by it.',
    endpointSamples(({ preemptions }) => preemptions),
  );
}

function labelsOf({ endpoint, service, replica }: ServerInfo['endpoints'][number]): Record<string, string> {
  return { endpoint, ...(service === undefined ? {} : { service }), ...(replica === undefined ? {} : { replica }) };
}

function writeProcess(out: Exposition, lag: LoopLag): void {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  out.counter('rollout_process_cpu_seconds_total', 'CPU time of the server process.', (user + system) / 1e6);
  out.gauge('rollout_process_resident_memory_bytes', 'Resident memory of the server process.', rss);
  out.gauge('rollout_process_heap_bytes', 'JavaScript heap in use.', heapUsed);
  out.gauge(
    'rollout_process_start_time_seconds',
    'When the process started, in seconds since the epoch.',
    performance.timeOrigin / 1_000,
  );
  out.gauge('rollout_event_loop_lag_mean_seconds', 'Mean delay of timers since the last scrape.', lag.mean);
  out.gauge(
    'rollout_event_loop_lag_p99_seconds',
    '99th percentile of the delay of timers since the last scrape.',
    lag.p99,
  );
  out.gauge('rollout_event_loop_lag_max_seconds', 'Maximum delay of timers since the last scrape.', lag.max);
}
