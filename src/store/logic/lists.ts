import { StudioError } from '../../common/errors.ts';
import type { BatchPage, RolloutPage } from '../../protocol/client.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { int, quote, text, textOr } from '../sql/row.ts';
import type { Reader, Value } from '../sql/sql.ts';
import type { BatchRecord, RolloutRecord, StoreTotals } from '../store.ts';
import { batchId, batchRecord, batchRow, findBatch, noBatch, readBatch, SELECT_BATCH } from './batchState.ts';
import { batchStream } from './events.ts';
import { lineageOf, readRollout, rolloutRow, SELECT_ROLLOUT_ROW } from './rolloutState.ts';
import { READABLE, readerValues } from './sharing.ts';

/** See `Store.batch`. */
export async function getBatch(db: Reader, name: string): Promise<BatchRecord | undefined> {
  const batch = await findBatch(db, name);
  return batch === undefined ? undefined : batchRecord(batch);
}

/** See `Store.batches`. */
export async function listBatches(
  db: Reader,
  page: { before?: string; limit: number; reader?: string },
): Promise<BatchPage> {
  const before = page.before === undefined ? Number.MAX_SAFE_INTEGER : await batchId(db, page.before);
  const { reader } = page;
  const mine = reader === undefined ? '' : ` AND ${READABLE}`;
  const rows = await db.all(
    `${SELECT_BATCH} b WHERE id < ? AND gone = 0${mine} ORDER BY id DESC LIMIT ?`,
    before,
    ...(reader === undefined ? [] : readerValues(reader)),
    page.limit + 1,
  );
  const batches = rows.slice(0, page.limit).map((row) => batchRow(readBatch(row)));
  const last = batches.at(-1);
  return { batches, ...(rows.length > page.limit && last !== undefined ? { next: last.batch } : {}) };
}

/** See `Store.activeBatches`. */
export async function listActive(db: Reader): Promise<BatchRecord[]> {
  const batches = (await db.all(`${SELECT_BATCH} WHERE ended_at IS NULL AND gone = 0 ORDER BY id`)).map(readBatch);
  return batches.sort((a, b) => b.spec.priority - a.spec.priority || a.id - b.id).map(batchRecord);
}

/** See `Store.rollouts`. The cursor is `task.attempt.try`. */
export async function listRollouts(
  db: Reader,
  name: string,
  page: { after?: string; limit: number; task?: string; attempt?: number; all?: boolean },
): Promise<RolloutPage> {
  const batch = await batchId(db, name);
  const values: Value[] = [batch];
  let where = 'r.batch = ?';
  if (page.all !== true) where += ' AND r.newest = 1';
  if (page.after !== undefined) {
    where += ' AND (r.task, r.attempt, r.try) > (?, ?, ?)';
    values.push(...cursor(page.after));
  }
  if (page.task !== undefined) {
    where += ' AND r.task = (SELECT idx FROM task WHERE batch = ? AND name = ?)';
    values.push(batch, quote(page.task));
  }
  if (page.attempt !== undefined) {
    where += ' AND r.attempt = ?';
    values.push(page.attempt);
  }
  const rows = await db.all(
    `${SELECT_ROLLOUT_ROW} WHERE ${where} ORDER BY r.task, r.attempt, r.try LIMIT ?`,
    ...values,
    page.limit + 1,
  );
  const rollouts = rows.slice(0, page.limit).map(rolloutRow);
  const last = rollouts.at(-1);
  return {
    rollouts,
    ...(rows.length > page.limit && last !== undefined
      ? { next: `${last.task_index}.${last.attempt}.${last.try}` }
      : {}),
  };
}

function cursor(after: string): number[] {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(after);
  if (match === null)
    throw new StudioError('usage', `${JSON.stringify(after)} is not a valid cursor of this list.`, {
      hint: 'Use `next` of the previous page.',
    });
  return match.slice(1).map(Number);
}

/** See `Store.rollout`. */
export async function getRollout(db: Reader, name: string): Promise<RolloutRecord | undefined> {
  const row = await db.get(`${SELECT_ROLLOUT_ROW} WHERE r.name = ? AND b.gone = 0`, name);
  if (row === undefined) return undefined;
  const batch = await findBatch(db, text(row, 'batch_name'));
  if (batch === undefined) return undefined;
  const session = await db.get(
    'SELECT name FROM session WHERE id = ?',
    row['session'] === null ? 0 : int(row, 'session'),
  );
  const { guard, epoch, origin } = readRollout(row);
  return {
    row: rolloutRow(row),
    lineage: lineageOf(batch, origin),
    ...(guard?.scoring === epoch ? { scoring: true } : {}),
    ...(session === undefined ? {} : { session: textOr(session, 'name', '') }),
  };
}

/** See `Store.rowsSince`. */
export async function rowsSince(db: Reader, name: string, rev: number, limit: number): Promise<RolloutRow[]> {
  const batch = await batchId(db, name);
  const rows = await db.all(
    `${SELECT_ROLLOUT_ROW} WHERE r.batch = ? AND r.rev > ? ORDER BY r.rev LIMIT ?`,
    batch,
    rev,
    limit,
  );
  return rows.map(rolloutRow);
}

/** See `Store.leasedRollouts`. */
export async function leasedRollouts(db: Reader, name: string): Promise<RolloutRow[]> {
  const batch = await batchId(db, name);
  const rows = await db.all(
    `${SELECT_ROLLOUT_ROW} WHERE r.session IN (SELECT id FROM session WHERE batch = ?) ORDER BY r.id`,
    batch,
  );
  return rows.map(rolloutRow);
}

/** Returns the integer ID of a rollout's stream or of a batch's own stream. Throws `not_found`. */
export async function streamId(db: Reader, name: string): Promise<number> {
  const rollout = await db.get(
    'SELECT r.id AS id FROM rollout r JOIN batch b ON b.id = r.batch WHERE r.name = ? AND b.gone = 0',
    name,
  );
  if (rollout !== undefined) return int(rollout, 'id');
  const batch = await db.get('SELECT id FROM batch WHERE name = ? AND gone = 0', name);
  if (batch !== undefined) return batchStream(int(batch, 'id'));
  throw name.startsWith('b')
    ? noBatch(name)
    : new StudioError('not_found', `This store has no rollout ${name}.`, {
        hint: 'List the rollouts of a batch with `rollout show BATCH`.',
      });
}

/** See `Store.counts`. */
export async function countAll(db: Reader): Promise<{ queued: number; running: number; held: number }> {
  // Only rollouts that can be leased or are running: an open import has none.
  const batches = (await db.all(`${SELECT_BATCH} WHERE ended_at IS NULL AND gone = 0`))
    .map(readBatch)
    .filter(({ spec }) => !spec.imported);
  const sum = (name: 'queued' | 'running' | 'held'): number =>
    batches.reduce((total, { counts }) => total + counts[name], 0);
  return { queued: sum('queued'), running: sum('running'), held: sum('held') };
}

/** See `Store.totals`. */
export async function totalAll(db: Reader): Promise<StoreTotals> {
  const batches = { open: 0, running: 0, paused: 0, ended: 0 };
  const settled = { passed: 0, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0 };
  const outcomes = Object.keys(settled) as (keyof typeof settled)[]; // its own keys
  const states = Object.keys(batches) as (keyof typeof batches)[]; // its own keys
  // The same states as in `batchRow`.
  const state =
    "CASE WHEN ended_at IS NOT NULL THEN 'ended' WHEN paused <> 0 THEN 'paused' WHEN sealed <> 0 THEN 'running' " +
    "ELSE 'open' END";
  const sums = outcomes.map((outcome) => `CAST(SUM(${outcome}) AS BIGINT) AS ${outcome}`).join(', ');
  for (const row of await db.all(
    `SELECT ${state} AS state, COUNT(*) AS batches, ${sums} FROM batch WHERE gone = 0 GROUP BY 1`,
  )) {
    for (const batchState of states) if (text(row, 'state') === batchState) batches[batchState] += int(row, 'batches');
    for (const outcome of outcomes) settled[outcome] += int(row, outcome);
  }
  return { batches, settled };
}
