/** Groups that trainers request: many requests that arrive together are one transaction. */
import { StudioError } from '../../../common/errors.ts';
import { canonicalJson } from '../../../common/json.ts';
import type { GroupRow } from '../../../protocol/groups.ts';
import { blobsOfTask, datasetId, type TaskRecord } from '../../../trace/task.ts';
import type { GroupRequest } from '../../groupStore.ts';
import { int, quote } from '../../sql/row.ts';
import { TASK, TRAINER_GROUP } from '../../sql/schema.ts';
import type { Sql, Transaction } from '../../sql/sql.ts';
import { type Batch, lockBatches, noBatch, saveBatches } from '../batchState.ts';
import { addBlobRefs } from '../blobRefs.ts';
import { insertRollouts, type NewRollout } from '../rolloutState.ts';
import { refusedTasks, taskOf } from '../taskCounts.ts';
import { withNames } from '../tasks.ts';
import { datasetTasks } from './dataset.ts';
import { groupRow, readGroup, SELECT_GROUP, taskOfGroup } from './groupState.ts';

/** Rollouts queued per transaction, so that other transactions do not wait long. */
const ROLLOUTS_AT_ONCE = 2000;

interface NewGroup {
  readonly batch: string;
  readonly group: string;
  readonly request: GroupRequest;
}

interface PendingGroup extends NewGroup {
  readonly resolve: (row: GroupRow) => void;
  readonly reject: (error: unknown) => void;
}

/** Adds groups. See `Store.addGroup`. */
export class GroupAdder {
  readonly #sql: Sql;
  #waiting: PendingGroup[] = [];
  #writing: Promise<void> | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  add(group: NewGroup): Promise<GroupRow> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...group, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    await Promise.resolve(); // those of the same moment are written together
    while (this.#waiting.length > 0) await this.#write();
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    let some: PendingGroup[] | undefined;
    try {
      const results = await this.#sql.write((tx) => {
        some ??= this.#next(); // as late as possible, and the same when it runs again
        return addGroups(tx, some);
      });
      some?.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined || result instanceof StudioError) reject(result);
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of some ?? this.#next()) reject(error);
    }
  }

  #next(): PendingGroup[] {
    let [count, rollouts] = [0, 0];
    for (const { request } of this.#waiting) {
      rollouts += request.size + request.extra;
      if (count > 0 && rollouts > ROLLOUTS_AT_ONCE) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}

/** Adds groups to their batches. Returns the row of each, or why it cannot be added. */
async function addGroups(tx: Transaction, groups: readonly NewGroup[]): Promise<(GroupRow | StudioError)[]> {
  const names = [...new Set(groups.map(({ batch }) => batch))];
  const ids = await tx.all(`SELECT id FROM batch WHERE ${tx.dialect.anyText('name')} AND gone = 0`, names);
  const locked = await lockBatches(
    tx,
    ids.map((row) => int(row, 'id')),
  );
  const batches = new Map(Array.from(locked.values(), (batch) => [batch.name, batch]));
  const results = new Map<NewGroup, GroupRow | StudioError>();
  for (const name of names) {
    const own = groups.filter(({ batch }) => batch === name);
    const batch = batches.get(name);
    if (batch === undefined) for (const group of own) results.set(group, noBatch(name));
    else await addTo(tx, batch, own, results);
  }
  await saveBatches(tx, batches.values());
  return groups.map((group) => results.get(group) ?? new StudioError('internal', 'A group got no result.'));
}

async function addTo(
  tx: Transaction,
  batch: Batch,
  groups: readonly NewGroup[],
  results: Map<NewGroup, GroupRow | StudioError>,
): Promise<void> {
  const known = new Map(
    (
      await tx.all(
        `${SELECT_GROUP} WHERE g.batch = ? AND ${tx.dialect.anyText('g.name')}`,
        batch.id,
        groups.map(({ group }) => group),
      )
    )
      .map(readGroup)
      .map((group) => [group.name, { request: group.request, row: groupRow(batch.name, group) }]),
  );
  const tasks = await datasetTasks(
    tx,
    batch.id,
    groups.flatMap(({ request: { task } }) => (typeof task === 'string' ? [task] : [])),
  );
  const closed = await refusedTasks(
    tx,
    batch,
    groups.map(({ request }) => taskOf({ request })),
  );
  const added: { readonly task: TaskRecord; readonly group: NewGroup; readonly row: GroupRow }[] = [];
  for (const group of groups) {
    const before = known.get(group.group);
    if (before !== undefined) {
      const differs = differences(before.request, group.request);
      results.set(
        group,
        differs.length === 0
          ? before.row
          : new StudioError(
              'conflict',
              `Group ${group.group} already exists in batch ${batch.name} with another ${differs.join(', ')}.`,
              { hint: 'Use another ID for another group.', details: { differs } },
            ),
      );
      continue;
    }
    const { task } = group.request;
    const record = typeof task === 'string' ? tasks.get(task) : task;
    const refusal =
      refusalOf(batch) ??
      (record === undefined ? noTask(batch, task) : undefined) ??
      closed.get(taskOf({ request: group.request }));
    if (refusal !== undefined || record === undefined) {
      results.set(group, refusal ?? noTask(batch, task));
      continue;
    }
    const row = newRow(batch, batch.tasks + added.length, group, record, tx.now);
    added.push({ task: taskOfGroup(group.group, record), group, row });
    known.set(group.group, { request: group.request, row });
    results.set(group, row);
  }
  if (added.length > 0) await insert(tx, batch, added);
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
  const rollouts = added.flatMap(({ row }) =>
    Array.from(
      { length: row.open },
      (_none, index): Omit<NewRollout, 'name'> => ({
        task: row.index,
        attempt: index + 1,
        try: 1,
        priority: row.priority,
      }),
    ),
  );
  await insertRollouts(tx, batch, withNames(rollouts, tx.now), 'queued');
  batch.tasks += added.length;
  batch.counts.queued += rollouts.length;
}

function refusalOf(batch: Batch): StudioError | undefined {
  if (batch.spec.group === undefined)
    return new StudioError('conflict', `Batch ${batch.name} was not created for groups.`, {
      hint: 'Create it with `rollout run BATCH.yaml --groups N`, or with `group` in POST /v1/batches.',
    });
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
