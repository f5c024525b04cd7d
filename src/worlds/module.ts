import { abortable } from '../common/abort.ts';
import { StudioError } from '../common/errors.ts';
import type { SubmittedModuleWorld } from '../config/submission.ts';
import type {
  Ask,
  JudgingContext,
  OnLog,
  ToolCall,
  ToolCallContext,
  ToolOutcome,
  ToolSpec,
  Verdict,
  World,
  WorldSession,
} from '../rollout/ports.ts';
import { abortedError } from '../tools/aborted.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { askerOf } from '../tools/modules/asker.ts';
import { Children } from '../tools/modules/children.ts';
import { classed, classedOpening } from '../tools/modules/errors.ts';
import { LateLog } from '../tools/modules/lateLog.ts';
import { outcomeOf } from '../tools/modules/moduleHost.ts';
import type { ModulePool } from '../tools/modules/modulePool.ts';
import type { ModulePools } from '../tools/modules/pools.ts';
import type { Operation } from '../tools/modules/protocol.ts';
import { opened } from '../tools/modules/protocol.ts';
import { AbortedCall } from '../tools/modules/threadErrors.ts';
import { toolSpecs } from '../tools/modules/toolSpecs.ts';
import type { Answer, Sinks, WorkerThread } from '../tools/modules/workerThread.ts';
import { ClassedError } from '../trace/classedError.ts';
import { asInDataset, withoutAnswer } from '../trace/task.ts';
import { verdictOf } from './verdict.ts';

/** Pools whose worlds have a verifier but no snapshots. */
const notRestorable = new WeakSet<ModulePool>();

/**
 * A world written as a module that exports `open`. Each session runs in its own thread; a session that closed cleanly
 * leaves its thread to the next one. `environment`: the environment of the rollout that opens the world. `judges`:
 * whether the world is the scorer, too.
 *
 * The expected answer never enters a process that runs code of an attempt which goes on. If there are snapshots, the
 * final state is opened once more in the process of scorers, and judged there: what the rollout's code left behind can
 * neither read the answer nor touch the verdict. Repeating the calls there would not do, because some must not be
 * repeated. A world without snapshots can judge only where it is. So it has a process of its own, whose agent has ended
 * by then. That costs a process per rollout, and shows only in an open session: the first one is opened again.
 */
export function moduleWorld(submitted: SubmittedModuleWorld, environment: ToolEnvironment, judges: boolean): World {
  const { modules, scorers } = environment.pools;
  const poolOf = (pools: ModulePools, { sandbox }: Pick<ToolEnvironment, 'sandbox'>): Promise<ModulePool> =>
    pools.get(submitted.module, { ...environment, sandbox }).catch((error: unknown) => {
      throw StudioError.is(error) ? error : ClassedError.from(error, 'infrastructure'); // its files, not the world
    });
  const judge = (): Promise<ModulePool> => poolOf(scorers, environment);
  const isShared = environment.sandbox.modules === 'shared';
  return {
    name: submitted.name,
    kind: submitted.kind,
    open: async (input, signal) => {
      const { name, file, models } = submitted;
      const opening: Opening = { name, file, models, input, environment, judge };
      const pool = await poolOf(modules, environment);
      if (!judges || !notRestorable.has(pool)) {
        const session = await ModuleSession.open(pool, opening, signal);
        if (!judges || !isShared || session.verify === undefined || session.snapshot !== undefined) return session;
        notRestorable.add(pool);
        await session.close();
      }
      const own = await poolOf(modules, { sandbox: { ...environment.sandbox, modules: 'separate' } });
      return ModuleSession.open(own, opening, signal);
    },
  };
}

/** What a session is opened with. */
interface Opening {
  readonly name: string;
  /** The world file. */
  readonly file: string;
  readonly models: SubmittedModuleWorld['models'];
  readonly input: Parameters<World['open']>[0];
  readonly environment: ToolEnvironment;
  /** Returns the pool where its final state is judged. */
  readonly judge: () => Promise<ModulePool>;
}

interface Capabilities {
  readonly verify: boolean;
  readonly snapshot: boolean;
}

class ModuleSession implements WorldSession {
  readonly specs: readonly ToolSpec[];
  readonly verify?: NonNullable<WorldSession['verify']>;
  readonly snapshot?: NonNullable<WorldSession['snapshot']>;
  readonly #pool: ModulePool;
  readonly #thread: WorkerThread;
  readonly #opening: Opening;
  readonly #late: LateLog;
  readonly #children: Children;
  /** The last operation. Operations run one after another, so that changes belong to the right call. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(
    pool: ModulePool,
    thread: WorkerThread,
    late: LateLog,
    children: Children,
    opening: Opening,
    specs: readonly ToolSpec[],
    can: Capabilities,
  ) {
    this.#pool = pool;
    this.#thread = thread;
    this.#late = late;
    this.#children = children;
    this.#opening = opening;
    this.specs = specs;
    if (can.verify) this.verify = (input, context) => this.#verify(input, context);
    if (can.snapshot) this.snapshot = (signal) => this.#snapshot(signal);
  }

  /** Opens a session. Throws StudioError `config` or ClassedError `world_error`. */
  static async open(pool: ModulePool, opening: Opening, signal: AbortSignal): Promise<ModuleSession> {
    const { name, input, environment } = opening;
    const late = new LateLog(environment.onLog?.bind(environment));
    const thread = await pool.acquire(false, signal).catch((error: unknown) => {
      throw error instanceof AbortedCall ? abortedError(signal) : error;
    });
    const children = new Children(pool, environment.pools.processGroups.owner);
    try {
      const answer = await thread.run(
        // Its tools run next to it, so it learns the expected answer only when it verifies.
        { kind: 'open', task: asInDataset(withoutAnswer(input.task)), seed: input.seed, from: input.from },
        { ...late.quiet(signal), mark: children.mark },
      );
      const session = opened.parse(JSON.parse(answer.text));
      return new ModuleSession(
        pool,
        thread,
        late,
        children,
        opening,
        toolSpecs(session.tools, pool.mapper, { kind: 'world', name }, 'restorable'),
        session,
      );
    } catch (error) {
      await pool.release(thread, false);
      await children.close();
      throw classedOpening(error, {
        pool,
        cwd: environment.cwd,
        signal,
        thrown: 'world_error',
        threadLost: 'world_error',
      });
    }
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const spec = this.specs.find((candidate) => candidate.name === call.name);
    if (spec === undefined) throw new ClassedError('unknown_tool', `Unknown tool "${call.name}".`);
    try {
      const op: Operation = {
        kind: 'call',
        name: call.name,
        args: call.arguments,
        seed: context.seed,
        cwd: this.#opening.environment.cwd,
      };
      return outcomeOf(await this.#run(op, { ...this.#late.sinks(context), ...this.#asker(context.ask) }));
    } catch (error) {
      throw classed(error, {
        pool: this.#pool,
        cwd: this.#opening.environment.cwd,
        signal: context.signal,
        thrown: 'tool_error',
        threadLost: 'world_error',
        threadEnded: 'world_error', // the session ended with it
        place: spec.place,
      });
    }
  }

  async close(onLog?: OnLog): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#late.ending(onLog);
    const clean = await this.#run({ kind: 'close' }, this.#late.quiet(AbortSignal.timeout(CLOSE_MS))).then(
      () => true,
      () => false,
    );
    this.#late.close();
    await this.#pool.release(this.#thread, clean);
    await this.#children.close();
  }

  async #verify(judged: Judged, context: JudgingContext): Promise<Verdict> {
    const { signal } = context;
    if (this.snapshot === undefined) return this.#verifyHere(judged, context);
    const { input, environment, judge } = this.#opening;
    const from = await this.#snapshot(signal);
    const opening: Opening = {
      ...this.#opening,
      input: { ...input, from },
      environment: { ...environment, onLog: this.#late.write },
    };
    const final = await ModuleSession.open(await judge(), opening, signal);
    try {
      return await final.#verifyHere(judged, context);
    } finally {
      await final.close();
    }
  }

  async #verifyHere(judged: Judged, { signal, ask }: JudgingContext): Promise<Verdict> {
    const { answer: said, expected, messages = [] } = judged;
    // Parts are JSON by their types. Live messages have more members than recorded ones.
    const json = messages.map(({ m, role, parts }) => ({ m, role, parts })) as unknown as VerifyOperation['messages'];
    const op: VerifyOperation = { kind: 'verify', answer: said, expected, messages: json };
    const answer = await this.#judge(op, signal, this.#asker(ask));
    return verdictOf(outcomeOf(answer).response, 'verify');
  }

  async #snapshot(signal: AbortSignal): Promise<Uint8Array> {
    const { snapshot } = await this.#judge({ kind: 'snapshot' }, signal);
    if (snapshot === undefined) throw new ClassedError('world_error', 'The world returned no snapshot.');
    return snapshot;
  }

  #asker(ask: Ask | undefined): Pick<Sinks, 'ask'> {
    return askerOf(this.#opening.models, this.#opening.file, ask);
  }

  async #judge(op: Operation, signal: AbortSignal, asker: Pick<Sinks, 'ask'> = {}): Promise<Answer> {
    try {
      return await this.#run(op, { ...this.#late.quiet(signal), ...asker });
    } catch (error) {
      throw classed(error, {
        pool: this.#pool,
        cwd: this.#opening.environment.cwd,
        signal,
        thrown: 'world_error',
        threadLost: 'world_error',
      });
    }
  }

  /** Runs operations in order: each starts when the previous one has ended. */
  #run(op: Operation, sinks: Sinks): Promise<Answer> {
    const before = this.#last;
    const result = abortable(before, sinks.signal).then(
      () => this.#thread.run(op, { ...sinks, mark: this.#children.mark }),
      () => {
        throw new AbortedCall();
      },
    );
    this.#last = Promise.allSettled([before, result]);
    return result;
  }
}

type VerifyOperation = Extract<Operation, { kind: 'verify' }>;
type Judged = Parameters<NonNullable<WorldSession['verify']>>[0];

/** Time limit of a world's `close`. */
const CLOSE_MS = 5000;
