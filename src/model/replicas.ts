/** Maps endpoints to the replicas behind them, as last reported by the server. */
import { isDeepStrictEqual } from 'node:util';
import { byAffinity } from './endpoint.ts';

export class Replicas {
  #behind: Readonly<Record<string, readonly string[]>> = {};
  #version = 0;

  /**
   * Sets the replicas by endpoint; an endpoint without an entry has no known replicas. Returns the URLs that were
   * removed, or undefined if nothing changed.
   */
  set(behind: Readonly<Record<string, readonly string[]>>): string[] | undefined {
    if (isDeepStrictEqual(behind, this.#behind)) return undefined;
    const current = new Set(Object.values(behind).flat());
    const removed = Object.values(this.#behind)
      .flat()
      .filter((url) => !current.has(url));
    this.#behind = behind;
    this.#version++;
    return removed;
  }

  /** Returns a function that lists the current replicas of these endpoints, the preferred one of `key` first. */
  order(endpoints: readonly string[], key: string): () => readonly string[] {
    let version = -1;
    let order: readonly string[] = [];
    return () => {
      if (version !== this.#version) {
        version = this.#version;
        order = byAffinity([...new Set(endpoints.flatMap((endpoint) => this.#of(endpoint)))], key);
      }
      return order;
    };
  }

  /** Returns the endpoint that this URL is a replica of. */
  serviceOf(url: string): string | undefined {
    for (const [endpoint, urls] of Object.entries(this.#behind)) if (urls.includes(url)) return endpoint;
    return undefined;
  }

  #of(endpoint: string): readonly string[] {
    const replicas = Object.hasOwn(this.#behind, endpoint) ? (this.#behind[endpoint] ?? []) : [];
    return replicas.length === 0 ? [endpoint] : replicas;
  }
}
