/** Drives a world by hand: one session that is called, taken back to earlier states, branched, and judged. */
import { StudioError } from '../../common/errors.ts';
import { seedOf } from '../../common/hash.ts';
import type { Json } from '../../common/json.ts';
import type { DriveState } from '../../protocol/drive.ts';
import type { SideQuestion, ToolSpec, Verdict, WorldSession } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Change, TraceError } from '../../trace/schema.ts';
import { callOnce } from '../callTool.ts';
import { filesOf, type TriedCall, TryLog } from '../tryEnvironment.ts';
import { openSession, type TaskWorld } from '../tryInWorld.ts';

/** Snapshots are kept up to this size in all; states without one are reached by repeating calls. */
const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024;
/** The session may be lost with such a call, so its state is restored. */
const LOSING = new Set(['timeout', 'world_error', 'infrastructure']);

/** A call of the path to a state. */
export interface DrivenCall {
  readonly tool: string;
  readonly effect: ToolSpec['effect'];
  readonly arguments: Json;
  readonly seed: number;
  readonly result?: Json;
  readonly error?: TraceError;
  readonly changes: readonly Change[];
}

/** Asks a side model now. Throws ClassedError, or StudioError `config` if it cannot be asked here. */
export type AskLive = (question: SideQuestion, signal: AbortSignal) => Promise<string>;

interface State {
  readonly number: number;
  readonly parent: State | undefined;
  readonly call: DrivenCall | undefined;
  readonly depth: number;
  snapshot?: Uint8Array;
}

export class Drive {
  readonly from: TaskWorld;
  readonly #environment: ToolEnvironment;
  readonly #print: (text: string) => void;
  readonly #ask: AskLive;
  readonly #states: State[];
  #session: WorldSession;
  #at: State;
  #snapshotBytes = 0;
  /** Whether going to a state failed, so that the session is closed. */
  #isLost = false;

  private constructor(
    from: TaskWorld,
    environment: ToolEnvironment,
    session: WorldSession,
    print: (text: string) => void,
    ask: AskLive,
  ) {
    this.from = from;
    this.#environment = environment;
    this.#session = session;
    this.#print = print;
    this.#ask = ask;
    this.#at = { number: 0, parent: undefined, call: undefined, depth: 0 };
    this.#states = [this.#at];
  }

  /** Opens the world. `ask`: asks side models for verifiers. Throws StudioError `config` if it cannot be opened. */
  static async open(
    from: TaskWorld,
    environment: ToolEnvironment,
    print: (text: string) => void,
    ask: AskLive,
    signal: AbortSignal,
  ): Promise<Drive> {
    return new Drive(from, environment, await open(from, environment, undefined, signal), print, ask);
  }

  get specs(): readonly ToolSpec[] {
    return this.#session.specs;
  }

  get canVerify(): boolean {
    return this.#session.verify !== undefined;
  }

  get canSnapshot(): boolean {
    return this.#session.snapshot !== undefined;
  }

  /** Number of the current state. */
  get state(): number {
    return this.#at.number;
  }

  get states(): DriveState[] {
    return this.#states.map(({ number, parent, call }) => ({
      state: number,
      ...(parent === undefined ? {} : { parent: parent.number }),
      ...(call === undefined ? {} : { tool: call.tool, arguments: call.arguments }),
      rows: call?.changes.length ?? 0,
    }));
  }

  /** Calls that lead from the start to the current state. */
  get path(): DrivenCall[] {
    return pathTo(this.#at).flatMap(({ call }) => call ?? []);
  }

  /**
   * Makes a call in the current state. One that succeeded, or changed something, leads to a new state. Throws
   * StudioError `not_found` for an unknown tool.
   */
  async call(tool: string, args: Json, signal: AbortSignal): Promise<TriedCall> {
    const spec = this.#spec(tool);
    if (this.#isLost) await this.#restore(this.#at, signal);
    const log = new TryLog(this.#print);
    const seed = seedOf(this.from.callSeed, this.#at.depth);
    const startedAt = performance.now();
    const call = { id: `drive-${this.#states.length}`, arguments: args, seed };
    const { parts, ...outcome } = await callOnce(this.#session, spec, call, this.from.seconds, log.print, signal);
    const ms = performance.now() - startedAt;
    log.end();
    const { error, result, changes = [] } = outcome;
    if (error !== undefined && LOSING.has(error.class)) {
      // Such a call counts as never having happened.
      await this.#restore(this.#at, signal);
    } else if (error === undefined || changes.length > 0) {
      this.#at = {
        number: this.#states.length,
        parent: this.#at,
        depth: this.#at.depth + 1,
        call: {
          ...{ tool, effect: spec.effect, arguments: args, seed, changes },
          ...(result === undefined ? {} : { result }),
          ...(error === undefined ? {} : { error }),
        },
      };
      this.#states.push(this.#at);
      if (changes.length > 0) await this.#keepSnapshot(this.#at, signal);
    }
    return { tool, arguments: args, ...outcome, ms, ...filesOf(parts), log: log.text };
  }

  /** Begins a branch: the next calls lead away from a copy of the current state. */
  branch(): void {
    const { depth } = this.#at;
    this.#at = { number: this.#states.length, parent: this.#at, depth, call: undefined };
    this.#states.push(this.#at);
  }

  /** Goes to a state. Throws StudioError `not_found`, or `unsupported` if that would repeat an irreversible call. */
  async go(number: number, signal: AbortSignal): Promise<void> {
    const state = this.#states[number];
    if (state === undefined)
      throw new StudioError('not_found', `There is no state ${number}.`, {
        hint: `States are numbered from 0 to ${this.#states.length - 1}.`,
      });
    if (state !== this.#at || this.#isLost) await this.#restore(state, signal);
  }

  /** Judges the current state. Throws StudioError `unsupported` if the world has no verifier. */
  async verify(answer: Json, signal: AbortSignal): Promise<Verdict> {
    if (this.#isLost) await this.#restore(this.#at, signal);
    const session = this.#session;
    if (session.verify === undefined)
      throw new StudioError('unsupported', `The world ${this.from.world.name} has no verifier.`, {
        hint: 'Return `verify` from its `open` function.',
      });
    try {
      return await session.verify(
        { answer, expected: this.from.task.answer },
        { signal, ask: (question) => this.#ask(question, signal) },
      );
    } catch (error) {
      if (signal.aborted || !(error instanceof ClassedError)) throw error;
      const { place, message } = error;
      const at = place === undefined ? '' : ` (${place.file}:${place.line})`;
      throw new StudioError('config', `The verifier failed${at}: ${message}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** Opens a new session in a state: from the newest snapshot on the way, with the calls after it. */
  async #restore(state: State, signal: AbortSignal): Promise<void> {
    this.#isLost = true; // until it is open again
    const way = pathTo(state);
    const start = way.findLastIndex(({ snapshot, parent }) => snapshot !== undefined || parent === undefined);
    const calls = way.slice(start + 1).flatMap(({ call }) => call ?? []);
    const irreversible = calls.find(({ effect }) => effect === 'irreversible');
    if (irreversible !== undefined)
      throw new StudioError('unsupported', `${irreversible.tool} cannot be repeated: it is irreversible.`, {
        hint: 'Add `snapshot` to the world, or declare the tool as `restorable`.',
      });
    await this.#session.close();
    this.#session = await open(this.from, this.#environment, way[start]?.snapshot, signal);
    for (const { tool, arguments: args, seed: callSeed, error } of calls) {
      const call = { id: 'again', arguments: args, seed: callSeed };
      const again = await callOnce(this.#session, this.#spec(tool), call, this.from.seconds, () => undefined, signal);
      if (again.status !== (error === undefined ? 'ok' : 'error'))
        throw new StudioError('conflict', `${tool} ended differently when it was repeated.`, {
          hint: 'Calls with the same seed must have the same result. Use `random` and `now` of the world.',
        });
    }
    this.#at = state;
    this.#isLost = false;
  }

  async #keepSnapshot(state: State, signal: AbortSignal): Promise<void> {
    const session = this.#session;
    if (session.snapshot === undefined || this.#snapshotBytes >= MAX_SNAPSHOT_BYTES) return;
    state.snapshot = await session.snapshot(signal);
    this.#snapshotBytes += state.snapshot.length;
  }

  #spec(tool: string): ToolSpec {
    const spec = this.specs.find(({ name }) => name === tool);
    if (spec !== undefined) return spec;
    throw new StudioError('not_found', `The world ${this.from.world.name} has no tool ${tool}.`, {
      hint: `Available tools: ${this.specs.map(({ name }) => name).join(', ')}.`,
    });
  }
}

/** A module's session judges itself; that of a code world has verifiers only if it judges. */
function open(
  world: TaskWorld,
  environment: ToolEnvironment,
  from: Uint8Array | undefined,
  signal: AbortSignal,
): Promise<WorldSession> {
  return openSession(world, environment, signal, { judges: world.world.kind === 'code', from });
}

function pathTo(state: State): State[] {
  const way: State[] = [];
  for (let at: State | undefined = state; at !== undefined; at = at.parent) way.unshift(at);
  return way;
}
