import { errorText, StudioError } from '../common/errors.ts';
import { isSameJson, type Json } from '../common/json.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { TaskRecord } from '../trace/task.ts';
import { hasHappened, howObserved, isObserved, isRepeated, isUndone } from '../trace/undone.ts';
import type { EffectResult } from './act/act.ts';
import type { History } from './act/history.ts';
import type { InsideCalls } from './act/insideCalls.ts';
import { faultOf } from './faults.ts';
import type { Log } from './log/log.ts';
import type { Sha256 } from './log/messages.ts';
import type { Stopwatch } from './loop/limits.ts';
import type { OnLog, Recorder, ToolCall, ToolSpec, World, WorldSession } from './ports.ts';
import { isKilled } from './sessionKilled.ts';
import { type Stop, settledWithin } from './stop.ts';
import type { Time } from './time.ts';
import { responseOf } from './tools/toolEvents.ts';

/** A world that does not close within this time is abandoned to the process that runs it. */
const CLOSE_MS = 5_000;
/** A world that does not open again within this time is lost. */
const REOPEN_MS = 60_000;

/**
 * How often a session is asked the same if its process is killed each time: the question itself may be the reason, such
 * as one that takes all memory.
 */
const MAX_ASKED = 3;

export interface WorldParts {
  readonly world: World;
  readonly task: TaskRecord;
  /** The batch's seed: all attempts of a task start with the same world. */
  readonly batchSeed: number;
  readonly history: History;
  readonly inside: InsideCalls;
  readonly log: Log;
  readonly recorder: Recorder;
  /** No new effect starts after it. */
  readonly stop: Stop;
  /** Cancellation and loss of the lease; restoring the world continues until then. */
  readonly life: Stop;
  readonly time: Time;
  /** Its clocks do not count the time that restoring the world takes. */
  readonly watch: Stopwatch;
  readonly sha256: Sha256;
  readonly toolSeconds: number;
  /** Whether an instance path belongs to an agent of the submission. */
  readonly isAgent: (path: string) => boolean;
}

/** A call of the world that has ended. */
export interface WorldCall {
  readonly call: ToolCall;
  readonly seed: number;
  readonly effect: ToolSpec['effect'];
}

interface EndedCall {
  readonly world: WorldCall;
  readonly done: EffectResult<'tool'>;
}

/**
 * The session of a rollout's world, and what its state consists of: the newest snapshot and the calls since then. A
 * call that was interrupted, or that ended the session, counts as never having happened. The session is then replaced
 * by one in the state before the call, as a takeover or a fork restores it.
 */
export class LiveWorld {
  readonly #parts: WorldParts;
  readonly #span: number;
  readonly #seed: number;
  #session: WorldSession;
  /** Hash of the newest snapshot. */
  #snapshot: string | undefined;
  /** The calls since then to repeat, in order. */
  #since: EndedCall[] = [];
  /** What a session whose state is what the agents saw has received, in order. */
  readonly #observed: EndedCall[] = [];
  /** A call since then that changed the world and must not be repeated. */
  #irreversible: string | undefined;
  #isLost = false;
  #restoring: Promise<void> = Promise.resolve();
  #differenceLogged = false;

  private constructor(parts: WorldParts, span: number, seed: number, session: WorldSession) {
    this.#parts = parts;
    this.#span = span;
    this.#seed = seed;
    this.#session = session;
    this.#snapshot = parts.history.snapshot?.sha;
  }

  /**
   * Opens the world in the state of its newest snapshot. `span`: seq of its `world.open`. Throws ClassedError, or
   * StudioError for the world's files.
   */
  static async open(parts: WorldParts, span: number, seed: number): Promise<LiveWorld> {
    const { history, stop } = parts;
    stop.check();
    const from = await readSnapshot(parts, history.snapshot?.sha, stop);
    return new LiveWorld(parts, span, seed, await openSession(parts, seed, from, stop));
  }

  get session(): WorldSession {
    return this.#session;
  }

  /**
   * Asks the session. If somebody kills its process, it did not answer: the world is restored, and it is asked again.
   * `where`: what it was asked, for messages.
   */
  async ask<T>(
    where: string,
    ask: (session: WorldSession) => Promise<T>,
    signal: AbortSignal,
    print: (text: string) => void = () => undefined,
  ): Promise<T> {
    const isOver = (): boolean => signal.aborted;
    for (let asked = 1; ; asked++) {
      try {
        return await ask(this.#session);
      } catch (error) {
        if (!isKilled(error) || isOver() || asked === MAX_ASKED) throw error;
        print(`${errorText(error)}\n`);
        await this.#undo(where, print);
        if (isOver()) throw error;
      }
    }
  }

  /** Notes the end of a call. `changed`: whether it reported changes of the world. */
  ended(world: WorldCall, done: EffectResult<'tool'>, changed: boolean): void {
    if (!hasHappened(done.end)) return;
    if (isRepeated(world.effect, changed)) this.#since.push({ world, done });
    else if (world.effect === 'irreversible' && changed) this.#irreversible = world.call.name;
  }

  /**
   * Passes a call that has ended to a session whose state is what the agents saw. Returns whether that is all of its
   * state that the call can change: then there is nothing to save or to repeat.
   */
  observe(world: WorldCall, done: EffectResult<'tool'>): boolean {
    if (this.#session.observed === undefined) return false;
    if (isObserved(done.end)) {
      this.#observed.push({ world, done });
      tell(this.#session, { world, done });
    }
    return this.#session.answeredBy?.(world.call.name) !== 'real';
  }

  /** Whether calls happened since the state was saved, or since it was opened. */
  get hasUnsavedCalls(): boolean {
    return !this.#isLost && (this.#since.length > 0 || this.#irreversible !== undefined);
  }

  /** Notes that the state was saved. */
  saved(sha: string): void {
    this.#snapshot = sha;
    this.#since = [];
    this.#irreversible = undefined;
  }

  /**
   * Repeats a recorded call that the opened state does not contain, and that was observed. Throws ClassedError if that
   * fails.
   */
  async repeat(world: WorldCall, done: EffectResult<'tool'>): Promise<void> {
    this.#since.push({ world, done });
    await this.#repeat({ world, done }).catch((error: unknown) => {
      if (!isKilled(error)) throw error;
      return againIfKilled(() => this.#restore()); // with this call
    });
  }

  /**
   * Restores the state before a call that was made and counts as never having happened. If that is impossible, the
   * world is lost, and all later calls fail. `print` writes to the log of the call.
   */
  async undo(name: string, print: (text: string) => void): Promise<void> {
    const by = this.#session.answeredBy?.(name);
    // It cannot have changed anything, or nothing that opening the world again would restore.
    if (by === 'simulated' || by === 'tool') return;
    await this.#undo(`in a call to ${name}`, print);
  }

  async #undo(where: string, print: (text: string) => void): Promise<void> {
    await this.restored(); // not two at a time
    const { life, stop, watch } = this.#parts;
    // A cancelled or failed attempt has no use for its world.
    if (this.#isLost || life.signal.aborted || stop.reason?.class === 'infrastructure') return;
    watch.setWaiting(true);
    try {
      this.#restoring = againIfKilled(() => this.#restore());
      await this.#restoring;
      print('The world was restored to its state before this call.\n');
    } catch (thrown) {
      if (life.reason !== undefined) return;
      const fault = faultOf(thrown, 'world_error', StudioError.is(thrown) ? 'infrastructure' : 'world_error');
      if (fault.class === 'infrastructure') stop.stop(fault);
      else await this.#lose(where, fault);
      print(`The world cannot be restored to its state before this call: ${fault.message}\n`);
    } finally {
      watch.setWaiting(false);
    }
  }

  /** Resolves when the world is not being restored. */
  async restored(): Promise<void> {
    await this.#restoring.catch(() => undefined); // reported by `undo`
  }

  /** Closes the session. Returns why that failed. */
  async close(onLog?: OnLog): Promise<unknown> {
    let failure: unknown;
    const closing = this.#session.close(onLog).catch((error: unknown) => {
      failure = error;
    });
    const inTime = await settledWithin(closing, CLOSE_MS, this.#parts.time);
    return inTime ? failure : new Error(`it did not close within ${CLOSE_MS / 1000} s`);
  }

  async #restore(): Promise<void> {
    const { life, time } = this.#parts;
    await this.close();
    if (this.#irreversible !== undefined)
      throw new ClassedError(
        'world_error',
        `it contains the effect of ${this.#irreversible}, which is irreversible and must not be repeated.`,
      );
    const from = await readSnapshot(this.#parts, this.#snapshot, life);
    const { stop: late, release } = life.child();
    const cancel = time.timer(REOPEN_MS, () =>
      late.stop(new ClassedError('world_error', `it did not open within ${REOPEN_MS / 1000} s.`)),
    );
    try {
      this.#session = await openSession(this.#parts, this.#seed, from, late);
    } finally {
      cancel();
      release();
    }
    for (const ended of this.#observed) tell(this.#session, ended);
    for (const ended of this.#since) await this.#repeat(ended);
    life.check();
  }

  /** Replaces the session by one whose calls and verdict fail. */
  async #lose(where: string, { message }: ClassedError): Promise<void> {
    this.#isLost = true;
    await this.close(); // if it opened
    const fail = (): Promise<never> =>
      Promise.reject(new ClassedError('world_error', `The world was lost ${where} and cannot be restored: ${message}`));
    const session = this.#session;
    this.#session = {
      specs: session.specs,
      call: fail,
      ...(session.verify === undefined ? {} : { verify: fail }),
      close: () => Promise.resolve(),
    };
  }

  async #repeat({ world: { call, seed }, done }: EndedCall): Promise<void> {
    const { life, time, toolSeconds, inside } = this.#parts;
    if (life.signal.aborted) return;
    const { stop: late, release } = life.child();
    const spec = this.#session.specs.find((candidate) => candidate.name === call.name);
    const seconds = spec?.timeoutSeconds ?? toolSeconds;
    const arm = (): (() => void) =>
      time.timer(seconds * 1000, () => late.stop(new ClassedError('timeout', `it took longer than ${seconds} s.`)));
    let cancel = arm();
    const onProgress = (): void => {
      cancel();
      cancel = arm();
    };
    let response: Json | undefined;
    let failure: ClassedError | undefined;
    try {
      const ask = inside.again(done.span);
      const context = { signal: late.signal, seed, onLog: () => undefined, onProgress, ask };
      ({ response } = await late.race(this.#session.call(call, context)));
    } catch (thrown) {
      failure = ClassedError.from(thrown, 'world_error');
    } finally {
      cancel();
      release();
    }
    if (life.reason === undefined) this.#compare(call, done, response, failure);
  }

  /** Checks that a repeated call returned the recorded result; otherwise, the world is no longer the recorded one. */
  #compare(
    call: ToolCall,
    done: EffectResult<'tool'>,
    response: Json | undefined,
    failure: ClassedError | undefined,
  ): void {
    if (failure !== undefined && (done.end?.status === 'ok' || isUndone(failure.class)))
      throw new ClassedError('world_error', `repeating ${call.name} failed: ${failure.message}`, { cause: failure });
    const recorded = responseOf(done);
    const isSame =
      failure !== undefined ||
      done.end?.status !== 'ok' ||
      (done.end.result === undefined
        ? done.message?.origin === 'edited' || (recorded !== undefined && isSameJson(recorded, response))
        : // The whole output, or what a rule has changed.
          done.end.cut !== undefined || done.end.injected === undefined || isSameJson(done.end.result, response));
    if (isSame || this.#differenceLogged) return;
    this.#differenceLogged = true;
    const text =
      `To restore the world, ${call.name} was repeated and returned a different result. The world may differ from ` +
      'the original.';
    this.#parts.log.append([{ kind: 'log', span: this.#span, data: { stream: 'err', text } }]);
  }
}

function tell(session: WorldSession, { world, done }: EndedCall): void {
  const answer = responseOf(done);
  if (answer !== undefined) session.observed?.(world.call, answer, howObserved(done.end, done.message?.origin));
}

async function openSession(
  { world, task }: WorldParts,
  seed: number,
  from: Uint8Array | undefined,
  stop: Stop,
): Promise<WorldSession> {
  const open = async (): Promise<WorldSession> => {
    const opening = world.open({ task, seed, ...(from === undefined ? {} : { from }) }, stop.signal);
    try {
      return await stop.race(opening);
    } catch (error) {
      // If it opens late, nobody else closes it.
      opening.then((session) => session.close()).catch(() => undefined);
      throw error;
    }
  };
  return await againIfKilled(open, stop.signal);
}

/** Runs something with a session up to `MAX_ASKED` times, as long as its process is killed each time. */
async function againIfKilled<T>(run: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let asked = 1; ; asked++) {
    try {
      return await run();
    } catch (error) {
      if (!isKilled(error) || signal?.aborted === true || asked === MAX_ASKED) throw error;
    }
  }
}

async function readSnapshot(
  { recorder }: WorldParts,
  sha: string | undefined,
  stop: Stop,
): Promise<Uint8Array | undefined> {
  if (sha === undefined) return undefined;
  try {
    await stop.race(recorder.flushed()); // it may still be on its way to the store
    return await stop.race(recorder.readBlob(sha, stop.signal));
  } catch (error) {
    throw ClassedError.from(error, 'infrastructure');
  }
}
