import type { Json } from '../common/json.ts';
import type { RetentionFile } from '../config/schema/retentionFile.ts';
import type { BatchPage, RolloutPage } from '../protocol/client.ts';
import type { GroupPage, GroupRow } from '../protocol/groups.ts';
import type { EventData, EventKind, RolloutEndStatus } from '../trace/schema.ts';
import type { TaskRate } from '../trace/selection/curriculum.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { TaskRecord } from '../trace/task.ts';
import { SqlArchive } from './archive/sqlArchive.ts';
import type { CollectableBlobs } from './blobs/content.ts';
import type { AskedGroup, FilteredGroup, FinishedGroupRecord, ReplayedRollout } from './groupStore.ts';
import { Appender } from './logic/appender.ts';
import { SqlAudit } from './logic/audit.ts';
import * as batches from './logic/batches.ts';
import { closeRollouts } from './logic/closing.ts';
import * as commands from './logic/commands.ts';
import { SqlEndpoints } from './logic/endpoints.ts';
import { addBatchEvent, readEvents } from './logic/events.ts';
import { gc } from './logic/gc.ts';
import * as groups from './logic/groups/queries.ts';
import { completeGroups, GroupAdder } from './logic/groups/requests.ts';
import { importRollouts } from './logic/importing.ts';
import { Leaser } from './logic/leaser.ts';
import * as lists from './logic/lists.ts';
import { Packer } from './logic/packing.ts';
import { podRollout } from './logic/podRollouts.ts';
import { planRetention } from './logic/retention.ts';
import * as sessions from './logic/sessions.ts';
import { SqlSharing } from './logic/sharing.ts';
import { addStoredBytes, storedBytes } from './logic/storedBytes.ts';
import { addRescored, addTasks, findTask, listTasks } from './logic/tasks.ts';
import { SqlUsage } from './logic/usage.ts';
import { debuggerLeft, type KeyPlace, secretKey, setDebugger } from './sql/meta.ts';
import type { Sql } from './sql/sql.ts';
import type {
  AdoptedSession,
  AppendRequest,
  AppendResult,
  BatchProgress,
  BatchRecord,
  BlobStore,
  CommandEvent,
  CommandRecord,
  ImportedRollout,
  Lease,
  NewBatch,
  NewCommand,
  NewSession,
  OpenSession,
  RescoredTask,
  RetentionPlan,
  RolloutRecord,
  RolloutSelection,
  SessionRecord,
  Store,
  StoreTotals,
  TakenOver,
} from './store.ts';

export interface SqlStoreOptions {
  /** Display name. */
  readonly name: string;
  /** How long a session lives without a heartbeat. */
  readonly leaseMs: number;
  /** Delay after the end of a rollout before its stream is compressed. */
  readonly packDelayMs: number;
  /** How many entries of the audit log are kept. */
  readonly auditEntries?: number;
  /** Where the secret key is, if not in the database. */
  readonly key?: KeyPlace;
}

/** Implements both stores with the logic in `logic/` on top of a database. */
export class SqlStore implements Store {
  readonly kind: 'sqlite' | 'postgres';
  readonly name: string;
  readonly blobs: BlobStore;
  readonly endpoints: SqlEndpoints;
  readonly sharing: SqlSharing;
  readonly audit: SqlAudit;
  readonly usage: SqlUsage;
  readonly archive: SqlArchive;
  readonly #sql: Sql;
  readonly #collectable: CollectableBlobs;
  readonly #leaseMs: number;
  readonly #key: KeyPlace | undefined;
  readonly #packer: Packer;
  readonly #appender: Appender;
  readonly #leaser: Leaser;
  readonly #groups: GroupAdder;

  constructor(sql: Sql, blobs: CollectableBlobs, options: SqlStoreOptions) {
    this.kind = sql.dialect.kind;
    this.name = options.name;
    this.blobs = blobs;
    this.endpoints = new SqlEndpoints(sql);
    this.sharing = new SqlSharing(sql);
    this.audit = new SqlAudit(sql, options.auditEntries);
    this.usage = new SqlUsage(sql);
    this.#sql = sql;
    this.#key = options.key;
    this.#collectable = blobs;
    this.#leaseMs = options.leaseMs;
    this.#packer = new Packer(sql, options.packDelayMs);
    this.archive = new SqlArchive({ sql, blobs, files: blobs.outside, packer: this.#packer, store: options.name });
    this.#appender = new Appender(sql, () => this.#packer.schedule());
    this.#leaser = new Leaser(sql);
    this.#groups = new GroupAdder(sql);
    this.#packer.schedule(); // rollouts that ended before the previous server
  }

  now(): Promise<number> {
    return this.#sql.now();
  }

  secretKey(): Promise<string> {
    return secretKey(this.#sql, this.#key);
  }

  setDebugger(name: string, server: string): Promise<void> {
    return setDebugger(this.#sql, name, server);
  }

  debuggerLeft(name: string, server: string): Promise<boolean> {
    return debuggerLeft(this.#sql, name, server);
  }

  async close(): Promise<void> {
    await this.#groups.close();
    await this.#appender.close();
    await this.#packer.close();
    await this.#sql.close();
  }

  createBatch(batch: NewBatch): Promise<void> {
    return this.#sql.write((tx) => batches.createBatch(tx, batch));
  }

  addTasks(
    batch: string,
    from: number,
    tasks: readonly TaskRecord[],
    rates?: Readonly<Record<string, TaskRate>>,
  ): Promise<void> {
    return addTasks(this.#sql, batch, from, tasks, rates);
  }

  addRescored(batch: string, from: number, tasks: readonly RescoredTask[]): Promise<void> {
    return addRescored(this.#sql, batch, from, tasks);
  }

  seal(batch: string): Promise<void> {
    return this.#sql.write((tx) => batches.seal(tx, batch));
  }

  stop(batch: string, reason: string): Promise<void> {
    return this.#sql.write((tx) => batches.stop(tx, batch, reason));
  }

  async importRollouts(batch: string, rollouts: readonly ImportedRollout[]): Promise<void> {
    await this.#sql.write((tx) => importRollouts(tx, batch, rollouts));
    this.#packer.schedule();
  }

  async batchProgress(batch: string, passes?: number): Promise<BatchProgress> {
    await this.#complete(batch);
    return this.#sql.read((db) => batches.batchProgress(db, batch, passes));
  }

  batch(id: string): Promise<BatchRecord | undefined> {
    return this.#sql.read((db) => lists.getBatch(db, id));
  }

  batches(page: { before?: string; limit: number; reader?: string }): Promise<BatchPage> {
    return this.#sql.read((db) => lists.listBatches(db, page));
  }

  activeBatches(): Promise<BatchRecord[]> {
    return this.#sql.read((db) => lists.listActive(db));
  }

  tasks(batch: string, page: { after?: number; limit: number }): Promise<{ tasks: TaskRecord[]; next?: number }> {
    return this.#sql.read((db) => listTasks(db, batch, page));
  }

  task(batch: string, index: number): Promise<TaskRecord | undefined> {
    return this.#sql.read((db) => findTask(db, batch, index));
  }

  async rollouts(
    batch: string,
    page: { after?: string; limit: number; task?: string; attempt?: number; all?: boolean },
  ): Promise<RolloutPage> {
    await this.#complete(batch);
    return this.#sql.read((db) => lists.listRollouts(db, batch, page));
  }

  rollout(id: string): Promise<RolloutRecord | undefined> {
    return this.#sql.read((db) => lists.getRollout(db, id));
  }

  leasedRollouts(batch: string): Promise<RolloutRow[]> {
    return this.#sql.read((db) => lists.leasedRollouts(db, batch));
  }

  async rowsSince(batch: string, rev: number, limit: number): Promise<RolloutRow[]> {
    await this.#complete(batch);
    return this.#sql.read((db) => lists.rowsSince(db, batch, rev, limit));
  }

  addGroup(batch: string, group: string, asked: AskedGroup): Promise<GroupRow> {
    return this.#groups.add({ batch, group, asked });
  }

  groups(batch: string, page: { after?: number; limit: number; group?: string }): Promise<GroupPage> {
    return this.#sql.read((db) => groups.listGroups(db, batch, page));
  }

  finishedGroups(batch: string, rev: number, limit: number): Promise<FinishedGroupRecord[]> {
    return this.#sql.read((db) => groups.finishedGroups(db, batch, rev, limit));
  }

  cancelGroup(batch: string, group: string, why: string): Promise<boolean> {
    return this.#sql.write((tx) => groups.cancelGroup(tx, batch, group, why));
  }

  filterGroup(batch: string, group: string, filtered: FilteredGroup): Promise<FilteredGroup> {
    return this.#sql.write((tx) => groups.filterGroup(tx, batch, group, filtered));
  }

  deliverGroup(batch: string, group: string, delivery: { rev: number; stale: readonly string[] }): Promise<boolean> {
    return this.#sql.write((tx) => groups.deliverGroup(tx, batch, group, delivery));
  }

  replayGroup(batch: string, group: string, replayed: readonly ReplayedRollout[]): Promise<readonly ReplayedRollout[]> {
    return this.#sql.write((tx) => groups.replayGroup(tx, batch, group, replayed));
  }

  earlierGroups(
    batch: string,
    task: string,
    page: { before?: number | undefined; limit: number },
  ): Promise<FinishedGroupRecord[]> {
    return this.#sql.read((db) => groups.earlierGroups(db, batch, task, page));
  }

  expireGroups(batch: string): Promise<number | undefined> {
    return this.#sql.write((tx) => groups.expireGroups(tx, batch));
  }

  nextDeadline(batch: string): Promise<number | undefined> {
    return this.#sql.read((db) => groups.deadlineOf(db, batch));
  }

  groupCallbacks(): Promise<{ batch: string; rev: number }[]> {
    return this.#sql.read((db) => groups.listCallbacks(db));
  }

  callbackSent(batch: string, rev: number): Promise<void> {
    return this.#sql.write((tx) => groups.callbackSent(tx, batch, rev));
  }

  read(stream: string, after: number, maxBytes: number): Promise<{ seq: number; body: string }[]> {
    return this.#sql.read(async (db) => readEvents(db, await lists.streamId(db, stream), after, maxBytes));
  }

  addBatchEvent<K extends EventKind>(batch: string, kind: K, data: EventData[K]): Promise<number> {
    return this.#sql.write((tx) => batches.withBatch(tx, batch, (locked) => addBatchEvent(tx, locked, kind, data)));
  }

  watch(changed: (ids: readonly string[]) => void): () => void {
    return this.#sql.watch(changed);
  }

  openSession(session: NewSession): Promise<void> {
    return this.#sql.write((tx) => sessions.openSession(tx, session, this.#leaseMs), 'urgent');
  }

  beat(session: string): Promise<boolean> {
    return this.#sql.write((tx) => sessions.beat(tx, session, this.#leaseMs));
  }

  async endSession(session: string, why: string): Promise<string[]> {
    return (await this.#sql.write((tx) => sessions.endSession(tx, session, why)))?.rollouts ?? [];
  }

  handOver(session: string, rollout: string, epoch: number): Promise<void> {
    return this.#sql.write((tx) => sessions.handOver(tx, session, rollout, epoch), 'urgent');
  }

  expireSessions(): Promise<{ session: string; worker: string; batch: string; rollouts: string[] }[]> {
    return sessions.expireSessions(this.#sql);
  }

  graceForSessions(): Promise<void> {
    return this.#sql.write((tx) => sessions.graceForSessions(tx, this.#leaseMs));
  }

  sessions(of?: { batch: string; worker?: string }): Promise<SessionRecord[]> {
    return this.#sql.read((db) => sessions.listSessions(db, of));
  }

  takeOver(
    session: NewSession,
    previous: string,
    held: readonly { rollout: string; epoch: number }[],
  ): Promise<TakenOver | undefined> {
    return this.#sql.write((tx) => sessions.takeOver(tx, session, previous, held, this.#leaseMs), 'urgent');
  }

  session(id: string): Promise<OpenSession | undefined> {
    return this.#sql.read((db) => sessions.findSession(db, id));
  }

  adopt(session: string, held: readonly { rollout: string; epoch: number }[]): Promise<AdoptedSession> {
    return this.#sql.write((tx) => sessions.adopt(tx, session, held));
  }

  lease(session: string, want: number, pod?: string): Promise<Lease[]> {
    return this.#leaser.lease({ session, want, pod });
  }

  podRollout(batch: string, pod: string): Promise<string | undefined> {
    return this.#sql.read((db) => podRollout(db, batch, pod));
  }

  storedBytes(rollout: string): Promise<number> {
    return this.#sql.read((db) => storedBytes(db, rollout));
  }

  addStoredBytes(rollout: string, bytes: number): Promise<number> {
    return this.#sql.write((tx) => addStoredBytes(tx, rollout, bytes));
  }

  append(request: AppendRequest): Promise<AppendResult> {
    return this.#appender.append(request);
  }

  async beginScoring(session: string, rollout: string, epoch: number): Promise<TaskRecord | undefined> {
    // Queued synchronously, because its place among the appends counts.
    const marked = await this.#appender.append({ rollout, epoch, from: 0, events: [], scoring: true });
    if (!marked.ok) return undefined;
    const record = await this.rollout(rollout);
    if (record?.row.epoch !== epoch) return undefined;
    // It may have ended since: then its holder has written that.
    if (record.session !== session && record.row.state !== 'ended') return undefined;
    return this.task(record.row.batch, record.row.task_index);
  }

  async closeRollouts(
    selection: RolloutSelection,
    end: { status: RolloutEndStatus; reason: string },
    force: boolean,
  ): Promise<string[]> {
    const closed = await closeRollouts(this.#sql, selection, end, force);
    if (closed.length > 0) this.#packer.schedule();
    return closed;
  }

  retry(batch: string): Promise<number> {
    return this.#sql.write((tx) => batches.retry(tx, batch));
  }

  setPaused(batch: string, paused: boolean, release = false): Promise<void> {
    return this.#sql.write((tx) => batches.setPaused(tx, batch, paused, release));
  }

  setBreakpoints(batch: string, breakpoints: Json): Promise<void> {
    return this.#sql.write((tx) => batches.setBreakpoints(tx, batch, breakpoints));
  }

  claim(batch: string, breakpoint: string, rollout: string): Promise<boolean> {
    return this.#sql.write((tx) => batches.claim(tx, batch, breakpoint, rollout));
  }

  putCommand(command: NewCommand, control?: EventData['control']): Promise<CommandRecord> {
    return this.#sql.write((tx) => commands.putCommand(tx, command, control));
  }

  commandsFor(session: string): Promise<CommandRecord[]> {
    return this.#sql.write((tx) => commands.commandsFor(tx, session));
  }

  finishCommand(command: string, result: Json): Promise<void> {
    return this.#sql.write((tx) => commands.finishCommand(tx, command, result));
  }

  finishWith(command: string, event: CommandEvent, result: (seq: number) => Json): Promise<Json> {
    return this.#sql.write((tx) => commands.finishWith(tx, command, event, result));
  }

  command(id: string): Promise<CommandRecord | undefined> {
    return this.#sql.read((db) => commands.getCommand(db, id));
  }

  elect(role: string): Promise<boolean> {
    return this.#sql.elect(role);
  }

  exclusively<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#sql.exclusively(key, work);
  }

  watchOutage(changed: (why: unknown) => void): void {
    this.#sql.watchOutage?.(changed);
  }

  counts(): Promise<{ queued: number; running: number; held: number }> {
    return this.#sql.read((db) => lists.countAll(db));
  }

  totals(): Promise<StoreTotals> {
    return this.#sql.read((db) => lists.totalAll(db));
  }

  retention(rules: RetentionFile): Promise<RetentionPlan> {
    return planRetention(this.#sql, this.#collectable, rules);
  }

  gc(options: Parameters<Store['gc']>[0]): ReturnType<Store['gc']> {
    return gc(this.#sql, this.#collectable, options);
  }

  /** Adds the rollouts that groups of a batch do not have yet. One that is only read is read as it is. */
  async #complete(batch: string): Promise<void> {
    await completeGroups(this.#sql, batch).catch(() => undefined);
  }

  /** Compresses the streams of all ended rollouts now. */
  pack(): Promise<void> {
    return this.#packer.run();
  }
}
