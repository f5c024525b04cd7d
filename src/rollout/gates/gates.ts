import { type Deferred, deferred } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { MatchedBreakpoint } from '../../protocol/breakpointSet.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import type { OpenHold } from '../act/history.ts';
import { type HoldPermits, MAX_BREAKPOINT_HOLDS } from '../job.ts';
import type { Log } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';
import { Breakpoints, type Surroundings } from './breakpoints.ts';
import type { HeadEdits } from './headEdits.ts';
import type { By, HoldReason, Holds, Release } from './holds.ts';
import type { Side, Subject } from './subject.ts';

interface GateParts {
  readonly log: Log;
  readonly holds: Holds;
  readonly head: HeadEdits;
  readonly permits: HoldPermits;
  readonly surroundings: Surroundings;
  claim(breakpoint: string): Promise<boolean>;
  /** Called when a person changes the rollout. */
  touch(): void;
  /** The hold of a lost worker, which is restored at the same gate. */
  readonly restored?: OpenHold | undefined;
}

/**
 * The result of a command: the seq of its event, and where a call that was stepped into waits for a debugger.
 */
export interface HoldResult {
  readonly seq?: number;
  readonly inspector?: string;
}

/** `permit`: whether it counts as one of the worker's breakpoint holds. */
type Reason = HoldReason & { readonly permit?: boolean };

interface Stepping {
  readonly by: By;
  /** Whether it also holds at side calls: those that the agent's code makes next (`inside`), or any. */
  readonly into: 'inside' | 'any' | undefined;
}

interface PendingHold {
  readonly by: By;
  readonly done: Deferred<HoldResult>;
}

/** The gates before and after every outside effect, where breakpoints are evaluated and commands take effect. */
export class Gates {
  readonly #parts: GateParts;
  readonly #breakpoints: Breakpoints;
  #restored: OpenHold | undefined;
  /** Hold commands waiting for the next gate. */
  #pause: PendingHold[] | undefined;
  /** `once` breakpoints that were already claimed here. */
  readonly #claimed = new Set<string>();
  /** Steps in progress, by the agent at whose next gate they hold. */
  readonly #stepping = new Map<string, Stepping>();
  /** Clients whose breakpoints no longer hold: the message that removes them may still be on its way. */
  readonly #gone = new Set<string>();
  readonly #injections: (PendingHold & { readonly message: InjectedText })[] = [];
  #lost = false;
  /** Answers a step into a call. */
  #inspected: ((url: string | undefined) => void) | undefined;

  constructor(parts: GateParts) {
    this.#parts = parts;
    this.#breakpoints = new Breakpoints(parts.surroundings);
    this.#restored = parts.restored;
  }

  /** Sets breakpoints. Throws StudioError `usage` for invalid conditions and then changes nothing. */
  setBreakpoints(breakpoints: readonly Breakpoint[]): void {
    this.#breakpoints.set(breakpoints);
    this.#gone.clear();
  }

  /** Pauses or resumes the rollout with its batch. A rollout held by its own command stays held. */
  setPaused(paused: boolean): void {
    if (paused) {
      this.#pause ??= [];
      return;
    }
    if (this.#pause?.length === 0) this.#pause = undefined;
    const hold = this.#parts.holds.current;
    if (hold?.reason.why === 'pause' && hold.reason.command === undefined) this.#parts.holds.release('continue', {});
  }

  /** Called when the worker loses or regains its server: without a server, no new effect starts. */
  setLost(lost: boolean): void {
    this.#lost = lost;
    if (!lost && this.#parts.holds.current?.reason.why === 'lost_server') this.#parts.holds.release('continue', {});
  }

  /** Holds if something applies here; returns undefined to continue immediately. Rejects if the rollout is stopped. */
  pass(side: Side, subject: Subject, asSpan = subject.span): Promise<void> | undefined {
    const restored = this.#restored?.span === asSpan && this.#restored.side === side;
    // Most gates match nothing and are passed synchronously.
    const matched = this.#breakpoints.matches(side, subject);
    if (!restored && matched.length === 0 && !this.#armed()) return undefined;
    return this.#pass(side, subject, asSpan, matched);
  }

  /** Passes a recorded effect: does not hold, but counts hits, and restores a lost hold. */
  passRecorded(subject: Subject, asSpan = subject.span): Promise<void> | undefined {
    this.#breakpoints.count('before', subject);
    if (this.#restored?.span === asSpan && this.#restored.side === 'after')
      return this.#pass('after', subject, asSpan, this.#breakpoints.matches('after', subject));
    this.#breakpoints.count('after', subject);
    return undefined;
  }

  /** Holds until a person answers. Returns undefined if nobody does in time. */
  async ask(subject: Subject): Promise<Json | undefined> {
    for (let busy = this.#parts.holds.whenFree(); busy !== undefined; busy = this.#parts.holds.whenFree()) await busy;
    const released = await this.#parts.holds.hold({ why: 'input' }, 'before', subject);
    return released.value;
  }

  // ---- commands: each returns the seq of its event, or throws StudioError `conflict`

  hold(by: By): Promise<HoldResult> {
    if (this.#parts.holds.current !== undefined) throw new StudioError('conflict', 'The rollout is already held.');
    const done = deferred<HoldResult>();
    this.#pause = [...(this.#pause ?? []), { by, done }];
    return done.promise;
  }

  release(by: By): HoldResult {
    const hold = this.#parts.holds.current;
    if (hold === undefined) {
      if (this.#pause === undefined && this.#restored === undefined) throw notHeldError();
      this.#restored = undefined;
      for (const waiting of this.#pause ?? []) waiting.done.resolve({});
      this.#pause = undefined;
      return {};
    }
    this.#mayGoOn(hold.reason);
    return { seq: this.#parts.holds.release('continue', by) };
  }

  /** Ends the holds of one client, which has gone: the current one, and those that wait for a gate. */
  releaseOf(client: string, by: By): HoldResult {
    this.#gone.add(client);
    if (this.#restored?.by === client) this.#restored = undefined;
    for (const [agent, step] of this.#stepping) if (step.by.by === client) this.#stepping.delete(agent);
    const gone = this.#pause?.filter((waiting) => waiting.by.by === client) ?? [];
    for (const waiting of gone) waiting.done.resolve({});
    const others = this.#pause?.filter((waiting) => !gone.includes(waiting));
    if (gone.length > 0) this.#pause = others?.length === 0 ? undefined : others;
    const { current } = this.#parts.holds;
    return current?.reason.by === client ? { seq: this.#parts.holds.release('continue', by) } : {};
  }

  /**
   * `inspect`: steps into the code of the held call; resolves when it waits for a debugger, or cannot. `into`: holds at
   * the next side call inside, too. After a side call, the next gate is that of the agent, or of the next side call.
   */
  async step(by: By, { inspect = false, into = false }: StepHow): Promise<HoldResult> {
    const { reason, subject, side } = this.#held();
    this.#mayGoOn(reason);
    const how = into ? 'any' : undefined;
    this.#stepping.set(subject.agent, { by, into: how });
    if (side === 'after' && subject.caller !== undefined)
      this.#stepping.set(subject.caller, { by, into: how ?? 'inside' });
    const seq = this.#parts.holds.release('step', by);
    if (!inspect || side === 'after' || subject.kind !== 'tool') return { seq };
    this.#parts.touch(); // a debugger can change anything
    const inspector = await new Promise<string | undefined>((resolve) => {
      subject.inspect = resolve;
      this.#inspected = resolve;
    });
    return { seq, ...(inspector === undefined ? {} : { inspector }) };
  }

  edit(args: Parameters<HeadEdits['edit']>[1], by: By): HoldResult {
    const seq = this.#parts.head.edit(this.#held(), args, by);
    this.#parts.touch();
    return { seq };
  }

  inject(message: InjectedText, by: By): Promise<HoldResult> {
    const hold = this.#parts.holds.current;
    if (hold !== undefined) {
      const seq = this.#parts.head.inject(hold.subject.agent, message, by);
      this.#parts.touch();
      return Promise.resolve({ seq });
    }
    const done = deferred<HoldResult>();
    this.#injections.push({ by, done, message });
    return done.promise;
  }

  skip(result: Json, by: By): HoldResult {
    const hold = this.#held();
    if (hold.side !== 'before')
      throw new StudioError('conflict', 'The call has already been made.', { hint: 'Edit its result instead.' });
    // Writes the release first, then the message and the end.
    const drafts = this.#parts.head.skip(hold.subject, result, this.#parts.log.last + 2);
    this.#parts.touch();
    const seq = this.#parts.holds.release('continue', by, undefined, drafts);
    return { seq: seq + drafts.length };
  }

  answer(value: Json, by: By): HoldResult {
    if (this.#held().reason.why !== 'input')
      throw new StudioError('conflict', 'The rollout is not waiting for an answer.', {
        hint: 'Release it, or skip the call with a result.',
      });
    return { seq: this.#parts.holds.release('continue', by, value) };
  }

  /** Called when the rollout ends: rejects commands that wait for a gate. */
  end(): void {
    this.#inspected?.(undefined);
    for (const waiting of [...(this.#pause ?? []), ...this.#injections]) {
      waiting.done.promise.catch(() => undefined); // the caller may be gone
      waiting.done.reject(new StudioError('conflict', 'The rollout ended before its next gate.'));
    }
    this.#pause = undefined;
    this.#injections.length = 0;
  }

  #armed(): boolean {
    return (
      this.#pause !== undefined ||
      this.#lost ||
      this.#stepping.size > 0 ||
      this.#injections.length > 0 ||
      this.#parts.holds.whenFree() !== undefined
    );
  }

  async #pass(side: Side, subject: Subject, asSpan: number, found: readonly MatchedBreakpoint[]): Promise<void> {
    const { holds } = this.#parts;
    const matched = found.length === 0 ? undefined : await this.#matched(subject, found);
    for (let busy = holds.whenFree(); busy !== undefined; busy = holds.whenFree()) await busy;
    this.#inject(subject.agent);
    const restored = this.#restored?.span === asSpan && this.#restored.side === side ? this.#restored : undefined;
    if (restored !== undefined) this.#restored = undefined;
    const reason = this.#reason(subject, matched, restored);
    if (reason !== undefined) await this.#hold(reason, side, subject);
    while (this.#lost) await this.#hold({ why: 'lost_server' }, side, subject);
  }

  #reason(subject: Subject, matched: Reason | undefined, restored: OpenHold | undefined): Reason | undefined {
    if (matched !== undefined) return matched;
    // A question is repeated anyway, and the server may be back.
    if (restored !== undefined && restored.why !== 'input' && restored.why !== 'lost_server') {
      return {
        why: restored.why,
        ...(restored.breakpoint === undefined ? {} : { breakpoint: restored.breakpoint }),
        ...(restored.by === undefined ? {} : { by: restored.by }),
      };
    }
    const step = this.#stepTo(subject);
    if (step !== undefined) return { why: 'step', ...(step.by.by === undefined ? {} : { by: step.by.by }) };
    if (this.#pause === undefined) return undefined;
    const by = this.#pause[0]?.by;
    return {
      why: 'pause',
      ...(by?.by === undefined ? {} : { by: by.by }),
      ...(by?.command === undefined ? {} : { command: by.command }),
    };
  }

  /** Returns the step that holds here. */
  #stepTo({ agent, start, caller }: Subject): Stepping | undefined {
    const own = this.#stepping.get(agent);
    if (own !== undefined || !('side' in start) || start.side === undefined) return own;
    if (caller === undefined) return [...this.#stepping.values()].find(({ into }) => into === 'any');
    const outer = this.#stepping.get(caller);
    return outer?.into === undefined ? undefined : outer;
  }

  async #hold(reason: Reason, side: Side, subject: Subject): Promise<Release> {
    const done = this.#stepTo(subject);
    this.#stepping.delete(subject.agent);
    for (const [agent, step] of this.#stepping) if (step.by === done?.by) this.#stepping.delete(agent);
    const pausing = this.#pause ?? [];
    this.#pause = undefined;
    const { permit, ...details } = reason;
    const released = this.#parts.holds.hold(details, side, subject, permit);
    const seq = this.#parts.holds.current?.seq;
    for (const waiting of pausing) waiting.done.resolve(seq === undefined ? {} : { seq });
    return released;
  }

  /** Applies injections that arrived while nothing was held. */
  #inject(agent: string): void {
    for (const { message, by, done } of this.#injections.splice(0)) {
      try {
        done.resolve({ seq: this.#parts.head.inject(agent, message, by) });
        this.#parts.touch();
      } catch (error) {
        done.reject(error);
      }
    }
  }

  /** Writes log points; returns the reason if a breakpoint holds here. */
  async #matched(subject: Subject, found: readonly MatchedBreakpoint[]): Promise<Reason | undefined> {
    const { log, permits } = this.#parts;
    const agent = subject.agent === '' ? undefined : subject.agent;
    const logText = (text: string): number =>
      log.append([{ kind: 'log', agent, span: subject.span, data: { stream: 'out', text } }]);
    for (const { breakpoint, text } of found) {
      if (breakpoint.by !== undefined && this.#gone.has(breakpoint.by)) continue;
      if (text !== undefined) {
        logText(text);
      } else if (breakpoint.once !== true || (await this.#claims(breakpoint.id))) {
        const { id, by } = breakpoint;
        if (permits.acquire())
          return { why: 'breakpoint', breakpoint: id, ...(by === undefined ? {} : { by }), permit: true };
        logText(
          `Breakpoint ${breakpoint.id} matched but did not hold: breakpoints already hold ${MAX_BREAKPOINT_HOLDS} ` +
            'rollouts of this worker.',
        );
      }
    }
    return undefined;
  }

  /** For a breakpoint that holds once per batch, the first match here claims it; later ones are ignored. */
  async #claims(breakpoint: string): Promise<boolean> {
    if (this.#claimed.has(breakpoint)) return false;
    this.#claimed.add(breakpoint);
    return this.#parts.claim(breakpoint);
  }

  #held(): NonNullable<Holds['current']> {
    const hold = this.#parts.holds.current;
    if (hold === undefined) throw notHeldError();
    return hold;
  }

  #mayGoOn(reason: HoldReason): void {
    if (reason.why === 'input')
      throw new StudioError('conflict', 'The rollout is waiting for an answer.', {
        hint: 'Answer the question, skip the call with a result, or cancel.',
      });
    if (reason.why === 'lost_server') throw new StudioError('conflict', 'The rollout is waiting for its server.');
  }
}

/** How a step goes on. */
interface StepHow {
  readonly inspect?: boolean | undefined;
  readonly into?: boolean | undefined;
}

interface InjectedText {
  readonly role: LoggedMessage['role'];
  readonly parts: LoggedMessage['parts'];
}

function notHeldError(): StudioError {
  return new StudioError('conflict', 'The rollout is not held.', {
    hint: 'Hold it first. To change recorded events, fork it.',
  });
}
