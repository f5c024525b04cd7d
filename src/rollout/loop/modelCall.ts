import { seedOf } from '../../common/hash.ts';
import type { JsonObject } from '../../common/json.ts';
import type { SubmittedModel } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { ordinalsOf } from '../../trace/model/ordinals.ts';
import type { Drift, EventData } from '../../trace/schema.ts';
import type { Act, EffectResult, Outcome } from '../act/act.ts';
import { faultOf } from '../faults.ts';
import type { Subject } from '../gates/subject.ts';
import type { Log } from '../log/log.ts';
import type { LoggedMessage } from '../log/messages.ts';
import type { TokenChain } from '../log/tokens.ts';
import type { Message, ModelClient, ModelReply, ModelRequest, PendingBlob, Recorder } from '../ports.ts';
import type { Stop } from '../stop.ts';
import { roundMs, type Time } from '../time.ts';
import { type ModelTools, NO_TOOLS } from '../tools/toolSet.ts';
import { type Context, rangesOf } from './context.ts';
import type { Stopwatch } from './limits.ts';

export interface ModelCallerParts {
  readonly act: Act;
  readonly log: Log;
  readonly recorder: Recorder;
  readonly stop: Stop;
  readonly watch: Stopwatch;
  readonly time: Time;
  /** Returns the number of the rollout's next step; for a side model, that of the step that contains the call. */
  nextStep(): number;
  readonly rolloutSeed: number;
  /** Returns the version of the weights that an endpoint serves, if it was announced. */
  weightsOf?(endpoint: string): string | undefined;
  chooseEndpoint?(endpoints: readonly string[], current: string): string;
}

export interface ModelCallerAgent {
  /** Instance path. */
  readonly path: string;
  /** For a side model: which one. */
  readonly side?: string;
  readonly client: ModelClient;
  readonly model: SubmittedModel;
  readonly tokens: TokenChain;
  /** For a team member: seq of its `agent.start`; for a side model: seq of the `tool.start` that contains its calls. */
  readonly parent?: number | undefined;
  /** For a side model inside a tool call: seq of that call as it was recorded. */
  readonly within?: number;
  /** Inside a tool call: see `PrefixRequest`. */
  readonly inOrder?: boolean;
  /** For a side model: the agent whose step contains its calls. */
  readonly caller?: string;
  /** Ends its calls before the rollout ends. */
  readonly stop?: Stop;
  /** Converts its context for the model. Default: unchanged. */
  readonly show?: (messages: readonly LoggedMessage[]) => readonly Message[];
  /** Converts the reply to the message that is logged. */
  readonly reply: (reply: ModelReply) => NonNullable<Outcome<'model'>['message']>;
  /** If set, why none of its calls can be used for training. */
  readonly whyNot?: string;
}

/** Makes the model calls of one agent or side model. */
export class ModelCaller {
  readonly #parts: ModelCallerParts;
  readonly #agent: ModelCallerAgent;
  readonly #sampling: JsonObject;
  #calls = 0;
  #step = 0;
  #endpoint: string;
  /** Messages of the last call whose tokens were captured, with its reply. */
  #captured: readonly number[] = [];
  /** Tool lists whose text is already stored. */
  readonly #stored = new Set<string>();

  constructor(parts: ModelCallerParts, agent: ModelCallerAgent) {
    this.#parts = parts;
    this.#agent = agent;
    const { endpoints, sampling } = agent.model;
    this.#sampling = Object.fromEntries(
      Object.entries(sampling).filter(([, value]) => value !== undefined),
    ) as JsonObject;
    this.#endpoint = endpoints[parts.rolloutSeed % endpoints.length] ?? '';
  }

  /** Number of calls that this agent made. */
  get calls(): number {
    return this.#calls;
  }

  /** The step of the latest call. */
  get step(): number {
    return this.#step;
  }

  /** Makes one call with the context, without adding the reply to it. A failed call is an `end` with an error. */
  async call(
    context: Context,
    tools: ModelTools = NO_TOOLS,
  ): Promise<EffectResult<'model'> & { readonly end: EventData['model.end'] }> {
    const { act, rolloutSeed } = this.#parts;
    const { path, side, model, tokens, parent, within, inOrder, caller, stop } = this.#agent;
    const seed = seedOf(rolloutSeed, path, ++this.#calls);
    const done = await act.one<'model'>({
      kind: 'model',
      agent: path,
      name: 'model',
      step: 0,
      parent,
      within,
      inOrder,
      caller,
      stop,
      key: (before) => context.key(before),
      isNew: (m) => context.isNew(m),
      start: (again) => {
        const step = (side === undefined ? again?.start.step : undefined) ?? this.#parts.nextStep();
        const { endpoints } = model;
        this.#endpoint = this.#parts.chooseEndpoint?.(endpoints, this.#endpoint) ?? this.#endpoint;
        context.insertInjected();
        const weights = this.#parts.weightsOf?.(this.#endpoint);
        const data: EventData['model.start'] = {
          step,
          ...(side === undefined ? {} : { side }),
          model: model.name,
          endpoint: this.#endpoint,
          context: rangesOf(context.view()),
          sampling: { ...this.#sampling, seed },
          ...(tools.specs.length === 0 ? {} : { tools: tools.sha }),
          ...(weights === undefined ? {} : { weights }),
        };
        return { data, blobs: this.#blobsOf(tools) };
      },
      perform: (start, subject) => this.#perform(context, tools, start, subject),
    });
    if (done.end === undefined) throw new Error('a model call always has an end');
    this.#step = done.start.step;
    if (done.recorded) tokens.recorded(done.span, done.end.tokens);
    if (done.end.tokens !== undefined)
      this.#captured = [...ordinalsOf(done.start.context), ...(done.end.m === undefined ? [] : [done.end.m])];
    context.insertInjected(done.endSeq);
    return { ...done, end: done.end };
  }

  #blobsOf(tools: ModelTools): PendingBlob[] {
    if (tools.specs.length === 0 || this.#stored.has(tools.sha)) return [];
    this.#stored.add(tools.sha);
    return [tools.blob];
  }

  async #perform(
    context: Context,
    tools: ModelTools,
    start: EventData['model.start'],
    subject: Subject<'model'>,
  ): Promise<Outcome<'model'>> {
    const { stop, time } = this.#parts;
    const { tokens } = this.#agent;
    const ready = tokens.ready();
    const began = time.monotonic();
    try {
      stop.check();
      const reply = await this.#complete(context, tools, start, subject.span);
      await ready;
      const written = reply.tokens === undefined ? undefined : tokens.write(subject.span, reply.tokens);
      const drift = written?.differs === undefined ? undefined : await this.#driftOf(start, written.differs);
      return {
        message: this.#agent.reply(reply),
        end: {
          ...endOf(reply, start.weights, this.#agent.whyNot),
          ...(written === undefined ? {} : { tokens: written.ref }),
          ...(drift === undefined ? {} : { drift }),
        },
        ...(written === undefined ? {} : { blobs: [written.blob] }),
      };
    } catch (thrown) {
      const error = stop.reason ?? modelFault(thrown);
      return {
        end: {
          status: 'error',
          ms: roundMs(time.monotonic() - began),
          trainable: false,
          why_not: 'the call failed',
          source: 'live',
          error: error.toTrace(),
        },
      };
    }
  }

  /** Returns what differs although the messages continue those of the call before; undefined if they do not. */
  async #driftOf(start: EventData['model.start'], { at, was, is }: Drift): Promise<Drift | undefined> {
    const messages = ordinalsOf(start.context);
    if (this.#captured.some((m, index) => messages[index] !== m)) return undefined;
    const { client } = this.#agent;
    const tokens = [was, is].filter((token) => token !== undefined);
    const endpoint = start.endpoint ?? this.#endpoint;
    const decoded = await client.decode?.(
      tokens.map(({ id }) => id),
      endpoint,
      this.#parts.stop.signal,
    );
    const texts = new Map(tokens.map(({ id }, index) => [id, decoded?.[index]]));
    const named = (token: Drift['was']): Drift['was'] => {
      const text = token === undefined ? undefined : texts.get(token.id);
      return token === undefined || text === undefined ? token : { id: token.id, text };
    };
    return { at, ...(was === undefined ? {} : { was: named(was) }), ...(is === undefined ? {} : { is: named(is) }) };
  }

  async #complete(
    context: Context,
    tools: ModelTools,
    start: EventData['model.start'],
    span: number,
  ): Promise<ModelReply> {
    const { act, stop, watch, recorder, log } = this.#parts;
    const { client, model, show, path } = this.#agent;
    const { seed, ...sampling } = start.sampling;
    const messages = context.view();
    const request: ModelRequest = {
      endpoint: start.endpoint ?? this.#endpoint,
      model: start.model ?? model.name,
      messages: show === undefined ? messages : show(messages),
      tools: tools.specs,
      sampling, // as configured; an edit at the gate may say anything, and the endpoint judges it
      seed: typeof seed === 'number' ? seed : 0,
      capture: model.capture,
    };
    let waiting = false;
    const onWait = (on: boolean): void => {
      if (on === waiting) return;
      waiting = on;
      watch.setWaiting(on);
      act.setWaiting(span, on);
    };
    let requestAt = 0;
    const onRequest = (how: 'begins' | 'aborted'): void => {
      if (how === 'begins') requestAt = watch.activeMs;
      else watch.discount(requestAt);
    };
    const onDelta = (text: string): void => {
      if (!log.closed) recorder.delta(span, text);
    };
    try {
      const caller = { path, call: this.#calls };
      const watched = (): boolean => recorder.watched === true;
      const context = { signal: stop.signal, caller, watched, onDelta, onWait, onRequest };
      return await stop.race(client.complete(request, context));
    } finally {
      onWait(false);
      waiting = true; // ignores late calls by a reply that nobody waits for
    }
  }
}

/**
 * Any error without a class is an internal fault, not the agent's. Only the rollout itself can be cancelled or reach a
 * limit, or a recording where it did (`fatal`).
 */
function modelFault(thrown: unknown): ClassedError {
  const error = faultOf(thrown, 'model_error', 'infrastructure');
  return error.class === 'cancelled' || (error.class === 'limit' && !error.fatal)
    ? new ClassedError('infrastructure', error.message, { cause: error })
    : error;
}

function endOf(reply: ModelReply, began: string | undefined, whyNot: string | undefined): EventData['model.end'] {
  const { from, to } = reply.weights ?? {};
  const why = whyNot ?? reply.whyNot ?? (reply.tokens === undefined ? 'the token IDs were not captured' : undefined);
  return {
    status: 'ok',
    finish_reason: reply.finishReason,
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    ms: roundMs(reply.ms),
    ...(reply.queueMs === undefined ? {} : { queue_ms: roundMs(reply.queueMs) }),
    ...(reply.firstMs === undefined ? {} : { first_ms: roundMs(reply.firstMs) }),
    ...(reply.retries.length === 0 ? {} : { retries: [...reply.retries] }),
    ...(reply.pause === undefined ? {} : { paused_ms: roundMs(reply.pause.ms) }),
    ...(reply.pause === undefined || reply.pause.aborted === 0 ? {} : { aborted: reply.pause.aborted }),
    ...(reply.pause?.of === undefined ? {} : { pause: reply.pause.of }),
    ...(reply.yielded === undefined ? {} : { waited_ms: roundMs(reply.yielded.ms), waited_for: reply.yielded.to }),
    ...(to === undefined ? {} : { weights: to }),
    // Those that replaced them in flight are in `weights`.
    ...(from === undefined || (from === began && from === to) ? {} : { weights_from: from }),
    trainable: why === undefined,
    ...(why === undefined ? {} : { why_not: why }),
    source: reply.source ?? 'live',
  };
}
