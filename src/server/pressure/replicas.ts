/**
 * Tracks the replicas behind endpoints that name a service. A source provides them: in a cluster, the service's
 * EndpointSlices. Without a source, or until it reports replicas, an endpoint is one server.
 */
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { Replica, ReplicaSource, Replicas } from '../../protocol/replicas.ts';
import type { EndpointTrouble } from './options.ts';

/** Replicas that appeared and disappeared. */
export interface ReplicaChange {
  readonly endpoint: string;
  /** The first report on this endpoint, so there is nothing to announce. */
  readonly first: boolean;
  readonly added: readonly Replica[];
  readonly removed: readonly Replica[];
  /** IDs of those that drain now. */
  readonly draining: ReadonlySet<string>;
  /** Those removed earlier that have ended since, and how long they drained. */
  readonly drained: readonly { readonly name: string; readonly ms: number }[];
  readonly now: readonly Replica[] | undefined;
}

interface FollowedService {
  replicas: readonly Replica[] | undefined;
  /** URLs of removed replicas: workers may still report on them. */
  readonly removed: Set<string>;
  /** Removed replicas that still answer calls, by ID. */
  readonly draining: Map<string, { readonly name: string; readonly since: number }>;
  stop: (() => void) | undefined;
}

export class ReplicaSets {
  readonly #source: ReplicaSource | undefined;
  readonly #changed: (change: ReplicaChange) => void;
  readonly #now: () => number;
  readonly #followed = new Map<string, FollowedService>();

  constructor(source: ReplicaSource | undefined, changed: (change: ReplicaChange) => void, now: () => number) {
    this.#source = source;
    this.#changed = changed;
    this.#now = now;
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
      const followed: FollowedService = {
        replicas: undefined,
        removed: new Set(),
        draining: new Map(),
        stop: undefined,
      };
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

  #set(endpoint: string, followed: FollowedService, found: Replicas | undefined): void {
    const before = followed.replicas;
    const now = found?.ready;
    const added = without(now ?? [], before ?? []);
    const removed = without(before ?? [], now ?? []);
    const draining = found?.draining ?? new Set<string>();
    const drained = this.#drained(followed, found);
    for (const { id, name } of removed) if (draining.has(id)) followed.draining.set(id, { name, since: this.#now() });
    const same = added.length === 0 && removed.length === 0 && (before === undefined) === (now === undefined);
    if (same && drained.length === 0) return;
    followed.replicas = now;
    for (const { url } of removed) followed.removed.add(url);
    for (const { url } of added) followed.removed.delete(url);
    this.#changed({ endpoint, first: before === undefined, added, removed, draining, drained, now });
  }

  /** Forgets and returns replicas that no longer drain. Nobody knows when they end once their service is gone. */
  #drained({ draining }: FollowedService, found: Replicas | undefined): ReplicaChange['drained'] {
    const ended = [...draining].filter(([id]) => found?.draining.has(id) !== true);
    for (const [id] of ended) draining.delete(id);
    return found === undefined ? [] : ended.map(([, { name, since }]) => ({ name, ms: this.#now() - since }));
  }
}

function without(some: readonly Replica[], others: readonly Replica[]): Replica[] {
  return some.filter((replica) => !others.some(({ url, id }) => url === replica.url && id === replica.id));
}

/** Returns what the record says of a change to the replicas of `endpoint`, as people see it. */
export function replicaEvents(
  { added, removed, draining, drained, now }: ReplicaChange,
  endpoint: string,
): EndpointTrouble[] {
  const about = { endpoint, all_replicas: true as const };
  const changes = [
    ...removed.map(
      ({ id, name }) =>
        `Replica ${name} of ${endpoint} ${draining.has(id) ? 'is draining and gets no new calls' : 'was removed'}`,
    ),
    ...added.map(({ name }) => `Replica ${name} of ${endpoint} is ready`),
  ];
  const left =
    now === undefined
      ? 'Calls now go to its own address.'
      : now.length === 0
        ? 'No replica is ready.'
        : `It now has ${plural(now.length, 'replica')}.`;
  const what = removed.some(({ id }) => draining.has(id))
    ? 'replica_draining'
    : removed.length > 0
      ? 'replica_removed'
      : 'replica_ready';
  return [
    ...drained.map(({ name, ms }) => ({
      ...about,
      what: 'replica_drained',
      text: `Replica ${name} of ${endpoint} ended after draining for ${duration(ms)}.`,
      ms,
    })),
    ...(changes.length === 0 ? [] : [{ ...about, what, text: `${changes.join('; ')}. ${left}` }]),
  ];
}
