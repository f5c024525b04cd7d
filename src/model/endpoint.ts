/** Endpoints as an agent file names them: a URL up to `/v1`, or `demo:` with an optional query. */
import { seedOf } from '../common/hash.ts';
import { publicUrl } from '../common/redaction/hidable.ts';
import { isInstalled } from '../config/submission/installed.ts';
import type { SubmittedModel } from '../config/submission.ts';
import type { Target } from './connections.ts';

export function isDemo(endpoint: string): boolean {
  return /^demo:/i.test(endpoint);
}

/**
 * Returns the address of an endpoint. `demoUrl` returns the current address of the rollout server's demo model, without
 * `/v1`. Throws TypeError for an invalid URL.
 */
export function locate(endpoint: string, demoUrl: () => string): { baseUrl: string; query?: Record<string, string> } {
  if (isDemo(endpoint)) {
    const query = Object.fromEntries(new URLSearchParams(endpoint.replace(/^demo:\/*\??/i, '')));
    return { baseUrl: `${demoUrl().replace(/\/+$/, '')}/v1`, query };
  }
  if (isInstalled(endpoint))
    throw Object.assign(new TypeError('no model of this name is installed on the target'), {
      code: 'ERR_INVALID_URL',
    });
  const url = new URL(endpoint);
  const query = Object.fromEntries(url.searchParams);
  url.search = '';
  url.hash = '';
  return { baseUrl: url.href.replace(/\/+$/, ''), ...(Object.keys(query).length === 0 ? {} : { query }) };
}

/** Returns where calls to an endpoint of a model go, with its key. Throws like `locate`. */
export function targetOf(
  endpoint: string,
  { api_key: key, headers }: SubmittedModel,
  demo: { readonly demoUrl: () => string; readonly demoKey?: () => string | undefined },
): Target {
  const apiKey = key ?? (isDemo(endpoint) ? demo.demoKey?.() : undefined);
  return { ...locate(endpoint, demo.demoUrl), apiKey, headers };
}

/** Returns an endpoint as text for people, without anything that could be a secret. */
export function endpointLabel(endpoint: string): string {
  return isDemo(endpoint) ? endpoint : publicUrl(endpoint);
}

/**
 * Returns replicas in the order that a key prefers (rendezvous hashing): the same key goes to the same replica, where
 * its prefix is cached, and losing a replica only moves the keys that used it.
 */
export function byAffinity(endpoints: readonly string[], key: string): string[] {
  if (endpoints.length < 2) return [...endpoints];
  return endpoints
    .map((endpoint) => ({ endpoint, weight: seedOf(key, endpoint) }))
    .sort((a, b) => b.weight - a.weight || (a.endpoint < b.endpoint ? -1 : 1))
    .map(({ endpoint }) => endpoint);
}
