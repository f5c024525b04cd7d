/** What all rollouts of a worker share. `main.ts` composes it. */
import type { Json } from '../../common/json.ts';
import type { Announcements } from '../../model/announcements.ts';
import type { EndpointReport } from '../../model/client.ts';
import type { ModelConnections } from '../../model/connections.ts';
import type { PermitGate } from '../../model/permits.ts';
import type { Replicas } from '../../model/replicas.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import type { HoldResult } from '../../rollout/gates/gates.ts';
import type { HoldPermits, RolloutJob, RolloutPorts } from '../../rollout/job.ts';
import type { Clock } from '../../rollout/ports.ts';
import type { ToolPools } from '../../tools/environment.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import type { Outlet } from '../outlet.ts';
import type { Blobs } from '../spool/blobs.ts';
import type { SpoolLink } from '../spool/spool.ts';
import type { Claims } from './claims.ts';
import type { EndpointCalls } from './endpointCalls.ts';
import type { Scorings } from './scorings.ts';
import type { Slots } from './slots.ts';
import type { Submissions } from './submissions.ts';

/** A rollout as the worker controls it. */
export interface RolloutHandle {
  /** Resolves when the rollout is over or was aborted; its events may not be acknowledged yet. */
  run(): Promise<void>;
  command(command: {
    readonly command: string;
    readonly verb: string;
    readonly args: Json | undefined;
    readonly by: string;
  }): Promise<HoldResult>;
  /** Sets the batch's breakpoints and whether it is paused. */
  setBreakpoints(breakpoints: readonly Breakpoint[], paused: boolean): void;
  /** Sets whether the server is lost: then no new effect starts. */
  setLost(lost: boolean): void;
  /** Ends it here without an end in its record: another worker continues it. */
  abort(reason: string): void;
  /** Starts nothing more, and hands it over once nothing runs. Rejects if it has not started. */
  leave(): Promise<void>;
  /** Hands it over at once, whatever runs. */
  handOver(): void;
}

export interface WorkerParts {
  readonly worker: string;
  /** Folder for the working directories of rollouts, absolute. */
  readonly work: string;
  /** Whether programs of the same group, in another container, use it as well. */
  readonly shared: boolean;
  readonly clock: Clock;
  readonly blobs: Blobs;
  readonly submissions: Submissions;
  /** Returns events 1..last of a rollout. */
  readonly events: (rollout: string, last: number, signal: AbortSignal) => Promise<TraceEvent[]>;
  readonly outlet: Outlet;
  readonly link: SpoolLink;
  readonly slots: Slots;
  readonly claims: Claims;
  readonly scorings: Scorings;
  readonly holdPermits: HoldPermits;
  readonly pools: ToolPools;
  readonly gate: PermitGate;
  readonly announcements: Announcements;
  /** Tells the server of the calls in flight. */
  readonly calls: EndpointCalls;
  readonly replicas: Replicas;
  readonly connections: ModelConnections;
  readonly report: (report: EndpointReport) => void;
  /** Gives a lease back, once everything about the rollout is stored. */
  readonly giveBack: (rollout: string, epoch: number) => void;
  readonly demoUrl: () => string;
  readonly demoKey: () => string;
  readonly createRollout: (job: RolloutJob, ports: RolloutPorts) => RolloutHandle;
  /**
   * Whether commands may debug the code of tools here: only for a store that is a folder, because then the user of this
   * machine runs the worker.
   */
  readonly inspectable: boolean;
  /**
   * What programs in a sandbox never see, even inside folders that the user names: the store, and the
   * directories of other workers and rollouts.
   */
  readonly hidden: readonly string[];
  readonly log: (text: string) => void;
}
