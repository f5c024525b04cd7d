/** Endpoints as an agent file names them: a URL up to `/v1`, or `demo:` with an optional query. */
import { seedOf } from '../common/hash.ts';

export function isDemo(endpoint: string): boolean {
  return /^demo:/i.test(endpoint);
}

/**
 * Where an endpoint is. `demoUrl`: where the demo model of the rollout server is at this moment, without `/v1`. Throws
 * TypeError for what is no URL.
 */
export function locate(endpoint: string, demoUrl: () => string): { baseUrl: string; query?: Record<string, string> } {
  if (isDemo(endpoint)) {
    const query = Object.fromEntries(new URLSearchParams(endpoint.replace(/^demo:\/*\??/i, '')));
    return { baseUrl: `${demoUrl().replace(/\/+$/, '')}/v1`, query };
  }
  const url = new URL(endpoint);
  const query = Object.fromEntries(url.searchParams);
  url.search = '';
  url.hash = '';
  return { baseUrl: url.href.replace(/\/+$/, ''), ...(Object.keys(query).length === 0 ? {} : { query }) };
}

/** An endpoint for people: nothing that could be a secret. */
export function shownEndpoint(endpoint: string): string {
  if (isDemo(endpoint)) return endpoint;
  try {
    const url = new URL(endpoint);
    return `${url.protocol}//${url.host}${url.pathname}`.replace(/\/$/, '');
  } catch {
    return endpoint;
  }
}

/**
 * Replicas in the order in which a key prefers them (rendezvous hashing): the same key goes to the same replica, where
 * its prefix is cached, and losing one moves only those that were there.
 */
export function byAffinity(endpoints: readonly string[], key: string): string[] {
  if (endpoints.length < 2) return [...endpoints];
  return endpoints
    .map((endpoint) => ({ endpoint, weight: seedOf(key, endpoint) }))
    .sort((a, b) => b.weight - a.weight || (a.endpoint < b.endpoint ? -1 : 1))
    .map(({ endpoint }) => endpoint);
}
