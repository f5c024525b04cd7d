import { type Deferred, deferred } from '../../common/abort.ts';
import type { Json } from '../../common/json.ts';
import type { EventData } from '../../trace/schema.ts';
import type { HoldPermits } from '../job.ts';
import type { Draft, Log } from '../log/log.ts';
import type { Stopwatch } from '../loop/limits.ts';
import type { Slot } from '../ports.ts';
import type { Stop } from '../stop.ts';
import { roundMs, type Time } from '../time.ts';
import type { Side, Subject } from './subject.ts';

export interface HoldReason {
  readonly why: EventData['hold']['why'];
  readonly breakpoint?: string;
  readonly by?: string;
  readonly command?: string;
}

export interface Release {
  readonly how: EventData['release']['how'];
  /** The answer to a question. */
  readonly value?: Json;
}

/** Who released it, by which command. */
export interface By {
  readonly by?: string | undefined;
  readonly command?: string | undefined;
}

export interface CurrentHold {
  readonly reason: HoldReason;
  readonly side: Side;
  readonly subject: Subject;
  /** seq of the `hold` event. */
  readonly seq: number;
}

interface Active extends CurrentHold {
  readonly since: number;
  readonly over: Deferred<Release>;
  cancelExpiry: (() => void) | undefined;
}

/** Holds without a time limit: they end by a command or when the server is back. */
const ENDLESS = new Set<HoldReason['why']>(['pause', 'lost_server']);

interface HoldParts {
  readonly log: Log;
  readonly slot: Slot;
  readonly watch: Stopwatch;
  /** Ends every wait: cancellation, loss of the lease. */
  readonly life: Stop;
  readonly permits: HoldPermits;
  readonly time: Time;
  /** After this time, breakpoint, step, and input holds continue. */
  readonly limitMs: number;
}

/** Holds a rollout at one gate at a time. While it is held, its slot is free and its clocks are stopped. */
export class Holds {
  readonly #parts: HoldParts;
  #active: Active | undefined;
  /** Resolves when the rollout runs again and has a slot. */
  #free: Deferred<undefined> | undefined;

  constructor(parts: HoldParts) {
    this.#parts = parts;
  }

  get current(): CurrentHold | undefined {
    return this.#active;
  }

  /** Resolves when nothing is held anymore; undefined if nothing is held. */
  whenFree(): Promise<unknown> | undefined {
    return this.#free === undefined ? undefined : this.#parts.life.race(this.#free.promise);
  }

  /**
   * Holds until released and a slot is available. The `hold` event is written before this returns. `permit`: a permit
   * was acquired for this hold and is returned after it. Rejects if the rollout is stopped.
   */
  async hold(reason: HoldReason, side: Side, subject: Subject, permit = false): Promise<Release> {
    const { log, slot, watch, life, permits, time, limitMs } = this.#parts;
    const free = (this.#free = deferred<undefined>());
    const endless = ENDLESS.has(reason.why);
    const seq = log.append([
      {
        kind: 'hold',
        agent: subject.agent === '' ? undefined : subject.agent,
        span: subject.span,
        data: { ...reason, side, ...(endless ? {} : { limit_ms: limitMs }) },
      },
    ]);
    const active: Active = {
      reason,
      side,
      subject,
      seq,
      since: time.monotonic(),
      over: deferred(),
      cancelExpiry: undefined,
    };
    if (!endless) active.cancelExpiry = time.timer(limitMs, () => this.release('expired', {}));
    this.#active = active;
    watch.setHeld(true);
    slot.release();
    try {
      const released = await (subject.stop ?? life).race(active.over.promise);
      await slot.acquire(life.signal);
      return released;
    } catch (error) {
      // The rollout continues without what was held.
      if (life.reason === undefined) {
        if (this.#active === active) this.release('continue', {});
        await slot.acquire(life.signal);
      }
      throw error;
    } finally {
      active.cancelExpiry?.();
      // It ended because the rollout ended.
      if (this.#active === active) this.release('continue', {});
      this.#free = undefined;
      watch.setHeld(false);
      if (permit) permits.release();
      free.resolve(undefined);
    }
  }

  /** Ends the current hold; `then` is appended with the release. Returns the seq of the `release`. */
  release(how: Release['how'], by: By, value?: Json, then: readonly Draft[] = []): number {
    const active = this.#active;
    if (active === undefined) return this.#parts.log.last;
    this.#active = undefined;
    const seq = this.#parts.log.append([
      {
        kind: 'release',
        agent: active.subject.agent === '' ? undefined : active.subject.agent,
        span: active.subject.span,
        data: {
          how,
          held_ms: roundMs(this.#parts.time.monotonic() - active.since),
          ...(by.by === undefined ? {} : { by: by.by }),
          ...(by.command === undefined ? {} : { command: by.command }),
          ...(value === undefined ? {} : { value }),
        },
      },
      ...then,
    ]);
    active.over.resolve(value === undefined ? { how } : { how, value });
    return seq;
  }

  /** Returns the release of the current hold, to be written when the rollout ends. */
  closing(): Draft[] {
    const active = this.#active;
    if (active === undefined) return [];
    this.#active = undefined;
    const { agent, span } = active.subject;
    const heldMs = roundMs(this.#parts.time.monotonic() - active.since);
    return [
      { kind: 'release', agent: agent === '' ? undefined : agent, span, data: { how: 'continue', held_ms: heldMs } },
    ];
  }
}
