/**
 * All rollouts of a worker: starts what the server grants, passes each its frames, and requests more when slots are
 * free.
 */
import type { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import { verbArgs } from '../../protocol/commands.ts';
import type { Grant, ServerToWorker } from '../../protocol/worker.ts';
import type { HoldResult } from '../../rollout/gates/gates.ts';
import type { PlainFrame } from '../outlet.ts';
import type { Welcome } from '../session/session.ts';
import { HeldRollout } from './heldRollout.ts';
import type { WorkerParts } from './parts.ts';

type Control = Extract<ServerToWorker, { type: 'control' }>;

interface PoolOptions {
  readonly parts: WorkerParts;
  readonly send: (frame: PlainFrame) => boolean;
  /** Maximum number of rollouts; after the last one, the worker is done. */
  readonly rollouts: number;
  /** Called when there is no more work for this worker. */
  readonly onDrained: () => void;
  /** Called when the server asks this worker to stop. */
  readonly onDrain: () => void;
}

export class RolloutPool {
  readonly #options: PoolOptions;
  readonly #rollouts = new Map<string, HeldRollout>();
  readonly #endings = new Map<string, Promise<void>>();
  /** Command results that could not be sent because there was no connection. */
  #unsentResults: PlainFrame[] = [];
  /** Number of requested rollouts that have not arrived. */
  #requested = 0;
  /** Number of rollouts that it may still take. */
  #left: number;
  #drained = false;
  #closed = false;
  #leaving = false;
  #lost = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#left = options.rollouts;
  }

  rollouts(): { rollout: string; epoch: number; last: number }[] {
    return [...this.#rollouts.values()].map(({ grant, last }) => ({
      rollout: grant.rollout,
      epoch: grant.epoch,
      last,
    }));
  }

  /** Rollouts that wait at a gate. */
  get held(): number {
    let held = 0;
    for (const rollout of this.#rollouts.values()) if (rollout.held) held++;
    return held;
  }

  /** Requests as many rollouts as there are free slots. */
  requestMore(): void {
    if (this.#closed || this.#leaving) return;
    const count = Math.min(this.#options.parts.slots.free, this.#left) - this.#requested;
    if (count > 0 && this.#options.send({ type: 'lease', want: count })) this.#requested += count;
  }

  welcome(frame: Welcome): void {
    const { gate, announcements, calls } = this.#options.parts;
    if (announcements.set(frame.announced)) gate.pausesChanged();
    calls.report(); // a new session has no report yet
    for (const rollout of frame.drop) this.#rollouts.get(rollout)?.abort('Another worker has this rollout now.');
    for (const { rollout, durable } of frame.keep) this.#rollouts.get(rollout)?.resume(durable);
    this.#options.parts.claims.repeat();
    this.#options.parts.scorings.repeat();
    const unsent = this.#unsentResults;
    this.#unsentResults = [];
    for (const done of unsent) this.#report(done);
    // Requests of the old session are lost.
    this.#requested = 0;
    if (this.#leaving) this.#options.send({ type: 'leaving' });
    this.requestMore();
  }

  frame(frame: Exclude<ServerToWorker, Welcome>): void {
    switch (frame.type) {
      case 'ack':
        this.#rollouts.get(frame.rollout)?.spool?.acked(frame.to);
        return;
      case 'refuse':
        this.#rollouts.get(frame.rollout)?.spool?.refused(frame);
        return;
      case 'grant':
        this.#start(frame);
        return;
      case 'granted':
        this.#drained = frame.drained || this.#left <= 0;
        if (frame.drained) {
          this.#requested = 0;
          this.#checkDrained();
        }
        return;
      case 'scoring':
        this.#options.parts.scorings.answered(frame);
        return;
      case 'claimed':
        this.#options.parts.claims.answered(frame.claim, frame.yes);
        return;
      case 'control':
        void this.#control(frame).then(
          (done) => this.#report({ type: 'done', command: frame.command, ...done }),
          (error: unknown) =>
            this.#report({
              type: 'done',
              command: frame.command,
              error: { code: StudioError.is(error) ? error.code : 'internal', message: errorText(error) },
            }),
        );
        return;
      case 'beat': {
        const { gate, replicas, announcements, calls } = this.#options.parts;
        const removed = replicas.set(frame.replicas ?? {});
        const news = announcements.set(frame.announced);
        // Before calls that wait get permits.
        if (news || removed !== undefined) gate.pausesChanged();
        if (news) calls.report();
        gate.setPermits(frame.permits, frame.waits);
        if (removed !== undefined) gate.forget((endpoint) => removed.includes(endpoint));
      }
    }
  }

  setLost(lost: boolean): void {
    this.#lost = lost;
    for (const rollout of this.#rollouts.values()) rollout.setLost(lost);
  }

  /**
   * Takes nothing more, and hands every rollout over. Resolves when no rollout is left, or after `ms`, when calls that
   * still run are dropped.
   */
  async leave(ms: number): Promise<void> {
    this.#leaving = true;
    this.#options.send({ type: 'leaving' });
    for (const rollout of this.#rollouts.values()) rollout.leave();
    const over = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => over.resolve(undefined), ms);
    await Promise.race([this.#emptied(), over.promise]);
    clearTimeout(timer);
    for (const rollout of this.#rollouts.values()) rollout.dropCalls();
  }

  /** Waits until no rollout is left; one may have been granted meanwhile. */
  async #emptied(): Promise<void> {
    while (this.#endings.size > 0) await Promise.all(this.#endings.values());
  }

  /** Stops every rollout here, without an end. Resolves when all are done. `flush`: store their events first. */
  async close(reason: string, flush: boolean): Promise<void> {
    this.#closed = true;
    for (const rollout of this.#rollouts.values()) rollout.abort(reason, flush);
    await Promise.all(this.#endings.values());
  }

  #start(grant: Grant): void {
    this.#requested = Math.max(0, this.#requested - 1);
    this.#left -= 1;
    this.#drained = this.#left <= 0;
    const before = this.#rollouts.get(grant.rollout);
    // The server revoked it and granted it again (its beats were lost), so this run no longer counts.
    before?.abort('The rollout was leased again.');
    const rollout = new HeldRollout(grant, this.#options.parts);
    this.#rollouts.set(grant.rollout, rollout);
    if (this.#lost) rollout.setLost(true);
    // Granted before the server knew that this worker leaves.
    if (this.#leaving) rollout.leave();
    const ending = (this.#endings.get(grant.rollout) ?? DONE)
      .then(() => rollout.run())
      .finally(() => {
        if (this.#rollouts.get(grant.rollout) !== rollout) return;
        this.#rollouts.delete(grant.rollout);
        this.#endings.delete(grant.rollout);
        this.#checkDrained();
      });
    this.#endings.set(grant.rollout, ending);
  }

  #checkDrained(): void {
    if (this.#drained && this.#rollouts.size === 0 && !this.#closed) this.#options.onDrained();
  }

  #report(done: PlainFrame): void {
    if (!this.#options.send(done)) this.#unsentResults.push(done);
  }

  async #control(control: Control): Promise<HoldResult> {
    switch (control.verb) {
      case 'drain':
        this.#options.onDrain();
        return {};
      case 'watch': {
        const { on } = argsOf('watch', control.args);
        this.#each(control.rollout, (rollout) => rollout.watch(on));
        return {};
      }
      case 'breakpoints': {
        const { breakpoints } = argsOf('breakpoints', control.args);
        this.#each(control.rollout, (rollout) => rollout.setBreakpoints(breakpoints));
        return {};
      }
      case 'hold':
      case 'release':
        if (control.rollout !== undefined) break;
        this.#each(undefined, (rollout) => rollout.setPaused(control.verb === 'hold'));
        return {};
      case 'cancel':
        if (control.rollout !== undefined) break;
        // Rollouts that end by themselves meanwhile need not be canceled.
        await Promise.allSettled([...this.#rollouts.values()].map((rollout) => rollout.command(control)));
        return {};
      default:
    }
    const rollout = this.#rollouts.get(control.rollout ?? '');
    if (rollout === undefined) throw new StudioError('not_found', 'The rollout no longer runs on this worker.');
    return rollout.command(control);
  }

  #each(only: string | undefined, apply: (rollout: HeldRollout) => void): void {
    if (only === undefined) for (const rollout of this.#rollouts.values()) apply(rollout);
    else {
      const rollout = this.#rollouts.get(only);
      if (rollout !== undefined) apply(rollout);
    }
  }
}

function argsOf<V extends keyof typeof verbArgs>(verb: V, args: unknown): z.infer<(typeof verbArgs)[V]> {
  const parsed = verbArgs[verb].safeParse(args);
  if (!parsed.success)
    throw new StudioError('usage', `Invalid arguments for ${verb}: ${parsed.error.issues[0]?.message ?? ''}`);
  // The schema belongs to this verb, but the compiler does not follow the lookup.
  return parsed.data as z.infer<(typeof verbArgs)[V]>;
}

const DONE = Promise.resolve();
