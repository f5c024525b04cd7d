import type { Json } from '../common/json.ts';
import { ClassedError } from '../trace/classedError.ts';
import { howObserved, isObserved } from '../trace/undone.ts';
import type { EffectResult } from './act/act.ts';
import type { RolloutJob } from './job.ts';
import type { ToolCall, ToolCallContext, World, WorldSession } from './ports.ts';
import type { Stop } from './stop.ts';
import type { PendingCall } from './tools/pendingCall.ts';
import { argumentsOf, responseOf } from './tools/toolEvents.ts';
import { worldSeed } from './world.ts';

/** The session of a world that predicts calls, which sees what the agents saw. It is opened when it is first needed. */
export class PredictingSession {
  readonly #world: World;
  readonly #job: RolloutJob;
  readonly #stop: Stop;
  #opening: Promise<WorldSession> | undefined;
  /** Why no more predictions are made. */
  #failed: ClassedError | undefined;

  constructor(world: World, job: RolloutJob, stop: Stop) {
    this.#world = world;
    this.#job = job;
    this.#stop = stop;
  }

  /** Returns what a call would return; undefined if the world does not have this tool. Throws ClassedError. */
  async predict(call: ToolCall, context: ToolCallContext): Promise<Json | undefined> {
    const session = await this.#session();
    if (!hasTool(session, call.name)) return undefined;
    if (this.#failed !== undefined) throw this.#failed;
    try {
      const { response } = await session.call(call, context);
      return response;
    } catch (thrown) {
      const error = ClassedError.from(thrown, 'world_error');
      // An endpoint that does not answer is not asked again: each call would wait for it.
      if (error.class === 'infrastructure') this.#failed = error;
      throw error;
    }
  }

  /** Returns whether the session has a state that is not what it observes. Never throws. */
  async hasOwnState(): Promise<boolean> {
    const session = await this.#session().catch(() => undefined); // reported where it predicts
    return session !== undefined && session.observed === undefined;
  }

  /** Lets the session see a call that has ended, by default with the response that the agent got. Never throws. */
  async observe({ request }: PendingCall, done: EffectResult<'tool'>, response = responseOf(done)): Promise<void> {
    if (response === undefined || !isObserved(done.end)) return;
    const session = await this.#session().catch(() => undefined); // reported where it predicts
    if (session === undefined || !hasTool(session, request.name)) return;
    const called = { id: request.call, name: request.name, arguments: argumentsOf(request.arguments) };
    session.observed?.(called, response, howObserved(done.end, undefined));
  }

  /** Closes the session if it was opened. */
  async close(): Promise<void> {
    await this.#opening?.then((session) => session.close()).catch(() => undefined); // nobody can use it anymore
  }

  /** Opens the session at the first call. Throws ClassedError. */
  #session(): Promise<WorldSession> {
    const { task, submission } = this.#job;
    this.#opening ??= this.#world
      .open({ task, seed: worldSeed(task, submission.seed) }, this.#stop.signal)
      .catch((error: unknown) => {
        throw ClassedError.from(error, 'world_error');
      });
    return this.#opening;
  }
}

function hasTool({ specs }: WorldSession, name: string): boolean {
  return specs.some((spec) => spec.name === name);
}
