/** Steps, agents, and failures of a trajectory. */
import type { TraceError } from '../schema.ts';
import type { AgentSpan, ModelSpan, ToolSpan } from './spans.ts';

/** One model call and the tool calls that it requested. Step 0 is everything before step 1. */
export interface Step {
  readonly index: number;
  /** seq of its `model.start`; 1 for step 0. */
  readonly seq: number;
  readonly agent: string;
  readonly model?: ModelSpan;
  readonly tools: readonly ToolSpan[];
  /** seqs of all its events. They may be interleaved with other steps if agents run in parallel. */
  readonly seqs: readonly number[];
}

/** One agent instance. */
export interface Agent {
  /** Instance path, such as `desk/searcher#2`; '' in streams without agents. */
  readonly path: string;
  readonly firstSeq: number;
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
