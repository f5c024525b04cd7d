/** What is debugged: one rollout, recorded or running. The debug adapter knows no more of it than this. */
import type { Listen } from '../common/emitter.ts';
import type { Json } from '../common/json.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { TrajectoryModel } from '../trace/model.ts';
import type { BlobRef, Part, Role } from '../trace/schema.ts';
import type { Place } from '../trace/stops.ts';
import type { TaskRecord } from '../trace/task.ts';

/** Why a rollout stands where it stands. */
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

/** The gate a live rollout is held at, or the end of one that is over. */
export interface Head {
  readonly reason: StopReason;
  readonly place: Place;
  readonly side: 'before' | 'after';
  /** Id of the breakpoint that holds it. */
  readonly breakpoint?: string;
}

export interface Debuggee {
  readonly rollout: string;
  readonly batch: string;
  readonly task: TaskRecord;
  readonly attempt: number;
  /** sha of what was submitted; of an imported rollout, of the file it came from. */
  readonly submission: string;
  readonly model: TrajectoryModel;
  /** What can be done to it beside looking. */
  readonly live: LiveControl | undefined;
  /** Where it is held, or its end; undefined while it runs. */
  readonly head: Head | undefined;
  /** Something was recorded, or `head` changed. */
  readonly onChange: Listen<undefined>;
  readBlob(ref: BlobRef, signal?: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Commands to a rollout that runs or is held. Each rejects with the server's words when it cannot be done. */
export interface LiveControl {
  /** Holds at the next gate. Resolves when the command was taken, not when it holds. */
  hold(): Promise<void>;
  /** `step`: to the next gate of the held agent. Resolves when the command was taken. */
  release(how: 'continue' | 'step'): Promise<void>;
  /**
   * A step into the code of the held call. Gives where it waits for a JavaScript debugger; undefined: it was a step
   * like any other.
   */
  stepInto(): Promise<string | undefined>;
  edit(edit: ForkEdit): Promise<void>;
  inject(message: { readonly role: Role; readonly parts: readonly Part[] }): Promise<void>;
  /** Answers a held tool call without making it. */
  skip(result: Json): Promise<void>;
  answer(value: Json): Promise<void>;
  cancel(): Promise<void>;
}
