/** Groups that trainers request: many requests that arrive together are one transaction. */
import { setImmediate } from 'node:timers/promises';
import { StudioError } from '../../../common/errors.ts';
import { canonicalJson } from '../../../common/json.ts';
import type { GroupRow } from '../../../protocol/groups.ts';
import { blobsOfTask, datasetId, type TaskRecord } from '../../../trace/task.ts';
import type { AskedGroup, GroupRequest } from '../../groupStore.ts';
import { int, quote } from '../../sql/row.ts';
import { TASK, TRAINER_GROUP } from '../../sql/schema.ts';
import type { Sql, Transaction } from '../../sql/sql.ts';
import { type Batch, lockBatches, noBatch, saveBatches } from '../batchState.ts';
import { addBlobRefs } from '../blobRefs.ts';
import { refusedTasks, taskOf } from '../taskCounts.ts';
import { datasetTasks } from './dataset.ts';
import { withDefaults } from './defaults.ts';
import { groupRow, readGroup, SELECT_GROUP, taskOfGroup } from './groupState.ts';
import { Repeats } from './repeats.ts';

/** Rollouts that groups of one transaction have, so that other transactions do not wait long. */
const ROLLOUTS_AT_ONCE = 2000;
/** While more arrive in each turn of the event loop, the first ones wait at most so long for the others. */
const GATHER_MS = 10;
/** The rollouts of groups are added when no group was for so long: the trainer waits for the groups only. */
const COMPLETE_AFTER_MS = 5;

interface RequestedGroup {
  readonly batch: string;
  readonly group: string;
  readonly asked: AskedGroup;
}

interface NewGroup extends RequestedGroup {
  readonly request: GroupRequest;
}

interface PendingGroup extends RequestedGroup {
  readonly resolve: (row: GroupRow) => void;
  readonly reject: (error: unknown) => void;
}

/** Adds groups, and after that their rollouts. See `Store.addGroup`. */
export class GroupAdder {
  readonly #sql: Sql;
  #waiting: PendingGroup[] = [];
  #writing: Promise<void> | undefined;
  /** Batches whose groups may have no rollouts yet, and how many of them there are. */
  #incomplete = new Set<string>();
  #rollouts = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  add(group: RequestedGroup): Promise<GroupRow> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...group, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Adds what is left. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#complete();
  }

  async #writeAll(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#gather();
    while (this.#waiting.length > 0) {
      await this.#write();
      if (this.#rollouts >= ROLLOUTS_AT_ONCE) await this.#complete();
    }
    this.#writing = undefined;
    if (this.#incomplete.size > 0) this.#timer = setTimeout(() => void this.#complete(), COMPLETE_AFTER_MS);
  }

  /** Adds rollouts. If that fails, the next one who locks the batch does it. */
  async #complete(): Promise<void> {
    clearTimeout(this.#timer);
    const batches = [...this.#incomplete];
    this.#incomplete.clear();
    this.#rollouts = 0;
    for (const batch of batches) await completeGroups(this.#sql, batch).catch(() => undefined);
  }

  /**
   * Waits for the requests that arrive now. A trainer requests the groups of a step at once, and the server reads them
   * in several turns of the event loop: without this, the first one would be committed, and begun, before the others.
   */
  async #gather(): Promise<void> {
    const until = performance.now() + GATHER_MS;
    for (let before = 0; this.#waiting.length > before && performance.now() < until; ) {
      before = this.#waiting.length;
      await setImmediate();
    }
  }

  async #write(): Promise<void> {
    let some: PendingGroup[] | undefined;
    try {
      const results = await this.#sql.write((tx) => {
        some ??= this.#waiting.splice(0); // as late as possible, and the same when it runs again
        return addGroups(tx, some);
      });
      const left: PendingGroup[] = [];
      for (const one of some ?? []) {
        const result = results.get(one);
        if (result === undefined) left.push(one);
        else if (result instanceof StudioError) one.reject(result);
        else {
          one.resolve(result);
          this.#incomplete.add(one.batch);
          this.#rollouts += result.open;
        }
      }
      this.#waiting.unshift(...left);
    } catch (error) {
      for (const { reject } of some ?? this.#waiting.splice(0)) reject(error);
    }
  }
}

/** Adds the rollouts that groups of a batch do not have yet. Does nothing for a batch that is not there. */
export async function completeGroups(sql: Sql, batch: string): Promise<void> {
  const row = await sql.read((db) => db.get('SELECT id FROM batch WHERE name = ? AND gone = 0 AND pending > 0', batch));
  if (row !== undefined) await sql.write((tx) => lockBatches(tx, [int(row, 'id')]));
}

type Results = Map<RequestedGroup, GroupRow | StudioError>;

/**
 * Adds groups to their batches. Returns the row of each, or why it cannot be added. Those that are too many for one
 * transaction have no result; at least one has.
 */
async function addGroups(tx: Transaction, groups: readonly RequestedGroup[]): Promise<Results> {
  const names = [...new Set(groups.map(({ batch }) => batch))];
  const ids = await tx.all(`SELECT id FROM batch WHERE ${tx.dialect.anyText('name')} AND gone = 0`, names);
  const locked = await lockBatches(
    tx,
    ids.map((row) => int(row, 'id')),
    'pending',
  );
  const batches = new Map(Array.from(locked.values(), (batch) => [batch.name, batch]));
  const results: Results = new Map();
  let room = ROLLOUTS_AT_ONCE;
  for (const name of names) {
    const own = groups.filter(({ batch }) => batch === name);
    const batch = batches.get(name);
    if (batch === undefined) for (const group of own) results.set(group, noBatch(name));
    else if (room > 0) room -= await addTo(tx, batch, own, { room, isFirst: room === ROLLOUTS_AT_ONCE }, results);
  }
  await saveBatches(tx, batches.values());
  return results;
}

/** Adds groups to a batch until there is no `room` for the rollouts of the next one. Returns how many it added. */
async function addTo(
  tx: Transaction,
  batch: Batch,
  asked: readonly RequestedGroup[],
  { room, isFirst }: { readonly room: number; readonly isFirst: boolean },
  results: Results,
): Promise<number> {
  const known = new Map(
    (
      await tx.all(
        `${SELECT_GROUP} WHERE g.batch = ? AND ${tx.dialect.anyText('g.name')}`,
        batch.id,
        asked.map(({ group }) => group),
      )
    )
      .map(readGroup)
      .map((group) => [
        group.name,
        { request: group.request, row: groupRow(batch.name, group), repeats: group.repeats },
      ]),
  );
  const repeats = new Repeats();
  const tasks = await datasetTasks(
    tx,
    batch.id,
    asked.flatMap(({ asked: { task } }) => (typeof task === 'string' ? [task] : [])),
  );
  const closed = await refusedTasks(
    tx,
    batch,
    asked.map((one) => taskOf({ request: one.asked })),
  );
  const added: { readonly task: TaskRecord; readonly group: NewGroup; readonly row: GroupRow }[] = [];
  let rollouts = 0;
  for (const one of asked) {
    const request = batch.spec.group === undefined ? noGroups(batch) : withDefaults(one.asked, batch.spec.group);
    if (request instanceof StudioError) {
      results.set(one, request);
      continue;
    }
    const before = known.get(one.group);
    if (before !== undefined) {
      const differs = differences(before.request, request);
      if (differs.length === 0) repeats.add(one.group, before.repeats);
      results.set(
        one,
        differs.length === 0
          ? before.row
          : new StudioError(
              'conflict',
              `Group ${one.group} already exists in batch ${batch.name} with another ${differs.join(', ')}.`,
              { hint: 'Use another ID for another group.', details: { differs } },
            ),
      );
      continue;
    }
    const { task } = request;
    const record = typeof task === 'string' ? tasks.get(task) : task;
    const refusal =
      refusalOf(batch) ?? (record === undefined ? noTask(batch, task) : undefined) ?? closed.get(taskOf({ request }));
    if (refusal !== undefined || record === undefined) {
      results.set(one, refusal ?? noTask(batch, task));
      continue;
    }
    const members = request.size + request.extra;
    if (rollouts + members > room && !(isFirst && rollouts === 0)) break;
    rollouts += members;
    const group = { ...one, request };
    const row = newRow(batch, batch.tasks + added.length, group, record, tx.now);
    added.push({ task: taskOfGroup(one.group, record), group, row });
    known.set(one.group, { request, row, repeats: 0 });
    results.set(one, row);
  }
  if (added.length > 0) await insert(tx, batch, added);
  await repeats.save(tx, batch);
  return rollouts;
}

function newRow(batch: Batch, index: number, group: NewGroup, record: TaskRecord, now: number): GroupRow {
  const { size, extra, min_usable, priority, sampling, deadline_s } = group.request;
  return {
    batch: batch.name,
    group: group.group,
    task: datasetId(record),
    index,
    state: 'open',
    size,
    extra,
    min_usable,
    priority,
    ...(sampling === undefined ? {} : { sampling }),
    requested_at: now,
    ...(deadline_s === undefined ? {} : { deadline_at: now + Math.ceil(deadline_s * 1000) }),
    scored: 0,
    open: size + extra,
    replaced: 0,
  };
}

async function insert(
  tx: Transaction,
  batch: Batch,
  added: readonly { readonly task: TaskRecord; readonly group: NewGroup; readonly row: GroupRow }[],
): Promise<void> {
  await tx.insert(
    TASK,
    ['batch', 'idx', 'name', 'record', 'open', 'passed'],
    added.map(({ task, row }) => [batch.id, row.index, quote(task.id), JSON.stringify(task), row.open, 0]),
  );
  await tx.insert(
    TRAINER_GROUP,
    [
      'batch',
      'task',
      'name',
      'request',
      'size',
      'extra',
      'min_usable',
      'members',
      'open',
      'requested_at',
      'deadline_at',
    ],
    added.map(({ group, row }) => [
      batch.id,
      row.index,
      row.group,
      JSON.stringify(group.request),
      row.size,
      row.extra,
      row.min_usable,
      row.open,
      row.open,
      row.requested_at,
      row.deadline_at ?? null,
    ]),
  );
  await addBlobRefs(tx, batch.id, [...new Set(added.flatMap(({ task }) => blobsOfTask(task)))]);
  batch.tasks += added.length;
  batch.pending += added.length;
  batch.counts.queued += added.reduce((sum, { row }) => sum + row.open, 0);
}

function noGroups(batch: Batch): StudioError {
  return new StudioError('conflict', `Batch ${batch.name} was not created for groups.`, {
    hint: 'Create it with `rollout run BATCH.yaml --groups N`, or with `group` in POST /v1/batches.',
  });
}

function refusalOf(batch: Batch): StudioError | undefined {
  if (batch.endedAt !== null) return new StudioError('conflict', `Batch ${batch.name} has ended.`);
  if (batch.stopping !== null) return new StudioError('conflict', `Batch ${batch.name} is ending: ${batch.stopping}`);
  if (batch.sealed) return new StudioError('conflict', `Batch ${batch.name} is sealed, so no groups can be requested.`);
  return undefined;
}

function noTask(batch: Batch, task: GroupRequest['task']): StudioError {
  const id = typeof task === 'string' ? task : task.id;
  return new StudioError('not_found', `Batch ${batch.name} has no task ${JSON.stringify(id.slice(0, 100))}.`, {
    hint: 'Send the whole task, or one that the batch was created with.',
  });
}

/** Returns the names of the fields of a request in which two differ. */
function differences(before: GroupRequest, now: GroupRequest): string[] {
  const fields = ['task', 'size', 'extra', 'min_usable', 'deadline_s', 'priority', 'sampling'] as const;
  return fields.filter((field) => canonicalJson(before[field] ?? null) !== canonicalJson(now[field] ?? null));
}
