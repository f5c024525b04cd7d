/** The description of a rollout and its dependencies. */
import type { Json, JsonObject } from '../common/json.ts';
import type { Redactor } from '../common/redaction/redactor.ts';
import type { ForkEdit, Submission, SubmittedAgent, SubmittedModel } from '../config/submission.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { TraceEvent } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import type {
  Clock,
  ModelClient,
  Recorder,
  Scorer,
  ShadowWorld,
  Slot,
  ToolHost,
  UntrustedWork,
  World,
} from './ports.ts';
import type { Time } from './time.ts';
import type { FunctionRule } from './tools/perturbation.ts';

/** What only scoring may know of a task. `meta`: all of it; absent if the job's task has all of it. */
export interface ScoringPart {
  readonly answer?: Json | undefined;
  readonly meta?: JsonObject | undefined;
}

export interface RolloutJob {
  readonly rollout: string;
  readonly batch: string;
  readonly task: TaskRecord;
  /** From 1. */
  readonly attempt: number;
  /** From 1. */
  readonly try: number;
  readonly epoch: number;
  readonly worker: string;
  /** `fresh`: this rollout has no own events yet (a fork may have a prefix). */
  readonly how: 'fresh' | 'resumed';
  /** With secrets resolved. Read-only: one object may be shared by all rollouts of a batch. */
  readonly submission: Submission;
  /** The part of the mix that it is of; `submission` is that of the part. */
  readonly part?: string;
  /** Hashes of the original submission, without secrets. Default: computed from `submission`. */
  readonly shas?: { readonly config: string; readonly code: string };
  /** Where a fork starts: after `seq` of `rollout`. */
  readonly fork?: { readonly rollout: string; readonly seq: number };
  /** What it scores again, instead of running the agent: a rollout whose events 1..`seq` are its prefix. */
  readonly rescores?: { readonly rollout: string; readonly seq: number };
  /** Initial edits of a fork, written by its first holder. */
  readonly edits: readonly ForkEdit[];
  /** Events 1..last, lineage included. Read once. */
  readonly prefix: Iterable<TraceEvent>;
  /** Last durable seq, lineage included; 0 = nothing. */
  readonly last: number;
  /** Whether it was held when its worker was lost, so that it is held again at the same gate. */
  readonly held: boolean;
  readonly breakpoints: readonly Breakpoint[];
  readonly paused: boolean;
}

/** Maximum number of rollouts of a worker that breakpoints hold at once. */
export const MAX_BREAKPOINT_HOLDS = 8;

/** Counts the breakpoint holds of a worker (`MAX_BREAKPOINT_HOLDS`). */
export interface HoldPermits {
  /** Returns false if the limit is reached. */
  acquire(): boolean;
  release(): void;
}

export interface RolloutPorts {
  /** Model of the main agent. */
  readonly model: ModelClient;
  /** Returns the model of a team member. Default: `model` for all. */
  modelOf?(model: SubmittedModel): ModelClient;
  /** Model of the simulated user, if the world has one. */
  readonly user?: ModelClient;
  /** Opens the tools of an agent. Throws ClassedError. */
  openTools(signal: AbortSignal, agent: SubmittedAgent): Promise<ToolHost>;
  readonly world?: World;
  /** Predicts tool calls before they are made. */
  readonly shadow?: ShadowWorld;
  /** Predicts tool calls when agents ask for it. */
  readonly lookahead?: World;
  /** Calls the function of a rule (see `Perturbation`). Absent only if no rule has one. */
  callRule?(rule: FunctionRule, input: JsonObject, signal: AbortSignal): Promise<Json>;
  readonly scorer: Scorer;
  readonly untrusted: UntrustedWork;
  /**
   * Returns what only scoring may know of the task, once the agent has ended: it is not part of the job, so that
   * nothing the agent runs can find it. Nothing of the agent is accepted after that. Rejects only if the rollout is
   * stopped or lost. Default: the job's task is complete.
   */
  partForScoring?(signal: AbortSignal): Promise<ScoringPart>;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly slot: Slot;
  /** Claims a `once` breakpoint; returns whether this rollout is the first to match it. */
  claim(breakpoint: string): Promise<boolean>;
  readonly holdPermits: HoldPermits;
  /** Selects a replica; `current` is the last one used. Default: one for the whole rollout, selected by its seed. */
  chooseEndpoint?(endpoints: readonly string[], current: string): string;
  /** Returns the version of the weights that an endpoint serves, if it was announced. */
  weightsOf?(endpoint: string): string | undefined;
  /** SHA-256 as lowercase hex. The platform's own is faster than the portable one. */
  readonly sha256?: (data: string | Uint8Array) => string;
  readonly time?: Time;
  /**
   * Removes secrets. The recorder does this for all events; messages are also redacted before they are used, so that a
   * resumed rollout sees the same messages. So is the output of tools, because it comes in pieces. Absent if there are
   * no secrets.
   */
  readonly redactor?: Redactor;
}
