/** One session of a code world: a process that is forked from its loaded scenario. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import type { OnLog, ToolCall, ToolCallContext, ToolOutcome, ToolSpec, WorldSession } from '../../rollout/ports.ts';
import { SessionKilled } from '../../rollout/sessionKilled.ts';
import { abortedError } from '../../tools/aborted.ts';
import { LateLog } from '../../tools/modules/lateLog.ts';
import { jsonResponse } from '../../tools/outcome.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { ERROR_CLASSES, type ErrorClass } from '../../trace/schema.ts';
import { callOfMeta, metaSpecs } from './metaTools.ts';
import { calledTool, savedState } from './protocol.ts';
import { RunnerError, RunnerLost, wasKilled } from './runnerProcess.ts';
import type { ScenarioRunner } from './scenarioRunner.ts';

/** Opening takes milliseconds; a large database takes longer to copy. */
const OPEN_MS = 30_000;
/** A session that is stopped says where it was, or is killed, in this time. */
const STOPPED_MS = 700;
const CLOSE_MS = 1_000;

export interface SessionStart {
  readonly world: string;
  readonly seed: number;
  readonly memoryMb: number;
  readonly from: Uint8Array | undefined;
  readonly expose: 'tools' | 'meta';
  /** Tools that are offered; absent: all. */
  readonly only: readonly string[] | undefined;
  /** Tools that never write. */
  readonly pure: readonly string[] | undefined;
  /** Receives output outside of calls. */
  readonly onLog: OnLog | undefined;
  /** Called when the session has ended, with everything that belongs to it. */
  readonly release: () => Promise<void>;
}

export class CodeSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  verify?: NonNullable<WorldSession['verify']>;
  readonly #runner: ScenarioRunner;
  readonly #start: SessionStart;
  readonly #tools: readonly ToolSpec[];
  readonly #id = randomUUID();
  readonly #late: LateLog;
  /** Receives the output of the running call. */
  #onLog: OnLog | undefined;
  /** The last operation: they run one after another. */
  #last: Promise<unknown> = Promise.resolve();
  /** Why there is no session any more. */
  #ended: string | undefined;
  /** Somebody else killed its process. */
  #isKilled = false;
  #closed = false;

  private constructor(runner: ScenarioRunner, start: SessionStart) {
    this.#runner = runner;
    this.#start = start;
    this.#late = new LateLog(start.onLog);
    this.#tools = runner.loaded.tools
      .filter(({ name }) => start.only === undefined || start.only.includes(name))
      .map((tool) => ({
        ...tool,
        effect: start.pure?.includes(tool.name) === true ? 'pure' : 'restorable',
        sessionBound: false,
        from: { kind: 'world', name: start.world },
      }));
    this.specs = start.expose === 'meta' ? metaSpecs(start.world) : this.#tools;
    runner.process.watch(this.#id, {
      onLog: (stream, text) => (this.#onLog ?? this.#late.write)(stream, text),
      onEnded: (why, killed) => {
        this.#isKilled ||= killed && this.#ended === undefined;
        this.#ended ??= why;
      },
    });
  }

  /** Opens a session. Throws ClassedError `world_error`. */
  static async open(runner: ScenarioRunner, start: SessionStart, signal: AbortSignal): Promise<CodeSession> {
    const session = new CodeSession(runner, start);
    try {
      const opening = runner.process.request('open', {
        session: session.#id,
        folder: path.join(runner.folder, 'sessions', session.#id),
        seed: start.seed,
        memory_mb: start.memoryMb,
        ...(start.from === undefined ? {} : { state: Buffer.from(start.from).toString('base64') }),
      });
      await abortable(opening, AbortSignal.any([signal, AbortSignal.timeout(OPEN_MS)]));
      return session;
    } catch (error) {
      await session.close();
      if (signal.aborted) throw abortedError(signal);
      const why = StudioError.is(error, 'cancelled') ? `It does not open within ${OPEN_MS / 1000} s.` : undefined;
      throw why === undefined ? session.#classed(error, 'world_error') : new ClassedError('world_error', why);
    }
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    if (this.#start.expose === 'meta') {
      const meta = callOfMeta(call, this.#tools);
      return 'response' in meta ? meta : await this.#call(meta.name, meta.args, context);
    }
    return await this.#call(call.name, call.arguments, context);
  }

  async snapshot(signal: AbortSignal): Promise<Uint8Array> {
    return await this.#inOrder(signal, async () => {
      try {
        const answer = await abortable(this.#runner.process.request('snapshot', { session: this.#id }), signal);
        return Buffer.from(savedState.parse(answer).state, 'base64');
      } catch (error) {
        if (signal.aborted) throw abortedError(signal);
        throw this.#classed(error, 'world_error');
      }
    });
  }

  async close(onLog?: OnLog): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#late.ending(onLog);
    const { process } = this.#runner;
    if (this.#ended === undefined) {
      const closing = process.request('close', { session: this.#id }).catch(() => this.#stop());
      await Promise.race([closing, sleep(CLOSE_MS, undefined, { ref: false }).then(() => this.#stop())]);
    }
    this.#late.close();
    process.unwatch(this.#id);
    await this.#start.release();
  }

  async #call(name: string, args: JsonObject, context: ToolCallContext): Promise<ToolOutcome> {
    const tool = this.#tools.find((each) => each.name === name);
    if (tool === undefined) throw new ClassedError('unknown_tool', `Unknown tool "${name}".`);
    const pure = tool.effect === 'pure' ? { pure: true } : {};
    const { signal } = context;
    return await this.#inOrder(signal, async () => {
      const sinks = this.#late.sinks(context);
      this.#onLog = (stream, text) => sinks.onLog(stream, text);
      const answer = this.#runner.process.request('call', { session: this.#id, name, args, ...pure });
      try {
        const { response, changes } = calledTool.parse(await abortable(answer, signal));
        return { ...jsonResponse({ text: JSON.stringify(response) }), ...(changes === null ? {} : { changes }) };
      } catch (error) {
        if (signal.aborted) throw await this.#interrupted(answer, abortedError(signal));
        throw this.#classed(error, 'tool_error');
      } finally {
        this.#onLog = undefined;
      }
    });
  }

  /** Stops the session, which is in a call that must not go on. Returns the error with the line where it was. */
  async #interrupted(answer: Promise<unknown>, error: ClassedError): Promise<ClassedError> {
    this.#ended ??= 'it was stopped in a call';
    const stopped = answer.then(
      () => undefined,
      (thrown: unknown) => (thrown instanceof RunnerError ? this.#runner.placeOf(thrown.fault) : undefined),
    );
    await this.#stop();
    const place = await Promise.race([stopped, sleep(STOPPED_MS, undefined, { ref: false })]);
    return new ClassedError(error.class, error.message, { cause: error, place, blame: blameFor(error.class) });
  }

  async #stop(): Promise<void> {
    const { process, loaded } = this.#runner;
    if (loaded.fork)
      await process.request('stop', { session: this.#id }).catch(() => undefined); // it has ended
    else await process.close();
  }

  /** Runs an operation after those before it. */
  async #inOrder<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const result = abortable(before, signal).then(
      () => {
        if (this.#ended === undefined) return run();
        const why = `The session of the world has ended: it ${this.#ended}.`;
        throw this.#isKilled ? new SessionKilled(why) : new ClassedError('world_error', why, { blame: 'world' });
      },
      () => {
        throw abortedError(signal);
      },
    );
    this.#last = Promise.allSettled([before, result]);
    return await result;
  }

  /** Converts an error of the runner to one of the rollout. */
  #classed(error: unknown, fallback: ErrorClass): ClassedError {
    // Its end may have been reported while the request was on its way.
    if (wasKilled(error) || this.#isKilled) {
      const why = this.#ended === undefined ? errorText(error) : `The session of the world ended: it ${this.#ended}.`;
      return new SessionKilled(why, { cause: error });
    }
    if (error instanceof RunnerLost)
      return StudioError.is(error.cause)
        ? new ClassedError('infrastructure', error.message, { cause: error })
        : new ClassedError('world_error', error.message, { cause: error, blame: 'world' });
    if (!(error instanceof RunnerError)) return ClassedError.from(error, fallback);
    const { fault } = error;
    const of = ERROR_CLASSES.find((known) => known === fault.class) ?? fallback;
    const message = this.#ended === undefined ? fault.message : `The session of the world ended: it ${fault.message}.`;
    if (fault.why !== undefined) this.#onLog?.('err', `${fault.why}\n`);
    return new ClassedError(of, message, {
      cause: error,
      place: this.#runner.placeOf(fault),
      stack: fault.stack,
      changes: fault.changes ?? undefined,
      blame: fault.blame ?? blameFor(of),
    });
  }
}

/** Nothing but the world takes part in its calls: it is to blame if one runs too long, or ends the session. */
function blameFor(error: ErrorClass): ClassedError['blame'] {
  return error === 'timeout' || error === 'world_error' ? 'world' : undefined;
}
