/** What a debug session needs from outside, and what it tells. */
import type { ForkWith } from '../client/commands/forkSubmission.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';
import type { ServerLink } from './rollout.ts';

/** What a session needs of the program it runs in. */
export interface DebugPorts {
  /** The server of a store, started where there is none. */
  connect(store: string | undefined, signal: AbortSignal): Promise<ServerLink>;
  /**
   * Starts an attempt at one task of a batch file (the first without `task`), held at its first gate by the breakpoint
   * `ENTRY`. Gives the batch.
   */
  launch(
    what: {
      readonly file: string;
      readonly task: string | undefined;
      readonly attempt: number;
      readonly store: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<string>;
  /** Goes on from after an event as a batch of its own, one attempt, held at its first gate as by `launch`. */
  fork(what: ForkWish, signal: AbortSignal): Promise<ForkMade>;
  /** Where files are looked for that are no longer where they were. */
  readonly folders: readonly string[];
}

export interface ForkWish {
  readonly rollout: string;
  /** The last shared event. */
  readonly seq: number;
  readonly edits: readonly ForkEdit[];
  /** Calls behind the cut that cannot be undone may be made again. */
  readonly acceptIrreversible: boolean;
  /** What it runs otherwise than its parent. */
  readonly runs: ForkWith;
  readonly store: string | undefined;
}

export interface ForkMade {
  readonly batch: string;
  /** What of code and configuration is other than the parent's, a line each. */
  readonly differs: readonly string[];
}

export interface StoppedEvent {
  readonly thread: number;
  readonly reason: StopReason;
  readonly description: string | undefined;
  /** The client's ids of the breakpoints that stopped it. */
  readonly hit: readonly number[];
}

export interface ThreadInfo {
  readonly id: number;
  readonly rollout: DebuggedRollout;
  /** Of a session on one rollout. */
  readonly agent: string | undefined;
  readonly name: string;
}

/** A line for the debug console. */
export interface SessionOutput {
  readonly text: string;
  readonly category: 'console' | 'stdout' | 'stderr' | 'important';
  readonly place?: { readonly rollout: DebuggedRollout; readonly seq: number };
}

/** A call whose code waits for a JavaScript debugger. */
export interface WaitingCall {
  readonly tool: string;
  /** A WebSocket of this machine. */
  readonly url: string;
}
