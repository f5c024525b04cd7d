/** Effects that are being performed, so that a rollout can be handed over where nothing is lost. */
import { type Deferred, deferred } from '../../common/abort.ts';
import type { Time } from '../time.ts';

export class Flights {
  readonly #time: Time;
  /** Effects that are performed now, by seq of their start, and whether each only waits for its turn. */
  readonly #flying = new Map<number, { waits: boolean }>();
  /** Effects that are performed now and whose end nobody waits for. */
  readonly #endless = new Set<number>();
  /** Set while nothing may start. */
  #gate: Deferred<undefined> | undefined;
  #quiet: Deferred<undefined> | undefined;
  /** Whether a call changed a session that no other worker can restore. */
  #bound = false;

  constructor(time: Time) {
    this.#time = time;
  }

  get bound(): boolean {
    return this.#bound;
  }

  /** Notes a call that changed a session that no other worker can restore. */
  bind(): void {
    this.#bound = true;
  }

  /** Whether an effect that has not ended was begun, so that it may have happened. `span`: seq of its start. */
  hasBegun(span: number): boolean {
    return this.#flying.has(span) || this.#endless.has(span);
  }

  /**
   * Returns what an effect has to wait for before it starts; undefined if it may start. `parent`: seq of the call that
   * contains it, which needs it to end.
   */
  gate(parent: number | undefined): Promise<unknown> | undefined {
    if (this.#gate === undefined || (parent !== undefined && this.#flying.has(parent))) return undefined;
    return this.#gate.promise;
  }

  /** Performs an effect. `endless`: nobody waits for its end, as for that of another agent's work. */
  async during<T>(span: number, endless: boolean, perform: () => Promise<T>): Promise<T> {
    if (endless) {
      this.#endless.add(span);
      return perform().finally(() => this.#endless.delete(span));
    }
    this.#flying.set(span, { waits: false });
    try {
      return await perform();
    } finally {
      this.#flying.delete(span);
      this.#look();
    }
  }

  /** Notes whether an effect waits for its turn, so that nothing is lost if it is dropped. */
  setWaiting(span: number, waits: boolean): void {
    const flight = this.#flying.get(span);
    if (flight === undefined) return;
    flight.waits = waits;
    this.#look();
  }

  /** Starts nothing more. Resolves when nothing is performed any more, or when `goOn` is called. */
  stop(): Promise<unknown> {
    this.#gate ??= deferred();
    this.#quiet ??= deferred();
    this.#look();
    return this.#quiet.promise;
  }

  /** Lets effects start again. */
  goOn(): void {
    this.#gate?.resolve(undefined);
    this.#gate = undefined;
    this.#quiet?.resolve(undefined);
    this.#quiet = undefined;
  }

  get #isQuiet(): boolean {
    for (const { waits } of this.#flying.values()) if (!waits) return false;
    return true;
  }

  #look(): void {
    if (this.#quiet === undefined || !this.#isQuiet) return;
    // What follows an effect at once belongs to it, such as the snapshot of a world.
    this.#time.timer(0, () => {
      if (this.#isQuiet) this.#quiet?.resolve(undefined);
    });
  }
}
