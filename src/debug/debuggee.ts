/** The interface of a debugged rollout, recorded or running. */
import type { Listen } from '../common/emitter.ts';
import type { Json } from '../common/json.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import type { BlobRef, Part, Role } from '../trace/schema.ts';
import type { Place } from '../trace/stops.ts';
import type { TaskRecord } from '../trace/task.ts';

/** Why a rollout is stopped. */
export type StopReason =
  | 'entry'
  | 'step'
  | 'breakpoint'
  | 'exception'
  | 'pause'
  | 'goto'
  | 'input'
  | 'lost_server'
  | 'end';

/** The gate at which a live rollout is held, or the end of an ended one. */
export interface Head {
  readonly reason: StopReason;
  readonly place: Place;
  readonly side: 'before' | 'after';
  /** ID of the breakpoint that holds it. */
  readonly breakpoint?: string;
}

export interface Debuggee {
  readonly rollout: string;
  readonly batch: string;
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Hash of the submission, or of the source file of an imported rollout. */
  readonly submission: string;
  readonly model: TrajectoryModel;
  /** Commands to it; undefined if it is recorded. */
  readonly live: LiveControl | undefined;
  /** Where it is held, or its end; undefined while it runs. */
  readonly head: Head | undefined;
  /** Something was recorded, or `head` changed. */
  readonly onChange: Listen<undefined>;
  readBlob(ref: BlobRef, signal?: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Commands to a running or held rollout. Each rejects with the server's error. */
export interface LiveControl {
  /** Holds at the next gate. Resolves when the command was accepted, not when it holds. */
  hold(): Promise<void>;
  /**
   * `step`: to the next gate of the held agent; `into`: or of a side call inside. Resolves when the command was
   * accepted.
   */
  release(how: 'continue' | 'step' | 'into'): Promise<void>;
  /** Ends all holds of this debugger, so that the rollout goes on without it. */
  leave(): Promise<void>;
  /**
   * Steps into the code of the held call. Returns where it waits for a JavaScript debugger; undefined if it was an
   * ordinary step.
   */
  stepInto(): Promise<string | undefined>;
  edit(edit: ForkEdit): Promise<void>;
  inject(message: { readonly role: Role; readonly parts: readonly Part[] }): Promise<void>;
  /** Answers a held tool call without making it. */
  skip(result: Json): Promise<void>;
  answer(value: Json): Promise<void>;
  cancel(): Promise<void>;
}
