/**
 * The interface of both stores. A store holds the whole durable state of a server, so a server can crash at any time,
 * and several servers can share one PostgreSQL database. Every method that changes something is one transaction, which
 * is durable (fsync included) when the promise resolves. Methods throw StudioError: `storage` if the disk or the
 * database fails (nothing was changed then), `not_found`, and `conflict` for an illegal transition.
 */
import type { Json } from '../common/json.ts';
import type { TrimReason } from '../common/trimmed.ts';
import type { RetentionFile } from '../config/schema/retentionFile.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { BatchPage, BatchRow, CreateBatch, RolloutPage } from '../protocol/client.ts';
import type { GroupSampling, GroupSettings } from '../protocol/groups.ts';
import type { Lineage } from '../protocol/worker.ts';
import type { EventData, EventKind, RolloutEndStatus, TraceEvent } from '../trace/schema.ts';
import type { TaskRate } from '../trace/selection/curriculum.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { AuditStore, Shared, SharingStore } from './accessStore.ts';
import type { ArchiveStore } from './archiveStore.ts';
import type { EndpointStore } from './endpointStore.ts';
import type { GroupStore } from './groupStore.ts';
import type { UsageStore } from './usageStore.ts';

export interface Store extends GroupStore {
  readonly kind: 'sqlite' | 'postgres';
  /** Display name: the folder, or the URL without its password. */
  readonly name: string;
  readonly blobs: BlobStore;
  /** What trainers announced about model endpoints. */
  readonly endpoints: EndpointStore;
  /** Whose batches are, and who may read them. */
  readonly sharing: SharingStore;
  /** Who did what. */
  readonly audit: AuditStore;
  /** What users and queues have used. */
  readonly usage: UsageStore;
  /** Backups, and copies of batches. */
  readonly archive: ArchiveStore;
  /** Returns milliseconds since the epoch, by the database's clock. */
  now(): Promise<number>;
  /** Returns a key created once per store, which signs worker tokens: 32 random bytes in hex. */
  secretKey(): Promise<string>;
  /** Records to which of the servers on this store a debugger is connected now. */
  setDebugger(name: string, server: string): Promise<void>;
  /** Forgets a debugger that left this server. Returns false if it is connected to another one now. */
  debuggerLeft(name: string, server: string): Promise<boolean>;
  close(): Promise<void>;

  // ---- batches and tasks
  /** Creates a batch. Idempotent by ID: a repeat does nothing, another submission with the same ID is a conflict. */
  createBatch(batch: NewBatch): Promise<void>;
  /**
   * Adds tasks. `from`: index of the first one. Existing tasks are skipped, a gap is a conflict. Queues their attempts
   * unless the batch is imported. `rates`: pass rates in the batch of its curriculum, if that is refreshed.
   */
  addTasks(
    batch: string,
    from: number,
    tasks: readonly TaskRecord[],
    rates?: Readonly<Record<string, TaskRate>>,
  ): Promise<void>;
  /**
   * Adds tasks to a batch that rescores another one, and queues a rollout for each rollout to score again: it reads all
   * events of that one through its lineage. Otherwise like `addTasks`.
   */
  addRescored(batch: string, from: number, tasks: readonly RescoredTask[]): Promise<void>;
  /** Closes the list of tasks. A batch without open attempts ends now. */
  seal(batch: string): Promise<void>;
  /**
   * Stops a batch for good: seals it, leases none of its rollouts, and queues no further tries. It ends, for `reason`,
   * with its last running rollout. The caller must close the queued ones. `retry` undoes this.
   */
  stop(batch: string, reason: string): Promise<void>;
  /**
   * Adds finished streams of an imported batch, each with seq 1, 2, 3 …; their attempts are settled like any other. A
   * long stream may be sent in parts: `from` is the seq of the first event (1 by default); existing events are skipped.
   */
  importRollouts(batch: string, rollouts: readonly ImportedRollout[]): Promise<void>;
  /**
   * Returns the figures for stop rules, which every append updates. `passes`: also returns the tasks with that many
   * passes that still have open attempts.
   */
  batchProgress(batch: string, passes?: number): Promise<BatchProgress>;
  batch(id: string): Promise<BatchRecord | undefined>;
  /** Lists batches, newest first; `before` is a batch ID. `reader`: only those that this user may read. */
  batches(page: { before?: string; limit: number; reader?: string }): Promise<BatchPage>;
  /** Lists batches that have not ended, by priority (high first), then age, for the executor and the stop rules. */
  activeBatches(): Promise<BatchRecord[]>;
  tasks(batch: string, page: { after?: number; limit: number }): Promise<{ tasks: TaskRecord[]; next?: number }>;
  task(batch: string, index: number): Promise<TaskRecord | undefined>;
  /** Lists rollouts by task, attempt, try. Only the newest try of each attempt unless `all`. */
  rollouts(
    batch: string,
    page: { after?: string; limit: number; task?: string; attempt?: number; all?: boolean },
  ): Promise<RolloutPage>;
  rollout(id: string): Promise<RolloutRecord | undefined>;
  /** Returns the rows of the rollouts that workers of the batch hold now. */
  leasedRollouts(batch: string): Promise<RolloutRow[]>;
  /** Returns rows changed after `rev`, by rev; at most `limit`. */
  rowsSince(batch: string, rev: number, limit: number): Promise<RolloutRow[]>;

  // ---- streams
  /**
   * Reads serialized events of this stream with seq > `after`, up to `maxBytes` (at least one). Does not include the
   * lineage: see `rollout().lineage`.
   */
  read(stream: string, after: number, maxBytes: number): Promise<{ seq: number; body: string }[]>;
  /** Adds an event to the batch's own stream. Returns its seq. */
  addBatchEvent<K extends EventKind>(batch: string, kind: K, data: EventData[K]): Promise<number>;
  /**
   * Calls back after a commit that changed a stream, a batch's rows or a session's commands (also by another server).
   * `ids`: stream ids, batch ids, session ids, ids of commands that were answered. Empty: the connection was lost for
   * a while, anything may have changed. Returns the function that unsubscribes.
   */
  watch(changed: (ids: readonly string[]) => void): () => void;

  // ---- sessions and leases
  /** Opens a session. Throws `unavailable` while another one of this worker is open: see `takeOver`. */
  openSession(session: NewSession): Promise<void>;
  /**
   * Opens a session in place of the worker's previous one, which ends: the rollouts that the previous one holds and
   * that the worker still runs (`held`) move to the new one, its others are requeued. Returns undefined, and changes
   * nothing, if the previous session is no longer open.
   */
  takeOver(
    session: NewSession,
    previous: string,
    held: readonly { rollout: string; epoch: number }[],
  ): Promise<TakenOver | undefined>;
  /** Returns a session while it is open. */
  session(id: string): Promise<OpenSession | undefined>;
  /** Extends the session's lease. Returns false when it has ended, so that the worker must reconnect. */
  beat(session: string): Promise<boolean>;
  /** Ends a session and requeues its rollouts immediately (epochs still fence). Returns them. */
  endSession(session: string, why: string): Promise<string[]>;
  /**
   * Queues a rollout that a session holds in this epoch and gives back, all of whose events are stored. Changes nothing
   * if the session does not hold it.
   */
  handOver(session: string, rollout: string, epoch: number): Promise<void>;
  /** Ends all sessions with an expired lease, and records an `infra` event in each batch. */
  expireSessions(): Promise<{ session: string; worker: string; batch: string; rollouts: string[] }[]>;
  /** Extends every session by a whole lease, when a server starts. */
  graceForSessions(): Promise<void>;
  /** Lists sessions: all, or those of a batch or of one of its workers. */
  sessions(of?: { batch: string; worker?: string }): Promise<SessionRecord[]>;
  /**
   * Moves rollouts to the session of a worker whose previous session has ended: those that this worker held last and
   * that nobody has leased since.
   */
  adopt(session: string, held: readonly { rollout: string; epoch: number }[]): Promise<AdoptedSession>;
  /**
   * Leases up to `want` queued rollouts of the session's batch in queue order: state running, epoch + 1. Never leases a
   * rollout to two sessions. `pod`: the session is that of a pod that gets a single rollout. A later session of the pod
   * gets the same one again while it is queued, and never another.
   */
  lease(session: string, want: number, pod?: string): Promise<Lease[]>;
  /** Returns the rollout that a pod was given; undefined if it has not got one. */
  podRollout(batch: string, pod: string): Promise<string | undefined>;

  // ---- appends
  /**
   * Appends events `from`.. to a rollout's stream. The epoch is compared in the writing transaction; a repeat of what
   * is stored is acknowledged and changes nothing. Keeps the row's progress (`advanceProgress`), settles the attempt at
   * `rollout.end`, queues the next try after `infrastructure` (up to `retry.infrastructure`) or a touched end, marks
   * duplicates, and ends the batch when nothing is left. Calls arriving together are committed together.
   */
  append(request: AppendRequest): Promise<AppendResult>;
  /**
   * Marks that scoring begins in this epoch, after all appends that were requested before: from now on, a score and a
   * reward fit the history, and no further action of the agent does. Returns the task, with its expected answer;
   * undefined if the session does not hold the rollout in this epoch.
   */
  beginScoring(session: string, rollout: string, epoch: number): Promise<TaskRecord | undefined>;
  /**
   * Ends rollouts on behalf of the server: takes the lease (epoch + 1, so a worker that still runs one is fenced) and
   * writes `rollout.lease {how: closing}` and `rollout.end`. Only queued ones unless `force`. Returns those it ended.
   */
  closeRollouts(
    selection: RolloutSelection,
    end: { status: RolloutEndStatus; reason: string },
    force: boolean,
  ): Promise<string[]>;
  /** Queues new tries for attempts that are neither settled nor running. Returns their number. */
  retry(batch: string): Promise<number>;
  /**
   * Pauses a batch: nothing is leased. `release`: its workers end once nothing runs, until the batch is resumed.
   */
  setPaused(batch: string, paused: boolean, release?: boolean): Promise<void>;
  setBreakpoints(batch: string, breakpoints: Json): Promise<void>;
  /** Returns true only for the first claim of a `once` breakpoint. */
  claim(batch: string, breakpoint: string, rollout: string): Promise<boolean>;

  // ---- quotas
  /** Returns how many bytes of blobs workers stored for a rollout. */
  storedBytes(rollout: string): Promise<number>;
  /** Adds to `storedBytes`. Returns the sum. */
  addStoredBytes(rollout: string, bytes: number): Promise<number>;

  // ---- commands
  /**
   * Stores a command, and the event of its batch that records it. Idempotent by ID. Returns its current state.
   */
  putCommand(command: NewCommand, control?: EventData['control']): Promise<CommandRecord>;
  /**
   * Returns commands not yet handed to the worker of this session, and marks them as handed: those for rollouts it
   * holds, and those for the whole batch since the session was opened (earlier ones are reflected in its record).
   */
  commandsFor(session: string): Promise<CommandRecord[]>;
  /** Keeps the first result. */
  finishCommand(command: string, result: Json): Promise<void>;
  /**
   * Writes the event that a command asks for, and its result, which may contain the seq of the event: both or neither,
   * and only once. Returns the result.
   */
  finishWith(command: string, event: CommandEvent, result: (seq: number) => Json): Promise<Json>;
  command(id: string): Promise<CommandRecord | undefined>;

  // ---- several servers, maintenance
  /** Returns true for exactly one server of a store at a time. Held until `close`. */
  elect(role: string): Promise<boolean>;
  /**
   * Runs `work` while no other server of the store runs work with this key. Throws StudioError `unavailable` if another
   * one does so for long. The lock ends with the server.
   */
  exclusively<T>(key: string, work: () => Promise<T>): Promise<T>;
  /**
   * Calls `changed` with the reason when the database is unreachable for more than a moment, and with undefined when it
   * is reachable again.
   */
  watchOutage(changed: (why: unknown) => void): void;
  counts(): Promise<{ queued: number; running: number; held: number }>;
  /** Counts batches by state, and all settled attempts by outcome. */
  totals(): Promise<StoreTotals>;
  /**
   * Returns which ended batches rules would remove or trim, and why: never one that an active batch needs, or whose
   * events a batch reads that stays. Oldest first.
   */
  retention(rules: RetentionFile): Promise<RetentionPlan>;
  /**
   * Removes or trims ended batches by age or ID (except those whose events an existing fork reads), then unreferenced
   * blobs. To trim a batch is to drop its trajectories for good, and to keep its results. Both go on where an earlier
   * call was interrupted.
   */
  gc(options: {
    olderThanMs?: number;
    batches?: readonly string[];
    dryRun: boolean;
    /**
     * Unreferenced blobs that are newer than this are kept, since their reference may still be on its way. An hour by
     * default.
     */
    blobGraceMs?: number;
    /** Returns why a selected batch is trimmed. Default: all are removed. */
    trim?: (batch: string) => TrimReason | undefined;
  }): Promise<GcOutcome>;
}

export interface GcOutcome {
  /** Those that were removed. */
  readonly batches: string[];
  readonly trimmed: string[];
  readonly kept: { batch: string; why: string }[];
  /** Removed ones. */
  readonly blobs: number;
  /** Of removed blobs, and of the events that were dropped from batches that stay. */
  readonly bytes: number;
}

export interface RetentionPlan {
  /** `trim`: it is not removed, but only its trajectories. `bytes`: what that frees, about. */
  readonly batches: readonly {
    readonly batch: string;
    readonly why: string;
    readonly bytes: number;
    readonly trim: boolean;
  }[];
  /** Bytes of all batches. */
  readonly total: number;
}

export interface StoreTotals {
  readonly batches: Readonly<Record<BatchRow['state'], number>>;
  readonly settled: Readonly<Record<SettledCount, number>>;
}

type SettledCount = Exclude<keyof BatchRow['counts'], 'running' | 'held' | 'queued'>;

export interface NewBatch {
  readonly id: string;
  readonly name: string;
  readonly submission: string;
  /** Per task; with `adaptive`, at most. */
  readonly attempts: number;
  /** Tasks start with `least` attempts, and get more until one passed, or until one passed and one failed. */
  readonly adaptive?: { readonly least: number; readonly until: 'informative' | 'solved' };
  readonly order: 'breadth' | 'depth';
  readonly priority: number;
  /** The queue of the server that it names. */
  readonly queue?: string;
  /** Further tries after an `infrastructure` end. */
  readonly retries: number;
  readonly debug: boolean;
  readonly imported: boolean;
  /**
   * Blobs it references in addition to those of its events: the submission, bundles, source maps. Attachments are found
   * in the tasks.
   */
  readonly blobs: readonly string[];
  /**
   * The origin of a fork: the rollouts of its only task start after event `seq` of `rollout`. `lineage`: the owners of
   * all shared events, including the parent. `differs`: how its configuration differs from the parent's.
   */
  readonly parent?: {
    readonly rollout: string;
    readonly seq: number;
    readonly lineage: Lineage;
    readonly edits: readonly ForkEdit[];
    readonly differs?: readonly string[];
    /** Its part of the mix. */
    readonly part?: string;
    /** Of its group. */
    readonly sampling?: GroupSampling;
  };
  /**
   * The batch whose rollouts it scores again, and who requested that. Its tasks are added by `addRescored`.
   */
  readonly rescores?: { readonly batch: string; readonly by: string };
  /** By which batch its tasks were selected. */
  readonly curriculum?: NonNullable<CreateBatch['curriculum']>;
  /** No attempt of a task begins after its attempts used this many tokens. */
  readonly task_tokens?: number;
  /** No attempt of a task begins after its attempts cost this much. */
  readonly task_cost?: number;
  /** The user of the cluster who launched it. It is private to that user then, and to those whom it is shared with. */
  readonly by?: string;
  readonly shared?: Shared;
  /** What its groups are, if trainers request them. Tasks that are added are a dataset then, and are not queued. */
  readonly group?: GroupSettings;
}

export interface RescoredTask {
  readonly task: TaskRecord;
  readonly rollouts: readonly { readonly attempt: number; readonly rollout: string }[];
}

/** The rollout that a rollout scores again: the owners of events 1..seq, which it reads. */
export interface Origin {
  readonly rollout: string;
  readonly seq: number;
  readonly lineage: Lineage;
}

export interface BatchRecord {
  readonly row: BatchRow;
  readonly spec: NewBatch;
  readonly sealed: boolean;
  readonly paused: boolean;
  /** Paused without workers. */
  readonly released: boolean;
  /** Why it was stopped. */
  readonly stopping?: string;
  readonly breakpoints: Json;
}

export interface BatchProgress {
  /** Settled attempts. */
  readonly settled: number;
  /** Settled attempts that did not pass: failed or unscored. */
  readonly failed: number;
  /** Input and output tokens of all rollouts. */
  readonly tokens: number;
  /** IDs of tasks with at least the requested number of passes and open attempts. */
  readonly satisfied: readonly string[];
  /** Tasks whose queued attempts nothing will begin: by the curriculum, or since their budget is spent. */
  readonly unneeded?: readonly UnneededTask[];
}

/** `task`: ID of a task, or of a group that repeats one. */
export interface UnneededTask {
  readonly task: string;
  readonly why: string;
}

export interface ImportedRollout {
  readonly rollout: string;
  readonly task: string;
  readonly attempt: number;
  readonly from?: number;
  readonly events: readonly TraceEvent[];
}

export interface RolloutRecord {
  readonly row: RolloutRow;
  readonly lineage: Lineage;
  /** Session that holds it. */
  readonly session?: string;
  /** Whether its holder scores it. */
  readonly scoring?: true;
}

export interface NewSession {
  readonly session: string;
  readonly batch: string;
  readonly worker: string;
  readonly slots: number;
  /** The server with its connection, which fetches its commands. */
  readonly server: string;
}

export interface SessionRecord extends NewSession {
  readonly expiresAt: number;
  readonly running: number;
  readonly held: number;
}

export interface OpenSession {
  readonly batch: string;
  readonly worker: string;
  readonly batchEnded: boolean;
  /** Rollouts that it holds. */
  readonly rollouts: readonly string[];
}

/** The state of the rollouts that a reconnecting worker holds. */
export interface AdoptedSession {
  /** Still its own; `durable` is the last stored event of each. */
  keep: { rollout: string; durable: number }[];
  /** Ended by the worker itself; the acknowledgment was lost. */
  ended: string[];
  /** Leased to other workers, or queued. */
  drop: string[];
}

/** `server`: the server of the previous session. */
export interface TakenOver extends AdoptedSession {
  readonly server: string;
}

export interface Lease {
  readonly rollout: string;
  readonly epoch: number;
  readonly task: TaskRecord;
  readonly attempt: number;
  readonly try: number;
  /** Its place in the mix, if that is not `attempt`. */
  readonly place?: number;
  /** Of its group. */
  readonly sampling?: GroupSampling;
  readonly lineage: Lineage;
  /** What it scores again, if its batch rescores another one. */
  readonly rescores?: { readonly rollout: string; readonly seq: number };
  /** Last durable seq, lineage included. */
  readonly last: number;
  /** Whether it was held when its worker was lost. */
  readonly held: boolean;
}

export interface AppendRequest {
  readonly rollout: string;
  readonly epoch: number;
  readonly from: number;
  /** Checked with `checkEvent` by the caller; seq from, from + 1, … */
  readonly events: readonly TraceEvent[];
  /** Refuse events that do not fit what the rollout's own history allows next (see `streamGuard.ts`). */
  readonly audited?: boolean;
  /** Marks, without events, the begin of scoring in this epoch. */
  readonly scoring?: boolean;
}

export type AppendResult =
  | { readonly ok: true; readonly durable: number }
  | {
      readonly ok: false;
      /** `tampered`: the events do not fit the history of the rollout. */
      readonly code: 'fenced' | 'gap' | 'full' | 'tampered';
      readonly durable: number;
      readonly message: string;
    };

export interface RolloutSelection {
  readonly batch: string;
  readonly rollout?: string;
  /** Only rollouts of this task. */
  readonly task?: string;
}

export interface NewCommand {
  readonly id: string;
  readonly batch: string;
  /** If absent, the command is for the batch. */
  readonly rollout?: string;
  readonly verb: string;
  readonly args: Json;
  readonly by: string;
}

/** What a command adds to the stream of its batch. */
export type CommandEvent =
  | { readonly kind: 'note'; readonly data: EventData['note'] }
  | { readonly kind: 'verdict'; readonly data: EventData['score'] & { readonly rollout: string } };

export interface CommandRecord extends NewCommand {
  /** Absent until it is finished. */
  readonly result?: Json;
}

/** Stores content by its SHA-256. A blob is either complete or missing. */
export interface BlobStore {
  /** Stores a blob after verifying its hash. Does nothing if it exists. */
  put(sha: string, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** Reads a blob; undefined when it does not exist. `range`: first and last byte, inclusive. */
  get(
    sha: string,
    range?: { start: number; end?: number },
  ): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined>;
  has(shas: readonly string[]): Promise<Set<string>>;
  remove(shas: readonly string[]): Promise<number>;
}
