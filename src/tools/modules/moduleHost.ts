import { StudioError } from '../../common/errors.ts';
import type { SubmittedModule, SubmittedTools } from '../../config/submission.ts';
import type { OnLog, ToolCall, ToolCallContext, ToolHost, ToolOutcome, ToolSpec } from '../../rollout/ports.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Part } from '../../trace/schema.ts';
import type { BundleProblem } from '../bundle.ts';
import type { ToolEnvironment } from '../environment.ts';
import { jsonResponse, textResponse } from '../outcome.ts';
import { askerOf } from './asker.ts';
import { Children } from './children.ts';
import { classed, readChanges } from './errors.ts';
import { LateLog } from './lateLog.ts';
import type { ModulePool } from './modulePool.ts';
import type { Operation } from './protocol.ts';
import { toolSpecs } from './toolSpecs.ts';
import type { Answer, Sinks, WorkerThread } from './workerThread.ts';

/** What its entry in the agent file gives to a module. */
type ModuleGrants = Pick<Extract<SubmittedTools, { kind: 'module' }>, 'secrets' | 'models'>;

/** Opens the tools of a user's module for one rollout. Throws StudioError `config` if it cannot be loaded. */
export async function openModule(
  module: SubmittedModule,
  environment: ToolEnvironment,
  { secrets = {}, models }: ModuleGrants = {},
): Promise<ToolHost> {
  const pool = await environment.pools.modules.get(module, environment);
  const loaded = await pool.load();
  const problems =
    loaded.problems.length === 0 && loaded.tools.length === 0
      ? [
          {
            text: 'the module exports no tools; add `export const name = tool({ … })` with `tool` from rollout-studio',
            defined: '',
          },
        ]
      : loaded.problems;
  if (problems.length > 0) {
    const located = problems.map(({ text, defined }) => ({ text, place: pool.mapper.place(defined) }));
    throw new StudioError(
      'config',
      located
        .map(
          ({ text, place }) =>
            `${place === undefined ? module.file : `${place.file}:${place.line}:${place.column}`}: ${text}`,
        )
        .join('\n'),
      {
        details: {
          problems: located.map(
            ({ text, place = { file: module.file, line: 1, column: 1 } }): BundleProblem => ({
              ...place,
              message: text,
            }),
          ),
        },
      },
    );
  }
  return new ModuleHost(
    pool,
    toolSpecs(loaded.tools, pool.mapper, { kind: 'module', name: module.file }, 'irreversible'),
    environment,
    { secrets, models },
  );
}

class ModuleHost implements ToolHost {
  readonly specs: readonly ToolSpec[];
  readonly #pool: ModulePool;
  readonly #cwd: string;
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #models: ModuleGrants['models'];
  readonly #late: LateLog;
  /** Whether tools keep state in module variables, so that the rollout needs its own thread. */
  readonly #session: boolean;
  #thread: Promise<WorkerThread> | undefined;
  readonly #children: Children;
  readonly #closing = new AbortController();

  constructor(
    pool: ModulePool,
    specs: readonly ToolSpec[],
    environment: ToolEnvironment,
    { secrets = {}, models }: ModuleGrants,
  ) {
    this.#pool = pool;
    this.#secrets = secrets;
    this.#models = models;
    this.#children = new Children(pool, environment.pools.processGroups.owner);
    this.specs = specs;
    this.#cwd = environment.cwd;
    this.#late = new LateLog(environment.onLog?.bind(environment));
    this.#session = specs.some((spec) => spec.sessionBound);
  }

  async call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome> {
    const spec = this.specs.find((candidate) => candidate.name === call.name);
    if (spec === undefined) throw new ClassedError('unknown_tool', `Unknown tool "${call.name}".`);
    if (this.#closing.signal.aborted) throw new ClassedError('cancelled', 'The rollout has ended.');
    const op: Operation = {
      kind: 'call',
      name: call.name,
      args: call.arguments,
      seed: context.seed,
      cwd: this.#cwd,
      secrets: this.#secrets,
    };
    const sinks: Sinks = {
      ...this.#late.sinks(context),
      ...askerOf(this.#models, `the entry of ${this.#pool.file} in the agent file`, context.ask),
      mark: this.#children.mark,
    };
    try {
      return outcomeOf(await this.#run(op, sinks, spec.effect === 'pure'));
    } catch (error) {
      throw classed(error, {
        pool: this.#pool,
        cwd: this.#cwd,
        signal: context.signal,
        thrown: 'tool_error',
        threadLost: this.#session ? 'tool_error' : 'infrastructure',
        place: spec.place,
      });
    }
  }

  async close(onLog?: OnLog): Promise<void> {
    this.#closing.abort();
    this.#late.ending(onLog);
    const thread = await this.#thread?.catch(() => undefined);
    if (thread !== undefined) await this.#pool.release(thread, false);
    this.#late.close();
    await this.#children.close();
  }

  async #run(op: Operation, sinks: Sinks, repeatable: boolean): Promise<Answer> {
    // A thread that is paused in a debugger cannot run other calls.
    if (!this.#session)
      return sinks.inspect === undefined ? this.#pool.run(op, sinks, repeatable) : this.#pool.runAlone(op, sinks);
    this.#thread ??= this.#pool.acquire(true, this.#closing.signal);
    return (await this.#thread).run(op, sinks);
  }
}

/** Converts the answer of a tool to its outcome. Throws ClassedError. */
export function outcomeOf(answer: Answer): ToolOutcome {
  const response = answer.form === 'text' ? textResponse(answer) : jsonResponse(answer);
  if (answer.files === undefined && answer.changes === undefined) return response;
  return {
    ...response,
    ...(answer.files === undefined ? {} : { parts: answer.files.map(filePart) }),
    ...(answer.changes === undefined ? {} : { changes: readChanges(answer.changes) }),
  };
}

function filePart(file: { mime_type: string; content: string }): Part {
  const modality = /^(image|audio|video)\//.exec(file.mime_type)?.[1];
  return {
    type: 'blob',
    mime_type: file.mime_type,
    content: file.content,
    ...(modality === undefined ? {} : { modality }),
  };
}
