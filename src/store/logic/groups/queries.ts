import { StudioError } from '../../../common/errors.ts';
import type { GroupPage } from '../../../protocol/groups.ts';
import type { FilteredGroup, FinishedGroupRecord, ReplayedRollout } from '../../groupStore.ts';
import { int, intOr, text } from '../../sql/row.ts';
import { GROUP_CALLBACK } from '../../sql/schema.ts';
import type { Reader, Transaction, Value } from '../../sql/sql.ts';
import { type Batch, batchId, lockBatch, saveBatches } from '../batchState.ts';
import { Ledger } from '../ledger.ts';
import {
  finishedRecord,
  type Group,
  type GroupResult,
  groupRow,
  readGroup,
  SELECT_GROUP,
  saveGroups,
} from './groupState.ts';
import { reopenGroup } from './reopening.ts';

/** See `Store.groups`. */
export async function listGroups(
  db: Reader,
  name: string,
  page: { after?: number; limit: number; group?: string },
): Promise<GroupPage> {
  const batch = await batchId(db, name);
  const values: Value[] = [batch, page.after ?? -1];
  if (page.group !== undefined) values.push(page.group);
  const rows = await db.all(
    `${SELECT_GROUP} WHERE g.batch = ? AND g.task > ?${page.group === undefined ? '' : ' AND g.name = ?'} ` +
      'ORDER BY g.task LIMIT ?',
    ...values,
    page.limit + 1,
  );
  const groups = rows.slice(0, page.limit).map((row) => groupRow(name, readGroup(row)));
  const last = groups.at(-1);
  return { groups, ...(rows.length > page.limit && last !== undefined ? { next: last.index } : {}) };
}

/** See `Store.finishedGroups`. */
export async function finishedGroups(
  db: Reader,
  name: string,
  after: number,
  limit: number,
): Promise<FinishedGroupRecord[]> {
  const rows = await db.all(
    `${SELECT_GROUP} WHERE g.batch = ? AND g.rev IS NOT NULL AND g.rev > ? ORDER BY g.rev LIMIT ?`,
    await batchId(db, name),
    after,
    limit,
  );
  return rows.flatMap((row) => finishedRecord(name, readGroup(row)) ?? []);
}

/** See `Store.cancelGroup`. */
export async function cancelGroup(tx: Transaction, name: string, group: string, why: string): Promise<boolean> {
  const { batch, found } = await lockGroup(tx, name, group);
  if (found.state !== 'open') return false;
  const ledger = new Ledger(tx, new Map([[batch.id, batch]]));
  ledger.groups.add(batch, found);
  ledger.groups.cancel(found, why);
  await ledger.save();
  return true;
}

/** See `Store.filterGroup`. */
export async function filterGroup(
  tx: Transaction,
  name: string,
  group: string,
  filtered: FilteredGroup,
): Promise<FilteredGroup> {
  return (await recordOnce(tx, name, group, { filtered })).filtered ?? filtered;
}

/** See `Store.deliverGroup`. */
export async function deliverGroup(
  tx: Transaction,
  name: string,
  group: string,
  { rev, stale }: { rev: number; stale: readonly string[] },
): Promise<boolean> {
  const { batch, found } = await lockGroup(tx, name, group);
  if (found.rev !== rev || found.result === null) return false; // another reader was earlier
  if (found.result.delivered === true) return true;
  if (stale.length > 0 && (await reopenGroup(tx, batch, found, stale))) return false;
  found.result = { ...found.result, delivered: true };
  await saveGroups(tx, [found]);
  return true;
}

/** See `Store.replayGroup`. */
export async function replayGroup(
  tx: Transaction,
  name: string,
  group: string,
  replayed: readonly ReplayedRollout[],
): Promise<readonly ReplayedRollout[]> {
  return (await recordOnce(tx, name, group, { replayed })).replayed ?? replayed;
}

/** Adds to the result of a group what it does not have yet. Its `rev` stays: it is the cursor of the feed. */
async function recordOnce(
  tx: Transaction,
  name: string,
  group: string,
  added: Pick<GroupResult, 'filtered' | 'replayed'>,
): Promise<GroupResult> {
  const { batch, found } = await lockGroup(tx, name, group);
  if (found.rev === null || found.result === null)
    throw new StudioError('conflict', `Group ${group} of batch ${name} has not ended.`, {
      hint: 'Read it in the feed when it has.',
    });
  const isFiltered = found.result.filtered === undefined && typeof added.filtered?.why === 'string';
  const replayed = found.result.replayed === undefined ? (added.replayed?.length ?? 0) : 0;
  if (isFiltered || replayed > 0) {
    batch.filtered_groups += isFiltered ? 1 : 0;
    batch.filtered_tokens += isFiltered ? added.filtered.tokens : 0;
    batch.replayed_groups += replayed > 0 ? 1 : 0;
    batch.replayed_rollouts += replayed;
    await saveBatches(tx, [batch]);
  }
  found.result = { ...added, ...found.result };
  await saveGroups(tx, [found]);
  return found.result;
}

/** See `Store.earlierGroups`. */
export async function earlierGroups(
  db: Reader,
  name: string,
  task: string,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<FinishedGroupRecord[]> {
  const rows = await db.all(
    `${SELECT_GROUP} WHERE g.batch = ? AND g.rev IS NOT NULL AND g.rev < ? ORDER BY g.rev DESC LIMIT ?`,
    await batchId(db, name),
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return rows.flatMap((row) => {
    const record = finishedRecord(name, readGroup(row));
    return record?.row.task === task ? [record] : [];
  });
}

async function lockGroup(tx: Transaction, name: string, group: string): Promise<{ batch: Batch; found: Group }> {
  const batch = await lockBatch(tx, name);
  const row = await tx.get(`${SELECT_GROUP} WHERE g.batch = ? AND g.name = ?`, batch.id, group);
  if (row === undefined)
    throw new StudioError('not_found', `Batch ${name} has no group ${JSON.stringify(group.slice(0, 100))}.`, {
      hint: 'List its groups with `rollout groups BATCH`.',
    });
  return { batch, found: readGroup(row) };
}

/** See `Store.expireGroups`. */
export async function expireGroups(tx: Transaction, name: string): Promise<number | undefined> {
  const batch = await lockBatch(tx, name);
  const rows = await tx.all(
    `${SELECT_GROUP} WHERE g.batch = ? AND g.state = 0 AND g.deadline_at <= ?
     ORDER BY g.deadline_at, g.id`,
    batch.id,
    tx.now,
  );
  if (rows.length > 0) {
    const ledger = new Ledger(tx, new Map([[batch.id, batch]]));
    for (const row of rows) ledger.groups.add(batch, readGroup(row));
    await ledger.save();
  }
  return nextDeadline(tx, batch.id);
}

/** See `Store.nextDeadline`. */
export async function deadlineOf(db: Reader, name: string): Promise<number | undefined> {
  return nextDeadline(db, await batchId(db, name));
}

async function nextDeadline(db: Reader, batch: number): Promise<number | undefined> {
  const row = await db.get(
    'SELECT min(deadline_at) AS at FROM trainer_group WHERE batch = ? AND state = 0 AND deadline_at IS NOT NULL',
    batch,
  );
  return row === undefined ? undefined : intOr(row, 'at', undefined);
}

/** See `Store.groupCallbacks`. */
export async function listCallbacks(db: Reader): Promise<{ batch: string; rev: number }[]> {
  const rows = await db.all(
    `SELECT b.name AS batch, c.rev AS rev FROM group_callback c JOIN batch b ON b.id = c.batch
     WHERE b.gone = 0 AND (b.ended_at IS NULL
       OR EXISTS (SELECT 1 FROM trainer_group g WHERE g.batch = c.batch AND g.rev > c.rev))
     ORDER BY b.id`,
  );
  return rows.map((row) => ({ batch: text(row, 'batch'), rev: int(row, 'rev') }));
}

/** See `Store.callbackSent`. */
export async function callbackSent(tx: Transaction, name: string, rev: number): Promise<void> {
  const batch = await batchId(tx, name);
  await tx.run('UPDATE group_callback SET rev = ? WHERE batch = ? AND rev < ?', rev, batch, rev);
}

/** Adds the callback of a new batch. */
export async function addCallback(tx: Transaction, batch: number): Promise<void> {
  await tx.insert(GROUP_CALLBACK, ['batch', 'rev'], [[batch, 0]], 'ignore');
}
