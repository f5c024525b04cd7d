/** Steps, agents and failures as the model hands them out. */
import type { TraceError } from '../schema.ts';
import type { AgentSpan, ModelSpan, ToolSpan } from './spans.ts';

/** One model call and what it asked for; step 0 is what came before the first. */
export interface Step {
  readonly index: number;
  /** seq of its `model.start`; 1 for step 0. */
  readonly seq: number;
  readonly agent: string;
  readonly model?: ModelSpan;
  readonly tools: readonly ToolSpan[];
  /** seqs of all its events. Not one range where agents run at the same time. */
  readonly seqs: readonly number[];
}

/** One agent instance. */
export interface Agent {
  /** `desk/searcher#2`; '' in streams that name no agents. */
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
