/** Reads the load of an engine from vLLM's metrics in the Prometheus text format. */
import type { EngineLoad } from './limit.ts';

const LINE = /^(vllm:[a-z_]+)(?:\{[^}]*\})?\s+([-+0-9.eEaInfN]+)/;

/** Returns undefined when the text has no such metrics. Adds up several engines or models behind one endpoint. */
export function parseEngineLoad(text: string): EngineLoad | undefined {
  const values = new Map<string, number[]>();
  for (const line of text.split('\n')) {
    const found = LINE.exec(line);
    if (found === null) continue;
    const [, name = '', number = ''] = found;
    const value = Number(number);
    if (!Number.isFinite(value)) continue;
    const existing = values.get(name);
    if (existing === undefined) values.set(name, [value]);
    else existing.push(value);
  }
  const sum = (name: string): number | undefined => values.get(name)?.reduce((total, value) => total + value, 0);
  const running = sum('vllm:num_requests_running');
  const waiting = sum('vllm:num_requests_waiting');
  if (running === undefined || waiting === undefined) return undefined;
  const caches = values.get('vllm:kv_cache_usage_perc');
  const preemptions = sum('vllm:num_preemptions_total');
  return {
    running,
    waiting,
    ...(caches === undefined ? {} : { kvCache: Math.max(...caches) }),
    ...(preemptions === undefined ? {} : { preemptions }),
  };
}

/** Whether a text has metrics of vLLM, be they of an engine or of a router. */
export function hasEngineMetrics(text: string): boolean {
  return /^vllm:/m.test(text);
}

/** Returns when the process that reports metrics started, in seconds; undefined if it does not say. */
export function startOf(text: string): number | undefined {
  const found = /^process_start_time_seconds(?:\{[^}]*\})?\s+(\S+)/m.exec(text);
  const start = Number(found?.[1]);
  return Number.isFinite(start) ? start : undefined;
}

/** Returns the URL of an endpoint's metrics: `/metrics` next to its `/v1`. undefined when the endpoint is not a URL. */
export function metricsUrl(endpoint: string): string | undefined {
  if (!URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/metrics`;
  url.search = '';
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href;
}
