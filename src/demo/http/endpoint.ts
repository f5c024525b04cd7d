import { type Faults, type Luck, luckOf, NO_FAULTS, parseFaults } from '../faults.ts';
import { Counters, type EndpointState } from './metrics.ts';
import { Slots } from './slots.ts';

/** How many seeds are remembered to tell a repeated call from a first one. */
const SEEDS = 200_000;

/** One demo endpoint: a way to behave, with slots and counters of its own. */
export class Endpoint implements EndpointState {
  readonly faults: Faults;
  readonly slots: Slots;
  readonly counters = new Counters();
  readonly #seen = new Map<number, number>();

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

  /** What befalls the next request with this seed. */
  luck(seed: number): Luck {
    const nth = this.#seen.get(seed) ?? 0;
    if (nth === 0 && this.#seen.size >= SEEDS) this.#seen.clear();
    this.#seen.set(seed, nth + 1);
    return luckOf(this.faults, seed, nth);
  }
}

/** More different settings at once are somebody's mistake. */
const MAX_ENDPOINTS = 256;

/** The endpoints of one demo model, one for each set of settings. */
export class Endpoints {
  readonly #default: Faults;
  readonly #endpoints = new Map<string, Endpoint>();
  /** As settings came, so that the usual request parses none. */
  readonly #byText = new Map<string, Endpoint>();

  /** `settings`: what holds where a request does not say otherwise. */
  constructor(settings: string) {
    this.#default = parseFaults(settings, NO_FAULTS);
  }

  /** Throws a RangeError for settings there are not, or too many different ones. */
  of(query: string, header: string): Endpoint {
    const text = `${query}&${header}`;
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const settings = new Map(new URLSearchParams(text)); // later ones win
    const key = JSON.stringify([...settings].sort());
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      endpoint = new Endpoint(parseFaults(text, this.#default));
      if (this.#endpoints.size >= MAX_ENDPOINTS)
        throw new RangeError('The demo model has been given too many different settings; restart its server');
      this.#endpoints.set(key, endpoint);
    }
    if (this.#byText.size < 2 * MAX_ENDPOINTS) this.#byText.set(text, endpoint);
    return endpoint;
  }

  /** That of these settings, or all where there are none: whoever asks without a query wants the whole. */
  matching(query: string, header: string): readonly Endpoint[] {
    return query === '' && header === '' ? [...this.#endpoints.values()] : [this.of(query, header)];
  }
}
