import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Time } from '../time.ts';

/**
 * Two clocks of a rollout: `wall` stands still while it is held, `active` also while it waits for an endpoint.
 * Times of earlier holders come in as what they had reached.
 */
export class Stopwatch {
  readonly #time: Time;
  readonly #wall: Counter;
  readonly #active: Counter;
  #changed: () => void = () => undefined;

  constructor(time: Time, before: { readonly wallMs: number; readonly activeMs: number } = { wallMs: 0, activeMs: 0 }) {
    this.#time = time;
    const now = time.monotonic();
    this.#wall = new Counter(now, before.wallMs);
    this.#active = new Counter(now, before.activeMs);
  }

  /** Milliseconds without holds. */
  get wallMs(): number {
    return this.#wall.value(this.#time.monotonic());
  }

  /** Milliseconds without holds and without waits for an endpoint. */
  get activeMs(): number {
    return this.#active.value(this.#time.monotonic());
  }

  get running(): boolean {
    return this.#active.running;
  }

  held(on: boolean): void {
    const now = this.#time.monotonic();
    this.#wall.pause(on, now);
    this.#active.pause(on, now);
    this.#changed();
  }

  waiting(on: boolean): void {
    this.#active.pause(on, this.#time.monotonic());
    this.#changed();
  }

  /** Called whenever a clock stops or goes on. */
  onChange(changed: () => void): void {
    this.#changed = changed;
  }
}

/** Counts milliseconds except while paused; pauses nest. */
export class Counter {
  #sum: number;
  #since: number;
  #pauses = 0;

  constructor(now: number, before: number) {
    this.#sum = before;
    this.#since = now;
  }

  get running(): boolean {
    return this.#pauses === 0;
  }

  value(now: number): number {
    return this.running ? this.#sum + now - this.#since : this.#sum;
  }

  pause(on: boolean, now: number): void {
    if (on) {
      this.#sum = this.value(now);
      this.#pauses++;
    } else {
      this.#pauses--;
      if (this.running) this.#since = now;
    }
  }
}

/** What may still be used. */
export interface Allowance {
  /** Counts a model call about to be made. Throws class `limit` when there may be none. */
  step(): void;
  used(tokens: number): void;
}

/** The limits of an agent. Steps and tokens are looked at before each model call, seconds interrupt. */
export class Limits implements Allowance {
  readonly #limits: SubmittedAgent['limits'];
  readonly #watch: Stopwatch;
  readonly #time: Time;
  #steps = 0;
  #tokens = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(limits: SubmittedAgent['limits'], watch: Stopwatch, time: Time) {
    this.#limits = limits;
    this.#watch = watch;
    this.#time = time;
  }

  /** Calls `reached` once the active seconds are used up; at once when they are already. */
  start(reached: (error: ClassedError) => void): void {
    const arm = (): void => {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
      if (!this.#watch.running) return;
      const left = this.#limits.seconds * 1000 - this.#watch.activeMs;
      // A timer may fire a little early, and one longer than the platform's longest does: it looks again.
      if (left > 0) this.#cancelTimer = this.#time.timer(left, arm);
      else reached(new ClassedError('limit', `The limit of ${this.#limits.seconds} seconds was reached.`));
    };
    this.#watch.onChange(arm);
    arm();
  }

  end(): void {
    this.#watch.onChange(() => undefined);
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Counts a model call about to be made. Throws class `limit` when there may be none. */
  step(): void {
    if (this.#steps >= this.#limits.steps) throw new ClassedError('limit', `The limit of ${this.#limits.steps} steps was reached.`);
    if (this.#tokens >= this.#limits.tokens) {
      throw new ClassedError('limit', `The limit of ${this.#limits.tokens} tokens was reached: ${this.#tokens} were used.`);
    }
    this.#steps++;
  }

  used(tokens: number): void {
    this.#tokens += tokens;
  }
}
