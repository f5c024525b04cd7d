/** What was announced about the endpoints that this worker calls: pauses, and versions of their weights. */
import { endpointKey } from '../common/endpointKey.ts';
import type { Announced } from '../protocol/endpoints.ts';
import type { Pause } from '../trace/schema.ts';
import type { Replicas } from './replicas.ts';

type Announcement = Announced['endpoints'][number];

export class Announcements {
  readonly #replicas: Pick<Replicas, 'serviceOf'>;
  #announced: Announced = { rev: 0, endpoints: [] };

  constructor(replicas: Pick<Replicas, 'serviceOf'>) {
    this.#replicas = replicas;
  }

  get rev(): number {
    return this.#announced.rev;
  }

  /** Returns whether it is news: the server repeats itself, and an earlier frame may arrive late. */
  set(announced: Announced): boolean {
    if (announced.rev <= this.#announced.rev) return false;
    this.#announced = announced;
    return true;
  }

  /** Returns how the calls to `url`, an endpoint or a replica, are paused. */
  pauseOf(url: string): 'wait' | 'abort' | undefined {
    let pause: 'wait' | 'abort' | undefined;
    for (const { paused } of this.#about(url)) if (paused !== undefined && pause !== 'abort') pause = paused;
    return pause;
  }

  /** Returns what is paused for the calls to `url`, the endpoint or the replica, and by whom. */
  pausedBy(url: string): Pause | undefined {
    for (const { endpoint, replica, paused, by } of this.#about(url))
      if (paused !== undefined) return { endpoint: replica ?? endpoint, ...(by === undefined ? {} : { by }) };
    return undefined;
  }

  /** Returns the version of the weights that `url`, an endpoint or a replica, serves. */
  versionOf(url: string): string | undefined {
    let newest: Announcement | undefined;
    for (const one of this.#about(url))
      if (one.version !== undefined && (newest === undefined || one.version_rev > newest.version_rev)) newest = one;
    return newest?.version === undefined ? undefined : String(newest.version);
  }

  /** Returns the names of `url` for the server. */
  nameOf(url: string): { readonly endpoint: string; readonly replica?: string } {
    const service = this.#replicas.serviceOf(url);
    return service === undefined
      ? { endpoint: endpointKey(url) }
      : { endpoint: endpointKey(service), replica: endpointKey(url) };
  }

  *#about(url: string): Generator<Announcement> {
    if (this.#announced.endpoints.length === 0) return;
    const { endpoint, replica } = this.nameOf(url);
    for (const one of this.#announced.endpoints)
      if (one.endpoint === endpoint && (one.replica === undefined || one.replica === replica)) yield one;
  }
}
