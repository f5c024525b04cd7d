/** The dependencies of a debug session, and the data of its events. */
import type { ForkWith } from '../client/commands/forkSubmission.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';
import type { ServerLink } from './rollout.ts';

/** Services of the program in which a session runs. */
export interface DebugPorts {
  /** The name that it holds rollouts under, such as `debugger in VS Code`, in a client that calls itself `client`. */
  nameIn(client: string | undefined): string;
  /** Connects to the server of a store, and starts it if necessary. */
  connect(store: string | undefined, signal: AbortSignal): Promise<ServerLink>;
  /**
   * Starts an attempt at one task of a batch file (the first without `task`), held at its first gate by the breakpoint
   * `ENTRY`. Returns the batch.
   */
  launch(
    what: {
      readonly file: string;
      readonly task: string | undefined;
      readonly attempt: number;
      readonly store: string | undefined;
      /** Who holds it. */
      readonly by: string;
    },
    signal: AbortSignal,
  ): Promise<string>;
  /** Forks a rollout after an event as a separate batch with one attempt, held at its first gate like with `launch`. */
  fork(what: ForkRequest, signal: AbortSignal): Promise<ForkResult>;
  /** Where to look for moved files. */
  readonly folders: readonly string[];
}

export interface ForkRequest {
  readonly rollout: string;
  /** The last shared event. */
  readonly seq: number;
  readonly edits: readonly ForkEdit[];
  /** Whether irreversible calls after the cut may be repeated. */
  readonly acceptIrreversible: boolean;
  /** Differences to its parent's submission. */
  readonly runs: ForkWith;
  readonly store: string | undefined;
  /** Who holds the fork. */
  readonly by: string;
}

export interface ForkResult {
  readonly batch: string;
  /** Differences in code and configuration to the parent, one line each. */
  readonly differs: readonly string[];
  /** Values that may be secret, but cannot be hidden, one sentence each. */
  readonly warnings: readonly string[];
}

export interface StoppedEvent {
  readonly thread: number;
  readonly reason: StopReason;
  readonly description: string | undefined;
  /** The client's IDs of the breakpoints that stopped it. */
  readonly hit: readonly number[];
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
  /** WebSocket address on this machine. */
  readonly url: string;
}
