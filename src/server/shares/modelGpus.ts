/**
 * Divides the GPU time of the installed model server among the batches that call it, by tokens, minute by minute. A
 * minute in which nobody used a token belongs to nobody. Only where one server sees all calls: others would each divide
 * the whole.
 */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { PodRun } from '../../executor/executor.ts';
import type { TraceEvent } from '../../trace/schema.ts';

/** The installed model server. */
export interface ModelServer {
  /** Of its Service. */
  readonly name: string;
  readonly namespace: string;
  /** GPUs of each replica. */
  readonly gpus: number;
}

interface ModelGpusOptions {
  readonly server: ModelServer;
  /** Returns the ready replicas of an endpoint; undefined if they are not known. */
  readonly replicas: (endpoint: string) => number | undefined;
  readonly record: (runs: readonly PodRun[]) => Promise<void>;
  readonly log: Log;
  readonly now?: () => number;
}

const MINUTE_MS = 60_000;

export class ModelGpus {
  readonly #options: ModelGpusOptions;
  readonly #now: () => number;
  /** Endpoints of calls that run, by rollout and span. */
  readonly #calls = new Map<string, Map<number, string>>();
  /** Tokens by batch, since the last division. */
  #tokens = new Map<string, number>();
  #endpoint: string | undefined;
  #since: number;
  readonly #timer: NodeJS.Timeout;

  constructor(options: ModelGpusOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#since = this.#now();
    this.#timer = setInterval(() => void this.divide(), MINUTE_MS);
    this.#timer.unref();
  }

  /** Divides what is left. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.divide();
  }

  /** Handles a stored event. */
  followed(batch: string, rollout: string, event: TraceEvent): void {
    if (event.kind === 'model.start') {
      const { endpoint } = event.data;
      if (endpoint === undefined || !isOf(this.#options.server, endpoint)) return;
      const calls = this.#calls.get(rollout) ?? new Map<number, string>();
      this.#calls.set(rollout, calls.set(event.seq, endpoint));
    } else if (event.kind === 'model.end') {
      const calls = this.#calls.get(rollout);
      const endpoint = calls?.get(event.span ?? 0);
      if (calls === undefined || endpoint === undefined) return;
      calls.delete(event.span ?? 0);
      const { source, usage } = event.data;
      if (source !== 'live' || usage === undefined) return;
      this.#endpoint = endpoint;
      this.#tokens.set(batch, (this.#tokens.get(batch) ?? 0) + usage.input_tokens + usage.output_tokens);
    } else if (event.kind === 'rollout.end') {
      this.#calls.delete(rollout);
    }
  }

  /** Records the part of each batch since the last division. Never rejects. */
  async divide(): Promise<void> {
    const { server, replicas, record, log } = this.#options;
    const [from, until, tokens] = [this.#since, this.#now(), this.#tokens];
    this.#since = until;
    this.#tokens = new Map();
    const ready = this.#endpoint === undefined ? undefined : replicas(this.#endpoint);
    const all = [...tokens.values()].reduce((sum, value) => sum + value, 0);
    if (ready === undefined || ready === 0 || all === 0) return;
    const runs = [...tokens].map(([batch, used]) => ({
      uid: `${server.name} ${from} ${batch}`,
      batch,
      from,
      until,
      cpus: 0,
      gpus: (server.gpus * ready * used) / all,
    }));
    await record(runs).catch((error: unknown) =>
      log(`recording the GPU time of ${server.name} failed: ${errorText(error)}`, { level: 'warning' }),
    );
  }
}

/** Returns whether an endpoint is the Service: by its name, alone or with the namespace. */
function isOf({ name, namespace }: ModelServer, endpoint: string): boolean {
  const [service, place] = URL.parse(endpoint)?.hostname.split('.') ?? [];
  return service === name && (place === undefined || place === namespace);
}
