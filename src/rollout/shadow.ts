import { seedOf } from '../common/hash.ts';
import type { Json } from '../common/json.ts';
import { ClassedError } from '../trace/classedError.ts';
import { predictionDifference, SeenValues } from '../trace/prediction/difference.ts';
import { PREDICTION_SCORER } from '../trace/prediction/statistics.ts';
import { compileCondition, type Query } from '../trace/query.ts';
import type { EventData, TraceError } from '../trace/schema.ts';
import { hasHappened, isObserved, isRefused, isUnreadable } from '../trace/undone.ts';
import type { EffectResult } from './act/act.ts';
import type { History } from './act/history.ts';
import type { RolloutJob } from './job.ts';
import type { Log } from './log/log.ts';
import type { Stopwatch } from './loop/limits.ts';
import { type Questions, type SideModels, sidePath } from './loop/sideModel.ts';
import type { Ask, ShadowWorld } from './ports.ts';
import { PredictingSession } from './predictingSession.ts';
import type { Stop } from './stop.ts';
import { type PendingCall, pendingEnvironment } from './tools/pendingCall.ts';
import { argumentsOf, responseOf } from './tools/toolEvents.ts';

/** The side under which the shadow's calls of models are recorded, and that of its judge. */
const SIDE = 'shadow';
const JUDGE_SIDE = 'judge';

interface ShadowParts {
  readonly shadow: ShadowWorld;
  readonly job: RolloutJob;
  readonly log: Log;
  readonly history: History;
  readonly sideModels: SideModels;
  readonly stop: Stop;
  readonly watch: Stopwatch;
  /** The first seq that does not belong to an ancestor. */
  readonly ownFrom: number;
}

interface Prediction {
  readonly response?: Json;
  readonly error?: TraceError;
}

/** Rollouts of a batch share their shadow's condition. */
const conditions = new Map<string, Query>();

/**
 * Predicts tool calls before they are made, with a world whose session sees what the agents saw. Neither an agent nor
 * the rollout notices: a prediction that fails is a score with an error. What its models answered is recorded inside
 * the tool call. If the worker is lost before the score is written, the next one finds them there.
 */
export class Shadow {
  readonly #parts: ShadowParts;
  readonly #predictions = new Map<number, Prediction>();
  /** What agents saw so far. */
  readonly #seen = new SeenValues();
  readonly #turns: { readonly action: string; readonly observation: string }[] = [];
  readonly #session: PredictingSession;

  constructor(parts: ShadowParts) {
    const { shadow, job, stop } = parts;
    this.#parts = parts;
    this.#session = new PredictingSession(shadow.world, job, stop);
  }

  /** Predicts a call. `lost`: seq of the recorded call that it makes again. Never throws. */
  async predict(call: PendingCall, lost: number | undefined): Promise<void> {
    if (!this.#selects(call)) return;
    const prediction = await this.#predict(call, lost);
    if (prediction !== undefined) this.#predictions.set(call.span, prediction);
  }

  /**
   * Continues after a call, recorded or not: writes the score of its prediction, and lets the session see it.
   * `restored`: what happens first. Rejects only as `restored` does.
   */
  async ended(call: PendingCall, done: EffectResult<'tool'>, restored: Promise<void> | undefined): Promise<void> {
    await restored;
    const real = responseOf(done);
    const prediction = this.#predictions.get(call.span) ?? (await this.#recall(call, done));
    this.#predictions.delete(call.span);
    if (prediction !== undefined && real !== undefined) await this.#score(call, done, prediction, real);
    const { shadow, history } = this.#parts;
    const answered = prediction?.response ?? history.predicted.get(call.span);
    await this.#observe(call, done, real, shadow.how === 'free' ? answered : undefined);
  }

  /** Closes the session if it was opened. */
  close(): Promise<void> {
    return this.#session.close();
  }

  #selects(call: PendingCall): boolean {
    const { shadow, job } = this.#parts;
    if (isUnreadable(call.request)) return false;
    if (shadow.when === undefined) return true;
    let condition = conditions.get(shadow.when);
    if (condition === undefined) conditions.set(shadow.when, (condition = compileCondition(shadow.when)));
    return condition.matches(pendingEnvironment(call, job.task, job.attempt)).matched;
  }

  /** Returns undefined if the world does not have this tool. */
  async #predict(call: PendingCall, lost: number | undefined): Promise<Prediction | undefined> {
    const { stop, watch } = this.#parts;
    const { request, seed } = call;
    const { stop: callStop, release } = stop.child();
    watch.setWaiting(true); // the agent's time does not count it
    try {
      const questions = this.#questions(call, lost, callStop);
      const response = await callStop.race(
        this.#session.predict(
          { id: request.call, name: request.name, arguments: argumentsOf(request.arguments) },
          {
            signal: callStop.signal,
            seed,
            onLog: () => undefined,
            onProgress: () => undefined,
            ask: (question) => questions.ask({ ...question, side: SIDE }),
          },
        ),
      );
      return response === undefined ? undefined : { response };
    } catch (thrown) {
      const error = ClassedError.from(thrown, 'world_error');
      // The agent would get the error of a tool as its response: that is a prediction, too.
      if (error.class === 'tool_error' || isRefused(error.class)) return { response: error.toResponse() };
      return { error: error.toTrace() };
    } finally {
      callStop.stop(new ClassedError('cancelled', 'The prediction has ended.'));
      release();
      watch.setWaiting(false);
    }
  }

  /**
   * Returns the prediction of a recorded call that has no score yet, because its worker was lost: from the recorded
   * answers of its models.
   */
  async #recall(call: PendingCall, { recorded, end, span }: EffectResult<'tool'>): Promise<Prediction | undefined> {
    const { history, shadow, job, ownFrom } = this.#parts;
    if (recorded && history.predicted.has(span)) await this.#repeat(call, end);
    if (!recorded || span < ownFrom || history.hasCallScore(span, PREDICTION_SCORER) || !this.#selects(call))
      return undefined;
    const asked = history.isInside(span, sidePath(SIDE, job.submission.agent.name));
    // A world that asks no model predicts the same again.
    const isPredicted = asked || (shadow.world.kind !== 'simulated' && hasHappened(end));
    return isPredicted ? this.#predict(call, undefined) : undefined;
  }

  /** Makes the call again in a session whose state is not what it saw, so that it is as before the worker was lost. */
  async #repeat(call: PendingCall, end: EventData['tool.end'] | undefined): Promise<void> {
    if (hasHappened(end) && (await this.#session.hasOwnState())) await this.#predict(call, undefined);
  }

  async #score(
    call: PendingCall,
    { end, span }: EffectResult<'tool'>,
    prediction: Prediction,
    real: Json,
  ): Promise<void> {
    const { shadow, log } = this.#parts;
    const { response, error } = prediction;
    const { arguments: args } = call.request;
    const difference =
      response === undefined
        ? undefined
        : predictionDifference({ response }, { response: real, error: end?.error?.class }, args, this.#seen);
    let data: EventData['score'] = {
      scorer: PREDICTION_SCORER,
      value: difference?.accuracy ?? null,
      passed: null,
      ...(difference === undefined ? {} : { parts: { ...difference.parts } }),
      prediction: {
        world: shadow.world.name,
        how: shadow.how ?? 'shadow',
        ...(response === undefined ? {} : { response }),
      },
      ...(error === undefined ? {} : { error }),
    };
    if (response !== undefined && shadow.judge !== undefined) data = await this.#judged(call, data, response, real);
    if (!log.closed) log.append([{ kind: 'score', agent: call.agent, span, data }]);
  }

  /** Adds the marks of the judge to a score, or why there are none. */
  async #judged(
    call: PendingCall,
    score: EventData['score'],
    predicted: Json,
    real: Json,
  ): Promise<EventData['score']> {
    const { shadow, stop, watch } = this.#parts;
    const { stop: judgeStop, release } = stop.child();
    watch.setWaiting(true);
    try {
      const questions = this.#questions(call, undefined, judgeStop);
      const ask: Ask = (question) => questions.ask({ ...question, side: JUDGE_SIDE });
      const judged = { before: this.#turns, action: actionOf(call), predicted: textOf(predicted), real: textOf(real) };
      const verdict = await judgeStop.race(shadow.judge?.(judged, ask) ?? Promise.reject(new Error('there is none')));
      const { value, parts, explanation } = verdict;
      return { ...score, value, parts: { ...score.parts, ...parts }, explanation };
    } catch (thrown) {
      return { ...score, value: null, error: ClassedError.from(thrown, 'model_error').toTrace() };
    } finally {
      judgeStop.stop(new ClassedError('cancelled', 'The prediction was scored.'));
      release();
      watch.setWaiting(false);
    }
  }

  /** Lets the session see what the agent saw, or what it answered itself. */
  async #observe(
    call: PendingCall,
    done: EffectResult<'tool'>,
    real: Json | undefined,
    answered: Json | undefined,
  ): Promise<void> {
    if (real === undefined) return;
    this.#seen.addArguments(call.request.arguments);
    this.#seen.addResponse(real);
    if (isObserved(done.end)) this.#turns.push({ action: actionOf(call), observation: textOf(real) });
    await this.#session.observe(call, done, answered);
  }

  #questions({ request, span, agent, step, seed }: PendingCall, lost: number | undefined, stop: Stop): Questions {
    const rolloutSeed = seedOf(seed, SIDE);
    return this.#parts.sideModels.ofTool(request.name, rolloutSeed, () => ({
      span,
      agent,
      lost,
      inOrder: true,
      stop,
      rolloutSeed,
      step: () => step,
      onWait: () => undefined,
    }));
  }
}

function actionOf({ request }: PendingCall): string {
  return JSON.stringify({ name: request.name, arguments: request.arguments });
}

function textOf(response: Json): string {
  return typeof response === 'string' ? response : JSON.stringify(response);
}
