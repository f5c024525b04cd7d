/**
 * Tracks the replicas behind endpoints that name a service. A source provides them: in a cluster, the service's
 * EndpointSlices. Without a source, or until it reports replicas, an endpoint is one server.
 */
import type { Replica, ReplicaSource } from '../../protocol/replicas.ts';

/** Replicas that appeared and disappeared. */
export interface ReplicaChange {
  readonly endpoint: string;
  /** The first report on this endpoint, so there is nothing to announce. */
  readonly first: boolean;
  readonly added: readonly Replica[];
  readonly removed: readonly Replica[];
  readonly now: readonly Replica[] | undefined;
}

interface FollowedService {
  replicas: readonly Replica[] | undefined;
  /** URLs of removed replicas: workers may still report on them. */
  readonly removed: Set<string>;
  stop: (() => void) | undefined;
}

export class ReplicaSets {
  readonly #source: ReplicaSource | undefined;
  readonly #changed: (change: ReplicaChange) => void;
  readonly #followed = new Map<string, FollowedService>();

  constructor(source: ReplicaSource | undefined, changed: (change: ReplicaChange) => void) {
    this.#source = source;
    this.#changed = changed;
  }

  /** Follows exactly these endpoints from now on. */
  follow(endpoints: ReadonlySet<string>): void {
    for (const [endpoint, followed] of [...this.#followed]) {
      if (endpoints.has(endpoint)) continue;
      followed.stop?.();
      this.#followed.delete(endpoint);
    }
    for (const endpoint of endpoints) {
      if (this.#followed.has(endpoint)) continue;
      const followed: FollowedService = { replicas: undefined, removed: new Set(), stop: undefined };
      this.#followed.set(endpoint, followed);
      followed.stop = this.#source?.follow(endpoint, (replicas) => {
        if (this.#followed.get(endpoint) === followed) this.#set(endpoint, followed, replicas);
      });
    }
  }

  /** Returns the URLs to call for the endpoint: its replicas, or itself if it has none or none is ready. */
  urlsOf(endpoint: string): readonly string[] {
    const replicas = this.#followed.get(endpoint)?.replicas ?? [];
    return replicas.length === 0 ? [endpoint] : replicas.map(({ url }) => url);
  }

  /** Returns the ready replicas of the endpoint. */
  of(endpoint: string): readonly Replica[] {
    return this.#followed.get(endpoint)?.replicas ?? [];
  }

  /** Returns the replica at this URL and the endpoint it belongs to; the first one, if a service has several names. */
  at(url: string): { readonly endpoint: string; readonly replica: Replica } | undefined {
    for (const [endpoint, { replicas }] of this.#followed) {
      const replica = replicas?.find((each) => each.url === url);
      if (replica !== undefined) return { endpoint, replica };
    }
    return undefined;
  }

  /** Whether the endpoint has replicas, none of which is ready. */
  noneReady(endpoint: string): boolean {
    return this.#followed.get(endpoint)?.replicas?.length === 0;
  }

  /** Whether this name is obsolete: its replicas are called instead, or it was a replica that was removed. */
  isObsolete(name: string): boolean {
    if ((this.#followed.get(name)?.replicas?.length ?? 0) > 0) return true;
    return this.at(name) === undefined && [...this.#followed.values()].some(({ removed: gone }) => gone.has(name));
  }

  close(): void {
    this.follow(new Set());
  }

  #set(endpoint: string, followed: FollowedService, now: readonly Replica[] | undefined): void {
    const before = followed.replicas;
    const added = without(now ?? [], before ?? []);
    const removed = without(before ?? [], now ?? []);
    if (added.length === 0 && removed.length === 0 && (before === undefined) === (now === undefined)) return;
    followed.replicas = now;
    for (const { url } of removed) followed.removed.add(url);
    for (const { url } of added) followed.removed.delete(url);
    this.#changed({ endpoint, first: before === undefined, added, removed, now });
  }
}

function without(some: readonly Replica[], others: readonly Replica[]): Replica[] {
  return some.filter((replica) => !others.some(({ url, id }) => url === replica.url && id === replica.id));
}
