/** What a rollout is told to do, and what it is given to do it with. */
import type { ForkEdit, Submission, SubmittedAgent, SubmittedModel } from '../config/submission.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { TraceEvent } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { Clock, ModelClient, Recorder, Scorer, Slot, ToolHost, World } from './ports.ts';
import type { Time } from './time.ts';

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
  /** `fresh`: this rollout has no event of its own yet (a fork still has a prefix). */
  readonly how: 'fresh' | 'resumed';
  /** Secrets put in. Only read: one object may serve all rollouts of a batch. */
  readonly submission: Submission;
  /** Of the submission as it was sent, without secrets. Absent: taken from `submission`. */
  readonly shas?: { readonly config: string; readonly code: string };
  /** Where a fork's own events begin: behind `seq` of `rollout`. */
  readonly fork?: { readonly rollout: string; readonly seq: number };
  /** What a fork begins with; written by its first holder. */
  readonly edits: readonly ForkEdit[];
  /** Events 1..last, lineage included. Read once. */
  readonly prefix: Iterable<TraceEvent>;
  /** Last durable seq, lineage included; 0 = nothing. */
  readonly last: number;
  /** It was held when its worker was lost: it is held again at the same gate. */
  readonly held: boolean;
  readonly breakpoints: readonly Breakpoint[];
  readonly paused: boolean;
}

/** The most rollouts of one worker that breakpoints may hold at once. */
export const MAX_BREAKPOINT_HOLDS = 8;

/** Counts the breakpoint holds of a worker (`MAX_BREAKPOINT_HOLDS`). */
export interface HoldPermits {
  /** False when there are enough already. */
  take(): boolean;
  give(): void;
}

export interface RolloutPorts {
  /** Of the agent that the submission names. */
  readonly model: ModelClient;
  /** Of a member of its team. Absent: `model` for all. */
  modelOf?(model: SubmittedModel): ModelClient;
  /** The simulated user's, when the submission's world has one. */
  readonly user?: ModelClient;
  /** An agent's own tools. Throws ClassedError. */
  openTools(signal: AbortSignal, agent: SubmittedAgent): Promise<ToolHost>;
  readonly world?: World;
  readonly scorer: Scorer;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly slot: Slot;
  /** Asks whether this rollout is the first to match a `once` breakpoint. */
  claim(breakpoint: string): Promise<boolean>;
  readonly holdPermits: HoldPermits;
  /** Which replica to ask; `current` is the one asked last. Absent: one for the whole rollout, spread by its seed. */
  chooseEndpoint?(endpoints: readonly string[], current: string): string;
  /** sha256 as lower-case hex; a platform's own is faster than the portable one. */
  readonly sha256?: (data: string | Uint8Array) => string;
  readonly time?: Time;
  /**
   * Takes secrets out of a text. The recorder does so with all it is given; messages are cleaned before they are
   * used, too, or a resumed rollout would see other messages than the one before it. Absent: there are none.
   */
  readonly redact?: (text: string) => string;
}
