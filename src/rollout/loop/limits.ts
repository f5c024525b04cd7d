import type { Json } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { RunningCounter, type StopCondition } from '../../trace/query/stopCondition.ts';
import type { Usage } from '../../trace/schema.ts';
import type { Time } from '../time.ts';

/**
 * Two clocks of a rollout: `wall` stops while the rollout is held, `active` also while it waits for an endpoint. Both
 * start at the values that they had under earlier holders.
 */
export class Stopwatch {
  readonly #time: Time;
  readonly #wall: Counter;
  readonly #active: Counter;
  readonly #changed = new Set<() => void>();
  /** Active time that the last discount left. */
  #discounted = 0;

  constructor(time: Time, before: { readonly wallMs: number; readonly activeMs: number } = { wallMs: 0, activeMs: 0 }) {
    this.#time = time;
    const now = time.monotonic();
    this.#wall = new Counter(now, before.wallMs);
    this.#active = new Counter(now, before.activeMs);
  }

  /** Milliseconds, not counting holds. */
  get wallMs(): number {
    return this.#wall.value(this.#time.monotonic());
  }

  /** Milliseconds, not counting holds and waits for an endpoint. */
  get activeMs(): number {
    return this.#active.value(this.#time.monotonic());
  }

  get running(): boolean {
    return this.#active.running;
  }

  setHeld(on: boolean): void {
    const now = this.#time.monotonic();
    this.#wall.pause(on, now);
    this.#active.pause(on, now);
    this.#notify();
  }

  setWaiting(on: boolean): void {
    this.#active.pause(on, this.#time.monotonic());
    this.#notify();
  }

  /**
   * Takes back the active time since it was `fromMs`: what was done in it counts as never done. Time that parallel work
   * took back already counts once.
   */
  discount(fromMs: number): void {
    const now = this.#time.monotonic();
    const active = this.#active.value(now);
    const ms = Math.max(0, active - Math.max(fromMs, this.#discounted));
    this.#active.takeBack(ms, now);
    this.#discounted = active - ms;
    this.#notify();
  }

  /**
   * Calls `reached` once the active time is `ms`, or immediately if it already is. Returns a function that cancels
   * this.
   */
  atActive(ms: number, reached: () => void): () => void {
    let cancelTimer: (() => void) | undefined;
    const end = (): void => {
      cancelTimer?.();
      this.#changed.delete(arm);
    };
    const arm = (): void => {
      cancelTimer?.();
      cancelTimer = undefined;
      if (!this.running) return;
      const left = ms - this.activeMs;
      // A timer may fire a little early, and the platform limits the delay, so it checks again.
      if (left > 0) {
        cancelTimer = this.#time.timer(left, arm);
        return;
      }
      end();
      reached();
    };
    this.#changed.add(arm);
    arm();
    return end;
  }

  #notify(): void {
    for (const changed of [...this.#changed]) changed();
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

  takeBack(ms: number, now: number): void {
    this.#sum = this.value(now) - ms;
    this.#since = now;
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

/** What limits the model calls of an agent. */
export interface Allowance {
  /** Counts a model call that is about to start. Throws class `limit` if the limit is reached. */
  step(): void;
  addUsage(usage: Usage): void;
  /** Counts a tool call that has ended. `agent`: instance path of the agent that made it. */
  addCall(agent: string, name: string, args: Json, failed: boolean): void;
}

/** The `stop.rollout` of a batch. */
interface RolloutStop {
  readonly condition: StopCondition;
  /** Number of the newest step in the record: what was begun before is never ended. */
  readonly recordedSteps: number;
}

/**
 * The limits of an agent, and the condition that ends its rollout. Steps, tokens, and the condition are checked before
 * each model call; seconds interrupt the work.
 */
export class Limits implements Allowance {
  readonly #limits: SubmittedAgent['limits'];
  readonly #watch: Stopwatch;
  readonly #stop: RolloutStop | undefined;
  readonly #counter = new RunningCounter();
  #steps = 0;
  #endWait: (() => void) | undefined;

  constructor(limits: SubmittedAgent['limits'], watch: Stopwatch, stop?: RolloutStop) {
    this.#limits = limits;
    this.#watch = watch;
    this.#stop = stop;
  }

  /** Calls `reached` once the active seconds are used up, or immediately if they already are. */
  start(reached: (error: ClassedError) => void): void {
    const { seconds } = this.#limits;
    this.#endWait = this.#watch.atActive(seconds * 1000, () =>
      reached(
        new ClassedError('limit', `The limit of ${plural(seconds, 'second')} was reached.`, { limit: 'seconds' }),
      ),
    );
  }

  end(): void {
    this.#endWait?.();
  }

  /** Counts a model call that is about to start. Throws class `limit` if the limit is reached. */
  step(): void {
    if (this.#steps >= this.#limits.steps)
      throw new ClassedError('limit', `The limit of ${plural(this.#limits.steps, 'step')} was reached.`, {
        limit: 'steps',
      });
    const { tokens } = this.#counter;
    if (tokens >= this.#limits.tokens) {
      throw new ClassedError('limit', `The limit of ${this.#limits.tokens} tokens was reached: ${tokens} were used.`, {
        limit: 'tokens',
      });
    }
    this.#checkStop();
    this.#steps++;
  }

  addUsage(usage: Usage): void {
    this.#counter.addUsage(usage);
  }

  addCall(agent: string, name: string, args: Json, failed: boolean): void {
    this.#counter.addCall(agent, name, args, failed);
  }

  /** Throws class `limit` if the condition is true after the newest step. */
  #checkStop(): void {
    if (this.#stop === undefined || this.#steps === 0 || this.#steps < this.#stop.recordedSteps) return;
    const { condition } = this.#stop;
    if (!condition.test(this.#counter.values(this.#steps, this.#watch.activeMs))) return;
    throw new ClassedError('limit', `stop.rollout: ${condition.text} was true after step ${this.#steps}.`, {
      limit: 'condition',
    });
  }
}
