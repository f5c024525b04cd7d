/** A compact record of a tool call, so that the calls of a whole batch fit into memory. */
import type { Json } from '../../common/json.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { Source, TraceError } from '../schema.ts';

export interface CallFact {
  readonly rollout: string;
  /** Of its start: `ROLLOUT@SEQ` is its name. */
  readonly seq: number;
  readonly step: number;
  readonly tool: string;
  /** When it began; says only the order in a stream without times. */
  readonly at: number;
  /** Absent while it runs, and where the source does not tell. */
  readonly ms: number | undefined;
  readonly open: boolean;
  readonly source: Source | undefined;
  readonly error: TraceError | undefined;
  /** As stored: keys escaped, long values as references. Absent once there are too many calls to keep them. */
  readonly values: CallValues | undefined;
}

interface CallValues {
  readonly arguments: Json;
  readonly result: Json | undefined;
}

/** The calls of this very rollout, in order of their start: what a fork shares with its parent is the parent's. */
export function callFacts(model: TrajectoryModel, rollout: string): CallFact[] {
  const shared = model.start?.data.fork?.seq ?? 0;
  return model.tools.filter(({ seq }) => seq > shared).map((span) => factOf(model, span, rollout));
}

function factOf(model: TrajectoryModel, span: ToolSpan, rollout: string): CallFact {
  const end = span.end?.data;
  return {
    rollout,
    seq: span.seq,
    step: span.step,
    tool: span.start.data.name,
    at: span.start.at,
    ms: end?.ms,
    open: end === undefined,
    source: end?.source,
    error: end?.error,
    values: { arguments: span.start.data.raw ?? model.argumentsOf(span).value, result: model.resultOf(span)?.value },
  };
}

export function withoutValues(fact: CallFact): CallFact {
  return fact.values === undefined ? fact : { ...fact, values: undefined };
}

/** Newest first; of those that began at the same time the one further down its trajectory. */
export function newestFirst(a: CallFact, b: CallFact): number {
  return b.at - a.at || (a.rollout === b.rollout ? b.seq - a.seq : a.rollout < b.rollout ? 1 : -1);
}
