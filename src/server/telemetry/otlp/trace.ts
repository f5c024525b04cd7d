/**
 * A finished rollout as an OpenTelemetry trace: rollout > agent > step > model and tool calls, named by the GenAI
 * semantic conventions (`gen_ai.*`, in development there) where they have a name, else `rollout.*`. Messages and the
 * arguments and results of tools stay in the store: the trace contains the rollout's ID.
 */

import type { RolloutRecord } from '../../../store/store.ts';
import type { ModelSpan, Span, ToolSpan } from '../../../trace/model/spans.ts';
import type { Agent, Step } from '../../../trace/model/step.ts';
import type { TrajectoryModel } from '../../../trace/model.ts';
import type { EventOf, TraceError } from '../../../trace/schema.ts';
import {
  type Attribute,
  attributes,
  CLIENT,
  INTERNAL,
  nanos,
  type OtlpSpan,
  type SpanEvent,
  spanIdOf,
  traceIdOf,
} from './span.ts';

type Parts = Omit<OtlpSpan, 'traceId' | 'spanId' | 'startTimeUnixNano' | 'endTimeUnixNano' | 'attributes' | 'status'>;

const ROOT = 'rollout';

/** Returns the spans of a rollout. A fork's trace has only its own events and links to its parent's trace. */
export function traceOf({ row, lineage }: RolloutRecord, model: TrajectoryModel): OtlpSpan[] {
  return new Trace(row, lineage, model).spans();
}

class Trace {
  readonly #row: RolloutRecord['row'];
  readonly #lineage: RolloutRecord['lineage'];
  readonly #model: TrajectoryModel;
  /** Events up to this one belong to its parent. */
  readonly #cut: number;
  readonly #begin: number;
  readonly #end: number;
  #times: Map<string, { begin: number; end: number }> | undefined;

  constructor(row: RolloutRecord['row'], lineage: RolloutRecord['lineage'], model: TrajectoryModel) {
    this.#row = row;
    this.#lineage = lineage;
    this.#model = model;
    this.#cut = lineage.at(-1)?.to ?? 0;
    this.#begin = model.event(this.#cut + 1)?.at ?? 0;
    this.#end = model.event(model.last)?.at ?? this.#begin;
  }

  spans(): OtlpSpan[] {
    const steps = this.#model.steps.filter((step) => step.index > 0 && this.#isOwn(step.seq));
    return [
      this.#root(),
      ...this.#model.agents.filter((agent) => this.#agentTimes(agent) !== undefined).map((agent) => this.#agent(agent)),
      ...steps.map((step) => this.#step(step)),
      ...steps.flatMap(({ model }) => (model === undefined ? [] : [this.#call(model)])),
      ...this.#model.steps
        .flatMap(({ sides }) => sides.filter(({ seq }) => this.#isOwn(seq)))
        .map((side) => this.#call(side)),
      ...this.#model.tools.filter(({ seq }) => this.#isOwn(seq)).map((tool) => this.#tool(tool)),
    ];
  }

  #isOwn(seq: number): boolean {
    return seq > this.#cut;
  }

  #root(): OtlpSpan {
    const row = this.#row;
    const { progress } = row;
    const end = this.#model.end?.data;
    const fork = this.#lineage.at(-1);
    return this.#span(
      ROOT,
      { begin: this.#begin, end: this.#end },
      {
        name: 'rollout',
        kind: INTERNAL,
        events: [...this.#leases(), ...this.#scores(this.#model.scores)],
        ...(fork === undefined
          ? {}
          : { links: [{ traceId: traceIdOf(fork.rollout), spanId: spanIdOf(fork.rollout, ROOT) }] }),
      },
      {
        'rollout.id': row.rollout,
        'rollout.batch': row.batch,
        'rollout.task': row.task,
        'rollout.attempt': row.attempt,
        'rollout.try': row.try,
        'rollout.worker': row.worker,
        'rollout.status': progress.status,
        'rollout.passed': progress.passed,
        'rollout.reward': progress.reward,
        'rollout.touched': progress.touched,
        'rollout.steps': progress.steps,
        'rollout.tool_calls': progress.tool_calls,
        'rollout.cost': progress.cost,
        'rollout.side.calls': progress.side?.calls,
        'rollout.side.input_tokens': progress.side?.input_tokens,
        'rollout.side.output_tokens': progress.side?.output_tokens,
        'rollout.side.cost': progress.side?.cost,
        'rollout.parent': fork?.rollout,
        'rollout.parent.seq': fork?.to,
        'gen_ai.usage.input_tokens': progress.input_tokens,
        'gen_ai.usage.output_tokens': progress.output_tokens,
        'gen_ai.usage.cache_read.input_tokens': progress.cached_tokens,
      },
      end?.error ??
        (progress.status === 'infrastructure'
          ? { class: 'infrastructure', message: progress.error_message ?? '' }
          : undefined),
    );
  }

  #leases(): SpanEvent[] {
    return this.#model.leases
      .filter(({ seq }) => this.#isOwn(seq))
      .map(({ at, data }) => ({
        timeUnixNano: nanos(at),
        name: 'rollout.lease',
        attributes: attributes({
          'rollout.worker': data.worker,
          'rollout.epoch': data.epoch,
          'rollout.lease.how': data.how,
        }),
      }));
  }

  #scores(scores: readonly EventOf<'score'>[]): SpanEvent[] {
    return scores
      .filter(({ seq }) => this.#isOwn(seq))
      .map(({ at, data }) => ({
        timeUnixNano: nanos(at),
        name: 'gen_ai.evaluation.result',
        attributes: attributes({
          'gen_ai.evaluation.name': data.scorer,
          'gen_ai.evaluation.score.value': data.value,
          'gen_ai.evaluation.score.label': data.passed === null ? undefined : data.passed ? 'passed' : 'failed',
          'error.type': data.error?.class,
        }),
      }));
  }

  #agent(agent: Agent): OtlpSpan {
    const { path, span } = agent;
    const name = agentName(path);
    return this.#span(
      agentKey(path),
      this.#agentTimes(agent) ?? { begin: this.#begin, end: this.#end },
      {
        parentSpanId: this.#id(this.#parentOfAgent(agent)),
        name: name === undefined ? 'invoke_agent' : `invoke_agent ${name}`,
        kind: INTERNAL,
      },
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': name,
        'gen_ai.agent.id': path === '' ? undefined : path,
        'gen_ai.conversation.id': this.#row.rollout,
        'rollout.agent.how': span?.start.data.how,
      },
      span?.end?.data.error,
    );
  }

  /** Returns the call that started an agent, or else the agent it belongs to. */
  #parentOfAgent({ path, span }: Agent): string {
    const caller = span === undefined || span.parent === 0 ? undefined : this.#model.span(span.parent);
    if (caller !== undefined && caller.kind !== 'agent' && this.#has(caller)) return callKey(caller);
    const above = path.includes('/') ? this.#model.agent(path.slice(0, path.lastIndexOf('/'))) : undefined;
    return above === undefined || this.#agentTimes(above) === undefined ? ROOT : agentKey(above.path);
  }

  /** Returns the time from its first own event to the end of its last call; undefined if it did nothing here. */
  #agentTimes({ path, span }: Agent): { begin: number; end: number } | undefined {
    const times = this.#timesByAgent().get(path);
    if (times === undefined || span?.end === undefined) return times;
    return { begin: times.begin, end: Math.max(times.end, span.end.at) };
  }

  #timesByAgent(): Map<string, { begin: number; end: number }> {
    if (this.#times !== undefined) return this.#times;
    const times = new Map<string, { begin: number; end: number }>();
    const take = (span: Span | undefined): void => {
      if (span === undefined || !this.#isOwn(span.seq)) return;
      const { begin, end } = this.#timesOf(span);
      const existing = times.get(span.agent);
      if (existing === undefined) times.set(span.agent, { begin, end });
      else {
        existing.begin = Math.min(existing.begin, begin);
        existing.end = Math.max(existing.end, end);
      }
    };
    for (const { model, tools } of this.#model.steps) {
      take(model);
      tools.forEach(take);
    }
    for (const { span } of this.#model.agents) take(span);
    this.#times = times;
    return times;
  }

  #step(step: Step): OtlpSpan {
    const calls = [...(step.model === undefined ? [] : [step.model]), ...step.tools]
      .filter(({ seq }) => this.#isOwn(seq))
      .map((span) => this.#timesOf(span));
    const begin = this.#model.event(step.seq)?.at ?? this.#begin;
    const failed = step.tools.filter((tool) => tool.end?.data.status === 'error').length;
    return this.#span(
      stepKey(step),
      { begin, end: Math.max(begin, ...calls.map(({ end }) => end)) },
      {
        parentSpanId: this.#id(this.#agentKeyOf(step.agent)),
        name: 'step',
        kind: INTERNAL,
      },
      {
        'rollout.step': step.index,
        'rollout.step.tool_calls': step.tools.length,
        'rollout.step.failed_tool_calls': failed,
      },
    );
  }

  #call(span: ModelSpan): OtlpSpan {
    const { model, endpoint, sampling } = span.start.data;
    const end = span.end?.data;
    const server = URL.parse(endpoint ?? '');
    const http = server !== null && /^https?:$/.test(server.protocol);
    const number = (name: string): number | undefined =>
      typeof sampling[name] === 'number' ? sampling[name] : undefined;
    const stop = sampling['stop'];
    return this.#span(
      callKey(span),
      this.#timesOf(span),
      {
        parentSpanId: this.#id(this.#parentOfCall(span)),
        name: model === undefined ? 'chat' : `chat ${model}`,
        kind: CLIENT,
      },
      {
        'gen_ai.operation.name': 'chat',
        // The protocol in use. The actual provider is unknown.
        'gen_ai.provider.name': http || endpoint === undefined ? 'openai' : 'rollout.demo',
        'gen_ai.request.model': model,
        'gen_ai.conversation.id': this.#row.rollout,
        'gen_ai.request.temperature': number('temperature'),
        'gen_ai.request.top_p': number('top_p'),
        'gen_ai.request.top_k': number('top_k'),
        'gen_ai.request.max_tokens': number('max_tokens') ?? number('max_completion_tokens'),
        'gen_ai.request.seed': number('seed'),
        'gen_ai.request.frequency_penalty': number('frequency_penalty'),
        'gen_ai.request.presence_penalty': number('presence_penalty'),
        'gen_ai.request.stop_sequences':
          typeof stop === 'string'
            ? [stop]
            : Array.isArray(stop)
              ? stop.filter((text) => typeof text === 'string')
              : undefined,
        'server.address': http ? server.hostname : undefined,
        'server.port': http
          ? Number(server.port === '' ? (server.protocol === 'https:' ? 443 : 80) : server.port)
          : undefined,
        'gen_ai.response.finish_reasons': end?.finish_reason === undefined ? undefined : [end.finish_reason],
        'gen_ai.response.time_to_first_chunk': seconds(end?.first_ms),
        'gen_ai.usage.input_tokens': end?.usage?.input_tokens,
        'gen_ai.usage.output_tokens': end?.usage?.output_tokens,
        'gen_ai.usage.cache_read.input_tokens': end?.usage?.cached_tokens,
        'gen_ai.usage.reasoning.output_tokens': end?.usage?.reasoning_tokens,
        'rollout.seq': span.seq,
        'rollout.side': span.start.data.side,
        'rollout.source': end?.source,
        'rollout.retries': end?.retries?.length,
        'rollout.queue_seconds': seconds(end?.queue_ms),
        'rollout.paused_seconds': seconds(end?.paused_ms),
        'rollout.waited_seconds': seconds(end?.waited_ms),
      },
      end?.error,
    );
  }

  #tool(span: ToolSpan): OtlpSpan {
    const { name, call, effect } = span.start.data;
    const end = span.end?.data;
    return this.#span(
      callKey(span),
      this.#timesOf(span),
      {
        parentSpanId: this.#id(this.#parentOfCall(span)),
        name: `execute_tool ${name}`,
        kind: INTERNAL,
        events: this.#scores(this.#model.scoresOf(span.seq)),
      },
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': call,
        'gen_ai.tool.type': 'function',
        'gen_ai.agent.name': agentName(span.agent),
        'rollout.seq': span.seq,
        'rollout.tool.effect': effect,
        'rollout.source': end?.source,
      },
      end?.error,
    );
  }

  /**
   * Returns the parent span of a call: the enclosing tool call, or else its step. A side model's call that is not in a
   * tool call is beside the steps.
   */
  #parentOfCall(span: ModelSpan | ToolSpan): string {
    const outer = span.parent === 0 ? undefined : this.#model.span(span.parent);
    const isSide = span.kind === 'model' && span.start.data.side !== undefined;
    if (outer?.kind === 'tool' && this.#has(outer) && (isSide || outer.agent === span.agent)) return callKey(outer);
    if (isSide) return ROOT;
    const step = span.step === 0 ? undefined : this.#model.step(span.step);
    return step !== undefined && this.#isOwn(step.seq) ? stepKey(step) : this.#agentKeyOf(span.agent);
  }

  #has(span: Span): span is ModelSpan | ToolSpan {
    return this.#isOwn(span.seq) && (span.kind === 'model' || span.kind === 'tool');
  }

  #agentKeyOf(path: string): string {
    return this.#timesByAgent().has(path) ? agentKey(path) : ROOT;
  }

  /** Returns the times of a span. A span without an end was cut off by the end of the rollout. */
  #timesOf(span: Span): { begin: number; end: number } {
    const begin = span.start.at;
    return { begin, end: Math.max(begin, span.end?.at ?? this.#end) };
  }

  #id(key: string): string {
    return spanIdOf(this.#row.rollout, key);
  }

  #span(
    key: string,
    times: { readonly begin: number; readonly end: number },
    parts: Parts,
    values: Readonly<Record<string, Attribute>>,
    error?: TraceError,
  ): OtlpSpan {
    return {
      traceId: traceIdOf(this.#row.rollout),
      spanId: this.#id(key),
      ...parts,
      startTimeUnixNano: nanos(times.begin),
      endTimeUnixNano: nanos(times.end),
      attributes: attributes({ ...values, 'error.type': error?.class }),
      ...(error === undefined ? {} : { status: { code: 2, message: error.message } }),
    };
  }
}

/** Returns the name in an agent's path: `searcher` for `desk/searcher#2`. */
function agentName(path: string): string | undefined {
  const name = /([^/#]*)(?:#\d+)?$/.exec(path)?.[1];
  return name === '' ? undefined : name;
}

function agentKey(path: string): string {
  return `agent ${path}`;
}

function stepKey({ index }: Step): string {
  return `step ${index}`;
}

function callKey({ seq }: ModelSpan | ToolSpan): string {
  return `call ${seq}`;
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
