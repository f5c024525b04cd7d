import { type Faults, type Luck, luckOf, NO_FAULTS, parseFaults } from '../faults.ts';
import { Counters, type EndpointState } from './metrics.ts';
import { Slots } from './slots.ts';

/** How many seeds are remembered to distinguish a repeated call from a first one. */
const SEEDS = 200_000;

/** One demo endpoint: its behavior, with its own slots and counters. */
export class Endpoint implements EndpointState {
  readonly faults: Faults;
  readonly slots: Slots;
  readonly counters = new Counters();
  readonly #seedCounts = new Map<number, number>();

  constructor(faults: Faults) {
    this.faults = faults;
    this.slots = new Slots(faults.slots);
  }

  get running(): number {
    return this.slots.running;
  }

  get waiting(): number {
    return this.slots.waiting;
  }

  /** Returns the faults of the next request with this seed. */
  luck(seed: number): Luck {
    const nth = this.#seedCounts.get(seed) ?? 0;
    if (nth === 0 && this.#seedCounts.size >= SEEDS) this.#seedCounts.clear();
    this.#seedCounts.set(seed, nth + 1);
    return luckOf(this.faults, seed, nth);
  }
}

/** More different settings at once are a mistake. */
const MAX_ENDPOINTS = 256;

/** The endpoints of one demo model, one for each combination of settings. */
export class Endpoints {
  readonly #default: Faults;
  readonly #endpoints = new Map<string, Endpoint>();
  /** By the text of the settings, so that most requests parse none. */
  readonly #byText = new Map<string, Endpoint>();

  /** `settings`: the defaults for requests without their own. */
  constructor(settings: string) {
    this.#default = parseFaults(settings, NO_FAULTS);
  }

  /** Throws a RangeError for unknown settings, or too many different ones. */
  of(query: string, header: string): Endpoint {
    const text = `${query}&${header}`;
    const cached = this.#byText.get(text);
    if (cached !== undefined) return cached;
    const settings = new Map(new URLSearchParams(text)); // later settings take precedence
    const key = JSON.stringify([...settings].sort());
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      endpoint = new Endpoint(parseFaults(text, this.#default));
      if (this.#endpoints.size >= MAX_ENDPOINTS)
        throw new RangeError('The demo model was called with too many different settings; restart its server');
      this.#endpoints.set(key, endpoint);
    }
    if (this.#byText.size < 2 * MAX_ENDPOINTS) this.#byText.set(text, endpoint);
    return endpoint;
  }

  /** Returns the endpoint of these settings, or all endpoints without settings, e.g. for metrics without a query. */
  matching(query: string, header: string): readonly Endpoint[] {
    return query === '' && header === '' ? [...this.#endpoints.values()] : [this.of(query, header)];
  }
}
