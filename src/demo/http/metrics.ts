/** The counters of one endpoint; the names in the Prometheus text are vLLM's. */
export class Counters {
  /** Requests for a completion, whatever their outcome. */
  calls = 0;
  /** Complete responses, by finish reason. */
  readonly finished = new Map<string, number>();
  /** Errors, by HTTP status. */
  readonly refused = new Map<number, number>();
  /** Responses broken off or malformed on purpose. */
  cut = 0;
  malformed = 0;
  /** Requests whose client disconnected. */
  aborted = 0;
  /** Tool calls that the model requested. */
  toolCalls = 0;
  promptTokens = 0;
  cachedTokens = 0;
  generationTokens = 0;
  /** Tokens of the requests that have a slot now. */
  runningTokens = 0;

  /** Number of complete responses. */
  get completions(): number {
    let sum = 0;
    for (const count of this.finished.values()) sum += count;
    return sum;
  }
}

export interface EndpointState {
  readonly counters: Counters;
  readonly running: number;
  readonly waiting: number;
}

/** The size of an imaginary key-value cache, so that `kv_cache_usage_perc` changes. */
const CACHE_TOKENS = 262_144;

/** Returns the Prometheus text for several endpoints as one. */
export function metricsText(endpoints: readonly EndpointState[]): string {
  const sum = (of: (endpoint: EndpointState) => number): number =>
    endpoints.reduce((total, endpoint) => total + of(endpoint), 0);
  const lines: string[] = [];
  const add = (
    name: string,
    type: 'gauge' | 'counter',
    help: string,
    values: readonly (readonly [string, number])[],
  ): void => {
    lines.push(`# HELP vllm:${name} ${help}`, `# TYPE vllm:${name} ${type}`);
    for (const [labels, value] of values) lines.push(`vllm:${name}{engine="0"${labels},model_name="demo"} ${value}`);
  };
  const one = (of: (endpoint: EndpointState) => number): [string, number][] => [['', sum(of)]];
  add(
    'num_requests_running',
    'gauge',
    'Requests that have a slot of the demo model.',
    one((e) => e.running),
  );
  add(
    'num_requests_waiting',
    'gauge',
    'Requests that wait for a slot.',
    one((e) => e.waiting),
  );
  add(
    'kv_cache_usage_perc',
    'gauge',
    'Usage of the simulated cache of the demo model. 1 means full.',
    one((e) => Math.min(1, e.counters.runningTokens / CACHE_TOKENS)),
  );
  add(
    'num_preemptions_total',
    'counter',
    'The demo model preempts nothing.',
    one(() => 0),
  );
  add(
    'prefix_cache_queries_total',
    'counter',
    'Prompt tokens looked up.',
    one((e) => e.counters.promptTokens),
  );
  add(
    'prefix_cache_hits_total',
    'counter',
    'Prompt tokens found.',
    one((e) => e.counters.cachedTokens),
  );
  add(
    'prompt_tokens_total',
    'counter',
    'Prompt tokens read.',
    one((e) => e.counters.promptTokens),
  );
  add(
    'prompt_tokens_cached_total',
    'counter',
    'Prompt tokens found in the cache.',
    one((e) => e.counters.cachedTokens),
  );
  add(
    'generation_tokens_total',
    'counter',
    'Tokens written.',
    one((e) => e.counters.generationTokens),
  );
  // vLLM counts a response with tool calls as stopped
  add('request_success_total', 'counter', 'Responses by finish reason.', [
    [
      ',finished_reason="stop"',
      sum((e) => (e.counters.finished.get('stop') ?? 0) + (e.counters.finished.get('tool_calls') ?? 0)),
    ],
    [',finished_reason="length"', sum((e) => e.counters.finished.get('length') ?? 0)],
  ]);
  return `${lines.join('\n')}\n`;
}
