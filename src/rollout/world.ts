import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import { isSameJson, type Json } from '../common/json.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { EventData } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { Act, EffectResult } from './act/act.ts';
import { type History, worldKey } from './act/history.ts';
import { isLost, type RecordedAction } from './act/recorded.ts';
import { type Queue, Serial } from './act/serial.ts';
import { faultOf } from './faults.ts';
import type { Log } from './log/log.ts';
import type { Sha256 } from './log/messages.ts';
import type { Recorder, ToolCall, ToolOutcome, ToolSpec, World, WorldSession } from './ports.ts';
import { type Stop, settledWithin } from './stop.ts';
import { roundMs, type Time } from './time.ts';
import { ToolLog } from './tools/toolLog.ts';
import { WorldOrder } from './worldOrder.ts';

/** Number of calls that change the world between two snapshots. */
const CALLS_PER_SNAPSHOT = 16;
/** A world that does not close within this time is abandoned to the process that runs it. */
const CLOSE_MS = 5_000;

export interface WorldParts {
  readonly world: World;
  readonly task: TaskRecord;
  /** The batch's seed: all attempts of a task start with the same world. */
  readonly batchSeed: number;
  readonly history: History;
  readonly log: Log;
  readonly recorder: Recorder;
  /** No new effect starts after it. */
  readonly stop: Stop;
  /** Cancellation and loss of the lease; restoring the world continues until then. */
  readonly life: Stop;
  readonly time: Time;
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

/** The world of one rollout: its session, the order of its calls, its snapshots, and how to restore it after a loss. */
export class RolloutWorld {
  readonly session: WorldSession;
  /** Runs the calls of a session one after another, in call order. */
  readonly queue: Queue;
  readonly #serial = new Serial();
  /** If several agents called it: the order in which their recorded calls were made. */
  readonly #order: WorldOrder | undefined;
  readonly #parts: WorldParts;
  readonly #span: number;
  readonly #openedAt: number;
  /** The session was opened with the state after this event. */
  readonly #covered: number;
  /** Number of calls that changed something since the last snapshot. */
  #changes = 0;
  /** Number of recorded snapshots that replayed calls have not reached. */
  #snapshotsLeft: number;
  #canSnapshot: boolean;
  #differenceLogged = false;

  private constructor(parts: WorldParts, session: WorldSession, span: number) {
    this.#parts = parts;
    this.session = session;
    this.#span = span;
    this.#openedAt = parts.time.monotonic();
    this.#covered = parts.history.snapshot?.seq ?? 0;
    this.#snapshotsLeft = parts.history.snapshots;
    this.#canSnapshot = session.snapshot !== undefined;
    const order = WorldOrder.of(parts.history, new Set(session.specs.map(({ name }) => name)), parts.isAgent);
    this.#order = order;
    this.queue =
      order === undefined
        ? this.#serial
        : {
            run: async (task, recorded) => {
              await order.turn(recorded);
              return this.#serial.run(task).finally(() => order.markEnded(recorded));
            },
          };
  }

  /** Resolves when all calls so far have ended. */
  idle(): Promise<void> {
    return this.#serial.idle();
  }

  /**
   * Stops waiting for recorded calls of an agent that has ended, or, without `agent`, of all agents because their
   * requests differ from the record.
   */
  forget(agent?: string): void {
    this.#order?.forget(agent);
  }

  /** Opens the world as an outside effect, from its newest snapshot if there is one. Throws ClassedError. */
  static async open(act: Act, parts: WorldParts): Promise<RolloutWorld> {
    const { world, task, history, stop, time } = parts;
    const seed = worldSeed(task, parts.batchSeed);
    const request = { world: world.name, seed };
    const opened: { session?: WorldSession } = {};
    const done = await act.one<'world'>({
      kind: 'world',
      agent: '',
      name: world.name,
      step: 0,
      key: () => worldKey(request),
      start: () => ({
        data: {
          ...request,
          kind: world.kind,
          ...(history.snapshot === undefined ? {} : { from: history.snapshot.sha }),
        },
      }),
      perform: async () => {
        const began = time.monotonic();
        try {
          opened.session = await openSession(parts, seed);
          return {};
        } catch (thrown) {
          const error =
            stop.reason ?? faultOf(thrown, 'world_error', StudioError.is(thrown) ? 'infrastructure' : 'world_error');
          return { end: { ms: roundMs(time.monotonic() - began), error: error.toTrace() } };
        }
      },
    });
    if (opened.session !== undefined) return new RolloutWorld(parts, opened.session, done.span);
    const error = done.end?.error;
    throw new ClassedError(error?.class ?? 'world_error', error?.message ?? `Cannot open the world ${world.name}.`);
  }

  /**
   * Returns whether the effect of a recorded call on the world is lost: the snapshot does not contain it, and it must
   * not be repeated.
   */
  isLost(action: RecordedAction<'tool'>, spec: ToolSpec): boolean {
    const uncovered = (action.end?.seq ?? Infinity) > this.#covered && action.start.effect === 'irreversible';
    return uncovered && (spec.sessionBound || this.#parts.history.changing.has(action.seq));
  }

  /** Continues after a live call, which returned `outcome` unless it failed: takes a snapshot if one is due. */
  afterCall(effect: ToolSpec['effect'], outcome: ToolOutcome | undefined): Promise<void> | undefined {
    const changed =
      outcome?.changes === undefined ? outcome !== undefined && effect !== 'pure' : outcome.changes.length > 0;
    if (changed) this.#changes++;
    return this.#changes >= CALLS_PER_SNAPSHOT ? this.#snapshot() : undefined;
  }

  /** Continues after a recorded call: repeats it, without recording, if the opened state does not contain it yet. */
  async afterRecordedCall(world: WorldCall, done: EffectResult<'tool'>): Promise<void> {
    const { history } = this.#parts;
    if (done.endSeq > this.#covered && world.effect === 'restorable' && reachedWorld(done.end))
      await this.#rerun(world, done);
    const reportsChanges = history.changing.size > 0;
    if (
      reportsChanges
        ? history.changing.has(done.span)
        : world.effect !== 'pure' && done.end?.status === 'ok' && reachedWorld(done.end)
    )
      this.#changes++;
    if (this.#changes < CALLS_PER_SNAPSHOT) return;
    if (this.#snapshotsLeft > 0) {
      this.#snapshotsLeft--;
      this.#changes = 0;
    } else {
      await this.#snapshot(); // the worker was lost between the call and its snapshot
    }
  }

  /** Closes the session. Returns the end of its span. */
  async close(): Promise<EventData['world.close']> {
    const { log, time } = this.#parts;
    const output = new ToolLog(log, undefined, this.#span);
    let failure: unknown;
    const closing = this.session
      .close((stream, text) => output.add(stream, text))
      .catch((error: unknown) => {
        failure = error;
      });
    const inTime = await settledWithin(closing, CLOSE_MS, time);
    output.end();
    const error = inTime ? failure : new Error(`it did not close within ${CLOSE_MS / 1000} s`);
    const ms = roundMs(time.monotonic() - this.#openedAt);
    return error === undefined ? { ms } : { ms, error: ClassedError.from(error, 'world_error').toTrace() };
  }

  get span(): number {
    return this.#span;
  }

  async #rerun({ call, seed }: WorldCall, done: EffectResult<'tool'>): Promise<void> {
    const { life, time, toolSeconds } = this.#parts;
    if (life.signal.aborted) return;
    const { stop: late, release } = life.child();
    const spec = this.session.specs.find((candidate) => candidate.name === call.name);
    const seconds = spec?.timeoutSeconds ?? toolSeconds;
    const cancel = time.timer(seconds * 1000, () =>
      late.stop(new ClassedError('timeout', `it took longer than ${seconds} s`)),
    );
    let response: Json | undefined;
    let failure: ClassedError | undefined;
    try {
      const outcome = await late.race(
        this.session.call(call, { signal: late.signal, seed, onLog: () => undefined, onProgress: () => undefined }),
      );
      response = outcome.response;
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
    const { log, stop } = this.#parts;
    const recorded = done.message?.parts.find((part) => part.type === 'tool_call_response');
    if (failure !== undefined && done.end?.status === 'ok') {
      stop.stop(
        new ClassedError(
          'infrastructure',
          `Cannot restore the world: repeating ${call.name} failed: ${failure.message}`,
        ),
      );
      return;
    }
    const isSame =
      failure !== undefined ||
      done.end?.status !== 'ok' ||
      done.message?.origin === 'edited' ||
      done.end.result !== undefined ||
      (recorded?.type === 'tool_call_response' && isSameJson(recorded.response, response));
    if (isSame || this.#differenceLogged) return;
    this.#differenceLogged = true;
    const text =
      `To restore the world, ${call.name} was repeated and returned a different result. The world may differ from ` +
      'the original.';
    log.append([{ kind: 'log', span: this.#span, data: { stream: 'err', text } }]);
  }

  async #snapshot(): Promise<void> {
    const { log, stop, sha256 } = this.#parts;
    if (!this.#canSnapshot || this.session.snapshot === undefined || stop.signal.aborted) return;
    try {
      const bytes = await stop.race(this.session.snapshot(stop.signal));
      const sha = sha256(bytes);
      log.append(
        [{ kind: 'world.snapshot', span: this.#span, data: { snapshot: sha, bytes: bytes.length } }],
        [{ sha, bytes, media: 'application/octet-stream' }],
      );
      this.#changes = 0;
    } catch (thrown) {
      if (stop.reason !== undefined) return;
      this.#canSnapshot = false;
      const text =
        `The world returned no snapshot: ${thrown instanceof Error ? thrown.message : String(thrown)}. If the worker ` +
        'is lost, all its calls are repeated.';
      log.append([{ kind: 'log', span: this.#span, data: { stream: 'err', text } }]);
    }
  }
}

/** Returns the seed of a task's world: the same for all attempts. */
export function worldSeed(task: TaskRecord, batchSeed: number): number {
  return task.world?.seed ?? seedOf(batchSeed, task.id);
}

async function openSession({ world, task, history, recorder, stop }: WorldParts, seed: number): Promise<WorldSession> {
  stop.check();
  const from =
    history.snapshot === undefined ? undefined : await stop.race(readSnapshot(recorder, history.snapshot.sha, stop));
  const opening = world.open({ task, seed, ...(from === undefined ? {} : { from }) }, stop.signal);
  try {
    return await stop.race(opening);
  } catch (error) {
    // If it opens late, nobody else closes it.
    opening.then((session) => session.close()).catch(() => undefined);
    throw error;
  }
}

async function readSnapshot(recorder: Recorder, sha: string, stop: Stop): Promise<Uint8Array> {
  try {
    return await recorder.readBlob(sha, stop.signal);
  } catch (error) {
    throw ClassedError.from(error, 'infrastructure');
  }
}

/** Returns whether a recorded call reached the world and may have changed it. */
function reachedWorld(end: EventData['tool.end'] | undefined): boolean {
  if (end === undefined || end.source === 'edited' || isLost(end)) return false;
  const without = ['invalid_arguments', 'unknown_tool', 'malformed_output', 'timeout', 'cancelled', 'limit'];
  return end.error === undefined || !without.includes(end.error.class);
}
