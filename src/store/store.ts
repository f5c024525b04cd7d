/**
 * The one contract of both stores. Everything a server knows lives here, so a server can die at any moment and
 * several servers can work on one PostgreSQL. Every method that changes something is one transaction; what it
 * promises holds once its promise resolved (fsync included). Methods throw StudioError: `storage` when the disk
 * or the database fails (nothing was changed then), `not_found`, `conflict` for an illegal transition.
 */
import type { Json } from '../common/json.ts';
import type { ForkEdit } from '../config/submission.ts';
import type { BatchPage, BatchRow, RolloutPage } from '../protocol/client.ts';
import type { Lineage } from '../protocol/worker.ts';
import type { EventData, EventKind, RolloutEndStatus, TraceEvent } from '../trace/schema.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { TaskRecord } from '../trace/task.ts';

export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** For people: folder, or URL without its password. */
  readonly name: string;
  readonly blobs: BlobStore;
  /** Milliseconds since the epoch, by the database's clock. */
  now(): Promise<number>;
  /** A value that is made once per store, e.g. the key that signs worker tokens: 32 random bytes, hex. */
  secretKey(): Promise<string>;
  close(): Promise<void>;

  // ---- batches and tasks
  /** Idempotent by id: the same again is nothing, another submission under the same id is a conflict. */
  createBatch(batch: NewBatch): Promise<void>;
  /**
   * `from` = index of the first task; tasks that are there already are skipped, a gap is a conflict. Queues their
   * attempts unless the batch is imported.
   */
  addTasks(batch: string, from: number, tasks: readonly TaskRecord[]): Promise<void>;
  /** No more tasks. A batch with nothing left to do ends now. */
  seal(batch: string): Promise<void>;
  /**
   * Stops a batch for good: seals it, leases nothing of it any more and queues no further tries; it ends, for `reason`,
   * with its last running rollout. The queued ones are the caller's to close. `retry` takes it back.
   */
  stop(batch: string, reason: string): Promise<void>;
  /**
   * Finished streams of an imported batch, each with seq 1, 2, 3 …; their attempts are settled like any other. A long
   * stream may come in parts: `from` is the seq of the first event (1 unless told); what is there already is skipped.
   */
  importRollouts(batch: string, rollouts: readonly ImportedRollout[]): Promise<void>;
  /**
   * What stop rules look at, kept up to date by every append. `passes`: also name the tasks that passed so often and
   * still have open attempts.
   */
  batchProgress(batch: string, passes?: number): Promise<BatchProgress>;
  batch(id: string): Promise<BatchRecord | undefined>;
  /** Newest first; `before` is a batch id. */
  batches(page: { before?: string; limit: number }): Promise<BatchPage>;
  /** Batches that have not ended, by priority (high first), then age: the executor and the stop rules look at these. */
  activeBatches(): Promise<BatchRecord[]>;
  tasks(batch: string, page: { after?: number; limit: number }): Promise<{ tasks: TaskRecord[]; next?: number }>;
  task(batch: string, index: number): Promise<TaskRecord | undefined>;
  /** Ordered by task, attempt, try. Only the newest try of each attempt unless `all`. */
  rollouts(
    batch: string,
    page: { after?: string; limit: number; task?: string; attempt?: number; all?: boolean },
  ): Promise<RolloutPage>;
  rollout(id: string): Promise<RolloutRecord | undefined>;
  /** Rows changed after `rev`, by rev; at most `limit`. */
  rowsSince(batch: string, rev: number, limit: number): Promise<RolloutRow[]>;

  // ---- streams
  /**
   * Events of this very stream with seq > `after`, as their JSON texts, until `maxBytes` (at least one). Lineage is the
   * caller's: see `rollout().lineage`.
   */
  read(stream: string, after: number, maxBytes: number): Promise<{ seq: number; body: string }[]>;
  /** Adds an event to the batch's own stream. Gives its seq. */
  tell<K extends EventKind>(batch: string, kind: K, data: EventData[K]): Promise<number>;
  /**
   * Calls back after a commit that changed a stream, a batch's rows or a session's commands (also by another server).
   * `ids`: stream ids, batch ids, session ids, ids of commands that were answered. Empty: the connection was lost for
   * a while, anything may have changed. Gives the function that ends it.
   */
  watch(changed: (ids: readonly string[]) => void): () => void;

  // ---- sessions and leases
  openSession(session: NewSession): Promise<void>;
  /** Extends the session's lease. False when it has ended: the worker must say hello again. */
  beat(session: string): Promise<boolean>;
  /** Ends a session; its rollouts go back to the queue at once (epochs still fence). Gives them. */
  endSession(session: string, why: string): Promise<string[]>;
  /** Ends all sessions whose lease is over; tells an `infra` event in each batch. */
  expireSessions(): Promise<{ session: string; worker: string; batch: string; rollouts: string[] }[]>;
  /** A starting server gives every session one whole lease of grace. */
  graceForSessions(): Promise<void>;
  /** All, or those of a batch, or of a worker of it. */
  sessions(of?: { batch: string; worker?: string }): Promise<SessionRecord[]>;
  /** Rollouts a reconnecting worker says it holds: those whose epoch still stands move to the new session. */
  adopt(session: string, held: readonly { rollout: string; epoch: number }[]): Promise<AdoptedSession>;
  /**
   * Takes up to `want` queued rollouts of the session's batch in queue order: state running, epoch + 1. Never two
   * sessions the same one.
   */
  lease(session: string, want: number): Promise<Lease[]>;

  // ---- appends
  /**
   * Appends events `from`.. to a rollout's stream. The epoch is compared in the writing transaction; a repeat of what
   * is stored is acknowledged and changes nothing. Keeps the row's progress (`summarize`), settles the attempt at
   * `rollout.end`, queues the next try after `infrastructure` (up to `retry.infrastructure`) or a touched end, marks
   * duplicates, and ends the batch when nothing is left. Calls arriving together are committed together.
   */
  append(request: AppendRequest): Promise<AppendResult>;
  /**
   * The server ends rollouts itself: takes the lease (epoch + 1, so a worker that still runs one is fenced) and writes
   * `rollout.lease {how: closing}` and `rollout.end`. Only queued ones unless `force`. Gives those it ended.
   */
  closeRollouts(
    selection: RolloutSelection,
    end: { status: RolloutEndStatus; reason: string },
    force: boolean,
  ): Promise<string[]>;
  /** New tries for attempts that nothing settled and nothing runs. Gives how many. */
  retry(batch: string): Promise<number>;
  /**
   * paused: nothing is leased. `release`: and its workers end once nothing of it runs; so it stays until it is resumed.
   */
  setPaused(batch: string, paused: boolean, release?: boolean): Promise<void>;
  setBreakpoints(batch: string, breakpoints: Json): Promise<void>;
  /** First asker of a `once` breakpoint gets true. */
  claim(batch: string, breakpoint: string, rollout: string): Promise<boolean>;

  // ---- commands
  /** Idempotent by id. Gives the command as it stands. */
  putCommand(command: NewCommand): Promise<CommandRecord>;
  /**
   * Commands not yet handed to the worker of this session, and marks them as handed: those for rollouts it holds, and
   * those for the whole batch since the session was opened (how the batch stands at that moment is in its record).
   */
  commandsFor(session: string): Promise<CommandRecord[]>;
  finishCommand(command: string, result: Json): Promise<void>;
  command(id: string): Promise<CommandRecord | undefined>;

  // ---- several servers, keeping house
  /** True for exactly one server of a store at a time. Held until `close`. */
  elect(role: string): Promise<boolean>;
  /**
   * `changed` hears why the database cannot be reached, once that lasts for more than a moment, and undefined when it
   * can be again.
   */
  watchOutage(changed: (why: unknown) => void): void;
  counts(): Promise<{ queued: number; running: number; held: number }>;
  /** Batches by state, and all their settled attempts by outcome. */
  totals(): Promise<StoreTotals>;
  /** Removes ended batches by age or id (never one whose events a living fork reads), then blobs nothing names. */
  gc(what: {
    olderThanMs?: number;
    batches?: readonly string[];
    dryRun: boolean;
    /**
     * Blobs put so recently stay although nothing names them: what names them may be under way. An hour unless told.
     */
    blobGraceMs?: number;
  }): Promise<{ batches: string[]; kept: { batch: string; why: string }[]; blobs: number; bytes: number }>;
}

export interface StoreTotals {
  readonly batches: Readonly<Record<BatchRow['state'], number>>;
  readonly settled: Readonly<Record<SettledCount, number>>;
}

export type SettledCount = Exclude<keyof BatchRow['counts'], 'running' | 'held' | 'queued'>;

export interface NewBatch {
  readonly id: string;
  readonly name: string;
  readonly submission: string;
  readonly attempts: number;
  readonly order: 'breadth' | 'depth';
  readonly priority: number;
  /** Further tries after an `infrastructure` end. */
  readonly retries: number;
  readonly debug: boolean;
  readonly imported: boolean;
  /**
   * Blobs it names beside those of its events: the submission, bundles, source maps. Attachments follow from the tasks.
   */
  readonly blobs: readonly string[];
  /**
   * A fork: its one task's rollouts begin after `seq` of `rollout`. `lineage` is theirs: all they read, the parent's
   * own part included. `differs`: what it runs otherwise than its parent did.
   */
  readonly parent?: {
    readonly rollout: string;
    readonly seq: number;
    readonly lineage: Lineage;
    readonly edits: readonly ForkEdit[];
    readonly differs?: readonly string[];
  };
}

export interface BatchRecord {
  readonly row: BatchRow;
  readonly spec: NewBatch;
  readonly sealed: boolean;
  readonly paused: boolean;
  /** Paused, and its workers are to end. */
  readonly released: boolean;
  /** Why it was stopped. */
  readonly stopping?: string;
  readonly breakpoints: Json;
}

export interface BatchProgress {
  /** Attempts that one of their rollouts settled. */
  readonly settled: number;
  /** Settled ones that did not pass: failed or unscored. */
  readonly failed: number;
  /** Input and output, of all rollouts. */
  readonly tokens: number;
  /** Ids of tasks with at least the asked number of passes and attempts still open. */
  readonly satisfied: readonly string[];
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
}

export interface NewSession {
  readonly session: string;
  readonly batch: string;
  readonly worker: string;
  readonly slots: number;
  /** The server that has its connection; commands are fetched by that one. */
  readonly server: string;
}

export interface SessionRecord extends NewSession {
  readonly expiresAt: number;
  readonly running: number;
  readonly held: number;
}

/** What became of the rollouts that a worker says it holds. */
export interface AdoptedSession {
  /** They are its own still; `durable` is the last event of each that is stored. */
  keep: { rollout: string; durable: number }[];
  /** It ended them itself; word of that was lost on the way. */
  over: string[];
  /** Others have them, or nobody. */
  drop: string[];
}

export interface Lease {
  readonly rollout: string;
  readonly epoch: number;
  readonly task: TaskRecord;
  readonly attempt: number;
  readonly try: number;
  readonly lineage: Lineage;
  /** Last durable seq, lineage included. */
  readonly last: number;
  /** It was held when its worker was lost. */
  readonly held: boolean;
}

export interface AppendRequest {
  readonly rollout: string;
  readonly epoch: number;
  readonly from: number;
  /** Checked with `checkEvent` by the caller; seq from, from + 1, … */
  readonly events: readonly TraceEvent[];
}

export type AppendResult =
  | { readonly ok: true; readonly durable: number }
  | {
      readonly ok: false;
      readonly code: 'fenced' | 'gap' | 'full';
      readonly durable: number;
      readonly message: string;
    };

export interface RolloutSelection {
  readonly batch: string;
  readonly rollout?: string;
  /** Only this task's. */
  readonly task?: string;
}

export interface NewCommand {
  readonly id: string;
  readonly batch: string;
  /** Absent: for the batch. */
  readonly rollout?: string;
  readonly verb: string;
  readonly args: Json;
  readonly by: string;
}

export interface CommandRecord extends NewCommand {
  /** Absent: not answered yet. */
  readonly result?: Json;
}

/** Content by sha256. A blob is whole or absent. */
export interface BlobStore {
  /** Verifies the hash; storing what is there already is nothing. */
  put(sha: string, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** undefined when absent. `range`: first and last byte, both included. */
  get(
    sha: string,
    range?: { start: number; end?: number },
  ): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined>;
  has(shas: readonly string[]): Promise<Set<string>>;
  remove(shas: readonly string[]): Promise<number>;
}
