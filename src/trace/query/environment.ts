/** Creates the variables of expressions: for an event of a trajectory, a rollout at a gate, and a row of a batch. */
import type { Json } from '../../common/json.ts';
import { rewardOf } from '../callReward.ts';
import { repeatsOf } from '../calls.ts';
import { toObservation } from '../control/observation.ts';
import { type RolloutState, stateAt } from '../fold.ts';
import { textOf } from '../model/messages.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { AnyEvent, TrajectoryModel } from '../model.ts';
import type { Change, EventOf, Part } from '../schema.ts';
import type { RolloutRow } from '../summary.ts';
import type { TaskRecord } from '../task.ts';
import { unescapeKeys } from '../values/keys.ts';
import type { QueryEnvironment, Values } from './vocabulary.ts';

const EMPTY: Values = {};

/**
 * Returns the variables at an event of a trajectory, computed lazily. `task`: the task, if available.
 */
export function environmentOf(model: TrajectoryModel, seq: number, task?: TaskRecord): QueryEnvironment {
  const state = lazy(() => stateAt(model, seq));
  const event = model.event(seq);
  const span = lazy(() => toolSpanOf(model, event));
  const tool = lazy(() => {
    const call = span();
    return call === undefined ? EMPTY : toolValues(model, call, seq);
  });
  const message = lazy(() => messageAt(model, event));
  return {
    event: (event ?? EMPTY) as Values, // an event is a record of JSON
    step: model.stepOf(seq)?.index ?? 0,
    agent: event?.agent ?? '',
    get side() {
      return event === undefined ? '' : (model.sideOf(event) ?? '');
    },
    attempt: model.start?.data.attempt ?? 0,
    part: model.start?.data.part ?? '',
    everything: event,
    get task() {
      return taskValues(task, model.start?.data.task);
    },
    get tool() {
      return tool();
    },
    get message() {
      return message();
    },
    get observation() {
      return observationAt(model, event, span());
    },
    get usage() {
      return usageValues(state().usage);
    },
    get world() {
      return { changes: changesAt(model, event, span()), outcome: outcomeAt(model, seq) };
    },
    get reward() {
      return state().reward;
    },
    verdicts: EMPTY,
    get status() {
      return state().status;
    },
  };
}

/** An effect at one of its gates in a running rollout. Absent fields do not apply. */
export interface Gate {
  readonly side: 'before' | 'after';
  /** The start (before) or the end (after). */
  readonly event: {
    readonly seq: number;
    readonly kind: string;
    readonly data: unknown;
    readonly agent?: string | undefined;
    readonly span?: number | undefined;
    readonly at?: number;
  };
  readonly step: number;
  /** Instance path. */
  readonly agent: string;
  /** Of a side model's call. */
  readonly sideModel?: string | undefined;
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Of the mix. */
  readonly part?: string | undefined;
  readonly tool?:
    | {
        readonly name: string;
        readonly arguments: Json;
        readonly effect: string;
        readonly result?: Json | undefined;
        readonly error?: Json | undefined;
        readonly ms?: number | undefined;
        readonly repeats: number;
        readonly injected?: string | undefined;
        readonly made?: false | undefined;
        readonly source?: string | undefined;
      }
    | undefined;
  /** The message that the effect produced. */
  readonly message?:
    | { readonly m: number; readonly role: string; readonly origin: string; readonly parts: readonly Part[] }
    | undefined;
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cached_tokens?: number | undefined;
  };
  /** What the agent sees of a tool call that has ended. */
  readonly observation?: Json | undefined;
  readonly changes?: readonly Change[] | undefined;
  readonly reward?: number | null;
}

/** Returns the variables at a gate, from values that are not stored yet, so that their keys are not escaped. */
export function gateEnvironment(gate: Gate): QueryEnvironment {
  return new GateEnvironment(gate);
}

/** A class, because an object literal with getters costs more to create, and conditions create one at every gate. */
class GateEnvironment implements QueryEnvironment {
  readonly #gate: Gate;
  readonly status = 'running';
  readonly verdicts = EMPTY;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  get event(): Values {
    return this.#gate.event;
  }

  get step(): number {
    return this.#gate.step;
  }

  get agent(): string {
    return this.#gate.agent;
  }

  get side(): string {
    return this.#gate.sideModel ?? '';
  }

  get attempt(): number {
    return this.#gate.attempt;
  }

  get part(): string {
    return this.#gate.part ?? '';
  }

  get reward(): number | null {
    return this.#gate.reward ?? null;
  }

  get everything(): unknown {
    const { event, tool, message, changes } = this.#gate;
    return [event, tool, message, changes];
  }

  get task(): Values {
    return taskValues(this.#gate.task, this.#gate.task.id);
  }

  get tool(): Values {
    const { tool } = this.#gate;
    if (tool === undefined) return EMPTY;
    return {
      name: tool.name,
      arguments: tool.arguments,
      effect: tool.effect,
      result: tool.result ?? null,
      error: tool.error ?? null,
      ms: tool.ms ?? null,
      reward: null,
      prediction: null,
      repeats: tool.repeats,
      injected: tool.injected ?? '',
      made: tool.made ?? true,
      source: tool.source ?? '',
    };
  }

  get message(): Values {
    const { message } = this.#gate;
    return message === undefined ? EMPTY : messageValues(message);
  }

  get observation(): Values {
    const { observation, tool } = this.#gate;
    return observation === undefined ? EMPTY : observationValues(observation, tool?.error != null);
  }

  get usage(): Values {
    return usageValues(this.#gate.usage ?? { input_tokens: 0, output_tokens: 0 });
  }

  get world(): Values {
    return { changes: this.#gate.changes ?? [], outcome: '' };
  }
}

/** Returns the variables of a whole rollout, for filters: `step` is the number of steps, `usage` the total. */
export function rowEnvironment(row: RolloutRow, task?: TaskRecord): QueryEnvironment {
  return {
    event: EMPTY,
    step: row.progress.steps,
    tool: EMPTY,
    message: EMPTY,
    observation: EMPTY,
    agent: '',
    side: '',
    attempt: row.attempt,
    part: row.progress.part ?? '',
    usage: usageValues(row.progress),
    world: { changes: [], outcome: row.progress.world_outcome ?? '' },
    reward: row.progress.reward ?? null,
    verdicts: row.progress.verdicts ?? EMPTY,
    status: row.state === 'ended' ? (row.progress.status ?? 'done') : row.state,
    everything: [row, task],
    get task() {
      return taskValues(task, row.task);
    },
  };
}

function lazy<T>(create: () => T): () => T {
  let cached: { readonly value: T } | undefined;
  return () => (cached ??= { value: create() }).value;
}

function toolSpanOf(model: TrajectoryModel, event: AnyEvent | undefined): ToolSpan | undefined {
  if (event === undefined) return undefined;
  const span = model.span(event.seq) ?? (event.span === undefined ? undefined : model.span(event.span));
  return span?.kind === 'tool' ? span : undefined;
}

function toolValues(model: TrajectoryModel, span: ToolSpan, seq: number): Values {
  const end = span.end !== undefined && span.end.seq <= seq ? span.end.data : undefined;
  const result = end === undefined ? undefined : model.resultOf(span)?.value;
  const scores = model.scoresOf(span.seq).filter((score) => score.seq <= seq);
  return {
    name: span.start.data.name,
    arguments: unescapeKeys(model.argumentsOf(span).value),
    effect: span.start.data.effect,
    result: result === undefined ? null : unescapeKeys(result),
    error: end?.error ?? null,
    ms: end?.ms ?? null,
    reward: rewardOf(scores)?.data.value ?? null,
    prediction: scores.findLast(({ data }) => data.prediction !== undefined)?.data.value ?? null,
    injected: end?.injected ?? '',
    made: end?.made ?? true,
    source: end?.source ?? '',
    get repeats() {
      return repeatsOf(model, span);
    },
  };
}

function messageAt(model: TrajectoryModel, event: AnyEvent | undefined): Values {
  if (event === undefined || 'unknown' in event) return EMPTY;
  if (event.kind === 'message') return messageValues(event.data);
  if (event.kind !== 'model.end' && event.kind !== 'tool.end' && event.kind !== 'agent.end') return EMPTY;
  const entry = event.data.m === undefined ? undefined : model.message(event.data.m);
  return entry === undefined ? EMPTY : messageValues(entry.event.data);
}

function observationAt(model: TrajectoryModel, event: AnyEvent | undefined, span: ToolSpan | undefined): Values {
  if (event === undefined || 'unknown' in event || event.kind !== 'tool.end' || event.data.m === undefined)
    return EMPTY;
  const parts = model.message(event.data.m)?.event.data.parts ?? [];
  const part = parts.find(({ type }) => type === 'tool_call_response');
  return part?.type === 'tool_call_response' && span !== undefined
    ? observationValues(unescapeKeys(part.response), event.data.error !== undefined)
    : EMPTY;
}

function observationValues(response: Json, isError: boolean): Values {
  return { ...toObservation(response, isError) };
}

function messageValues(
  data: Pick<EventOf<'message'>['data'], 'm' | 'from' | 'to' | 'topic'> & {
    readonly role: string;
    readonly origin: string;
    readonly parts: readonly Part[];
  },
): Values {
  return {
    m: data.m,
    role: data.role,
    origin: data.origin,
    text: textOf(data.parts),
    reasoning: textOf(data.parts, 'reasoning'),
    calls: data.parts.flatMap((part) =>
      part.type === 'tool_call' ? [{ name: part.name, arguments: unescapeKeys(part.arguments) }] : [],
    ),
    parts: data.parts,
    from: data.from ?? null,
    to: data.to ?? null,
    topic: data.topic ?? null,
  };
}

function changesAt(
  model: TrajectoryModel,
  event: AnyEvent | undefined,
  tool: ToolSpan | undefined,
): readonly unknown[] {
  if (event === undefined || 'unknown' in event) return [];
  const diffs =
    event.kind === 'world.diff'
      ? [event]
      : tool === undefined
        ? []
        : model.diffsOf(tool.seq).filter((diff) => diff.seq <= event.seq || event.kind === 'tool.end');
  return diffs.flatMap((diff) => diff.data.changes.map((change) => unescapeKeys(change as Json))); // a change is JSON
}

function outcomeAt(model: TrajectoryModel, seq: number): string {
  return model.scores.findLast((score) => score.span === undefined && score.seq <= seq)?.data.outcome ?? '';
}

function taskValues(task: TaskRecord | undefined, id: string | undefined): Values {
  if (task === undefined) return { id: id ?? '' };
  return { ...task, answer: task.answer ?? null, level: task.level ?? null, files: task.files ?? [] };
}

function usageValues(
  usage: Pick<RolloutState['usage'], 'input_tokens' | 'output_tokens'> & {
    readonly cached_tokens?: number | undefined;
  },
): Values {
  return {
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cached_tokens: usage.cached_tokens ?? 0,
  };
}
