/** Steps, agents, and failures of a trajectory. */
import type { TraceError } from '../schema.ts';
import type { AgentSpan, ModelSpan, ToolSpan } from './spans.ts';

/**
 * One model call of an agent and the tool calls that it requested. Step 0 is everything before step 1. Calls of side
 * models are not steps; each belongs to the step that contains it.
 */
export interface Step {
  readonly index: number;
  /** seq of its `model.start`; 1 for step 0. */
  readonly seq: number;
  readonly agent: string;
  readonly model?: ModelSpan;
  readonly tools: readonly ToolSpan[];
  /** Calls of side models in it. */
  readonly sides: readonly ModelSpan[];
  /** seqs of all its events. They may be interleaved with other steps if agents run in parallel. */
  readonly seqs: readonly number[];
}

/** One agent instance, or a side model. */
export interface Agent {
  /** Instance path, such as `desk/searcher#2`; '' in streams without agents. */
  readonly path: string;
  readonly firstSeq: number;
  /** For a side model: which one. */
  readonly side?: string;
  /** Its `agent.start`, for members of a team. */
  readonly span?: AgentSpan;
  /** seqs of its model.start events and of its messages. */
  readonly modelStarts: readonly number[];
  readonly messages: readonly number[];
}

export interface Failure {
  readonly seq: number;
  readonly step: number;
  readonly error: TraceError;
}
