import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import { Serial } from '../common/serial.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { EventData } from '../trace/schema.ts';
import { datasetId, type TaskRecord } from '../trace/task.ts';
import { hasHappened, isRepeated } from '../trace/undone.ts';
import type { Act, EffectResult } from './act/act.ts';
import { worldKey } from './act/history.ts';
import type { Queue } from './act/queue.ts';
import type { RecordedAction } from './act/recorded.ts';
import { faultOf } from './faults.ts';
import { LiveWorld, type WorldCall, type WorldParts } from './liveWorld.ts';
import type { ToolCall, ToolCallContext, ToolOutcome, ToolSpec, WorldSession } from './ports.ts';
import { settledWithin } from './stop.ts';
import { roundMs } from './time.ts';
import { ToolLog } from './tools/toolLog.ts';
import { WorldOrder } from './worldOrder.ts';

/** Number of calls that change the world between two snapshots. */
const CALLS_PER_SNAPSHOT = 16;
/** A final state that is not saved within this time is not kept. */
const SAVE_MS = 30_000;
/** Interrupted work ends within a second; scoring waits a little longer than that. */
const IDLE_MS = 1_500;

/** A call of a world as it was recorded. */
export interface RecordedWorldCall {
  readonly world: WorldCall;
  readonly done: EffectResult<'tool'>;
  /** Whether the newest snapshot does not contain it, so that it is repeated in a world with a state of its own. */
  readonly repeats: boolean;
}

/** The world of one rollout: its session, the order of its calls, its snapshots, and how to restore it after a loss. */
export class RolloutWorld {
  /** Runs the calls of a session one after another, in call order. */
  readonly queue: Queue;
  readonly #serial = new Serial();
  /** If several agents called it: the order in which their recorded calls were made. */
  readonly #order: WorldOrder | undefined;
  readonly #parts: WorldParts;
  readonly #live: LiveWorld;
  readonly #span: number;
  readonly #openedAt: number;
  /** The session was opened with the state after this event. */
  readonly #covered: number;
  /** Number of calls that changed something since the last snapshot. */
  #changes = 0;
  /** Number of recorded snapshots that replayed calls have not reached. */
  #snapshotsLeft: number;
  #canSnapshot: boolean;
  /** Whether a call since the last snapshot changed something, and must not be repeated. */
  #bound = false;

  private constructor(parts: WorldParts, live: LiveWorld, span: number) {
    this.#parts = parts;
    this.#live = live;
    this.#span = span;
    this.#openedAt = parts.time.monotonic();
    this.#covered = parts.history.snapshot?.seq ?? 0;
    this.#snapshotsLeft = parts.history.snapshots;
    this.#canSnapshot = live.session.snapshot !== undefined;
    const order = WorldOrder.of(parts.history, new Set(live.session.specs.map(({ name }) => name)), parts.isAgent);
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

  /** The current session: it changes when the world is restored. */
  get session(): WorldSession {
    return this.#live.session;
  }

  /** Makes a call in the current session. */
  call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    let made = 0;
    return this.#live.ask(
      `in a call to ${call.name}`,
      (session) => {
        if (made++ > 0) context.onAgain?.();
        return session.call(call, context);
      },
      context.signal,
      (text) => {
        context.onProgress(); // its time starts again
        context.onLog('err', text);
      },
    );
  }

  /** What judges the final state, for scorers. */
  get judge(): Pick<WorldSession, 'verify'> {
    if (this.session.verify === undefined) return {};
    const missing = (): Promise<never> => Promise.reject(new Error('this world has no `verify`'));
    return {
      verify: (input, context) =>
        this.#live.ask(
          'while it was judged',
          (session) => session.verify?.(input, context) ?? missing(),
          context.signal,
        ),
    };
  }

  /**
   * Restores the state before a call that was made and counts as never having happened. `print` writes to the log of
   * the call.
   */
  undo(name: string, print: (text: string) => void): Promise<void> {
    return this.#live.undo(name, print);
  }

  /** Waits until all calls so far have ended, with their effects undone if they were interrupted. */
  async settle(): Promise<void> {
    const { time } = this.#parts;
    if (await settledWithin(this.#serial.idle(), IDLE_MS, time)) return;
    await this.#live.restored();
    await settledWithin(this.#serial.idle(), IDLE_MS, time);
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
    const request = { world: world.name, ...world.about?.(task), seed };
    // A fork with a changed scenario: its snapshots are differences from another state.
    if (history.template !== request.template) history.dropSnapshots();
    const opened: { live?: LiveWorld } = {};
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
      perform: async (_request, { span }) => {
        const began = time.monotonic();
        try {
          opened.live = await LiveWorld.open(parts, span, seed);
          return {};
        } catch (thrown) {
          const error =
            stop.reason ?? faultOf(thrown, 'world_error', StudioError.is(thrown) ? 'infrastructure' : 'world_error');
          return { end: { ms: roundMs(time.monotonic() - began), error: error.toTrace() } };
        }
      },
    });
    if (opened.live !== undefined) return new RolloutWorld(parts, opened.live, done.span);
    const error = done.end?.error;
    throw new ClassedError(error?.class ?? 'world_error', error?.message ?? `Cannot open the world ${world.name}.`);
  }

  /**
   * Returns whether the effect of a recorded call is lost: the snapshot does not contain it, and it must not be
   * repeated.
   */
  isLost(action: RecordedAction<'tool'>, spec: ToolSpec): boolean {
    if (this.session.answeredBy?.(spec.name) === 'tool') return spec.sessionBound;
    const uncovered = (action.end?.seq ?? Infinity) > this.#covered && action.start.effect === 'irreversible';
    return uncovered && (spec.sessionBound || this.#parts.history.changing.has(action.seq));
  }

  /**
   * Continues after a live call: takes a snapshot if one is due. `outcome`: what it returned, or the changes that it
   * reported before it failed.
   */
  afterCall(
    world: WorldCall,
    done: EffectResult<'tool'>,
    outcome: Pick<ToolOutcome, 'changes'> | undefined,
  ): Promise<void> | undefined {
    if (this.#live.observe(world, done)) return undefined;
    const reported = outcome?.changes;
    this.#live.ended(world, done, reported !== undefined && reported.length > 0);
    const changed = reported === undefined ? outcome !== undefined && world.effect !== 'pure' : reported.length > 0;
    if (changed) this.#changes++;
    if (changed && world.effect === 'irreversible') this.#bound = true;
    return this.#changes >= CALLS_PER_SNAPSHOT ? this.#snapshot() : undefined;
  }

  /** Continues after a recorded call: repeats it, without recording, if the opened state does not contain it yet. */
  async afterRecordedCall(world: WorldCall, done: EffectResult<'tool'>): Promise<void> {
    if (this.#live.observe(world, done)) return;
    const { history, stop } = this.#parts;
    const repeats = isRepeated(world.effect, history.changing.has(done.span));
    if (done.endSeq > this.#covered && repeats && hasHappened(done.end)) {
      await this.#live.repeat(world, done).catch((error: unknown) => {
        const { message } = ClassedError.from(error, 'world_error');
        stop.stop(new ClassedError('infrastructure', `Cannot restore the world: ${message}`));
      });
    }
    const reportsChanges = history.changing.size > 0;
    if (
      reportsChanges
        ? history.changing.has(done.span)
        : world.effect !== 'pure' && done.end?.status === 'ok' && hasHappened(done.end)
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

  /**
   * Observes recorded calls, and repeats, without recording, those that the opened state does not contain. Throws
   * ClassedError `world_error` if one fails.
   */
  async catchUp(calls: readonly RecordedWorldCall[]): Promise<void> {
    for (const { world, done, repeats } of calls) {
      if (this.#live.observe(world, done) || !repeats) continue;
      try {
        await this.#live.repeat(world, done);
      } catch (error) {
        const { message } = ClassedError.from(error, 'world_error');
        throw new ClassedError('world_error', `The final state of the world cannot be restored: ${message}`);
      }
      this.#parts.life.check();
    }
  }

  /** Saves the final state, so that it can be judged again later. Limits of the agent do not end this. */
  async saveFinalState(): Promise<void> {
    if (!this.#live.hasUnsavedCalls) return;
    const { life, time } = this.#parts;
    const { stop, release } = life.child();
    const cancel = time.timer(SAVE_MS, () =>
      stop.stop(new ClassedError('world_error', `it took longer than ${SAVE_MS / 1000} s`)),
    );
    try {
      await this.#snapshot(stop);
    } finally {
      cancel();
      release();
    }
  }

  /** Saves the state between two calls, if the world can. */
  saveState(): Promise<void> {
    return this.#snapshot();
  }

  /** Closes the session. Returns the end of its span. */
  async close(): Promise<EventData['world.close']> {
    const { log, time } = this.#parts;
    const output = new ToolLog(log, undefined, this.#span);
    const error = await this.#live.close((stream, text) => output.add(stream, text));
    output.end();
    const ms = roundMs(time.monotonic() - this.#openedAt);
    return error === undefined ? { ms } : { ms, error: ClassedError.from(error, 'world_error').toTrace() };
  }

  get span(): number {
    return this.#span;
  }

  /** Whether no other worker can restore its state, unless it is saved. */
  get bound(): boolean {
    return this.#bound;
  }

  async #snapshot(stop = this.#parts.stop): Promise<void> {
    const { log, sha256 } = this.#parts;
    if (!this.#canSnapshot || this.session.snapshot === undefined || stop.signal.aborted) return;
    try {
      const asked = this.#live.ask(
        'while its state was saved',
        (session) => session.snapshot?.(stop.signal) ?? Promise.reject(new Error('it has none')),
        stop.signal,
      );
      const bytes = await stop.race(asked);
      const sha = sha256(bytes);
      log.append(
        [{ kind: 'world.snapshot', span: this.#span, data: { snapshot: sha, bytes: bytes.length } }],
        [{ sha, bytes, media: 'application/octet-stream' }],
      );
      this.#live.saved(sha);
      this.#changes = 0;
      this.#bound = false;
    } catch (thrown) {
      if (this.#parts.life.reason !== undefined || (stop === this.#parts.stop && stop.reason !== undefined)) return;
      this.#canSnapshot = false;
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      const text = `The world returned no snapshot: ${why}. To restore its state, all its calls are repeated.`;
      log.append([{ kind: 'log', span: this.#span, data: { stream: 'err', text } }]);
    }
  }
}

/** Returns the seed of a task's world: the same for all attempts. */
export function worldSeed(task: TaskRecord, batchSeed: number): number {
  return task.world?.seed ?? seedOf(batchSeed, datasetId(task));
}
