import { StudioError } from '../../common/errors.ts';
import { canonicalJson, type Json } from '../../common/json.ts';
import { type Trimmed, trimmedError } from '../../common/trimmed.ts';
import { int, quote, stored, text, unquote } from '../sql/row.ts';
import { BATCH, CLAIM, LINEAGE } from '../sql/schema.ts';
import type { Reader, Transaction } from '../sql/sql.ts';
import type { BatchProgress, NewBatch } from '../store.ts';
import { type Batch, batchId, findBatch, lockBatch, noBatch, parentOf, saveBatches } from './batchState.ts';
import { addBlobRefs } from './blobRefs.ts';
import { addBatchEvent } from './events.ts';
import { addCallback } from './groups/queries.ts';
import { endIfDone, Ledger } from './ledger.ts';
import { checkName } from './names.ts';
import { readRollout, SELECT_ROLLOUT } from './rolloutState.ts';
import { addReaders } from './sharing.ts';
import { unneededTasks } from './taskCounts.ts';

/** See `Store.createBatch`. */
export async function createBatch(tx: Transaction, spec: NewBatch): Promise<void> {
  checkName('batch', spec.id);
  const json = canonicalJson(spec);
  const shared = (spec.by === undefined ? undefined : spec.shared) ?? [];
  const written = await tx.insert(
    BATCH,
    ['name', 'spec', 'created_at', 'breakpoints', 'owner', 'shared'],
    [[spec.id, json, tx.now, '[]', spec.by === undefined ? null : quote(spec.by), JSON.stringify(shared)]],
    'ignore',
  );
  const batch = await lockBatch(tx, spec.id).catch((error: unknown) => {
    // The row exists, but is marked as being removed.
    throw StudioError.is(error, 'not_found')
      ? new StudioError('conflict', `Batch ${spec.id} is being removed.`, { hint: 'Use another ID.' })
      : error;
  });
  if (written === 0) {
    if (canonicalJson(batch.spec) === json) return;
    throw new StudioError('conflict', `Another batch with the ID ${spec.id} already exists.`, {
      hint: 'Use another ID.',
    });
  }
  await addBlobRefs(tx, batch.id, [...spec.blobs, spec.submission]);
  await addParents(tx, batch);
  await addReaders(tx, batch.id, shared);
  if (spec.group?.callback !== undefined) await addCallback(tx, batch.id);
  await addBatchEvent(tx, batch, 'batch.start', {
    name: spec.name,
    submission: spec.submission,
    ...parentOf(spec),
    ...(spec.rescores === undefined ? {} : { rescores: spec.rescores.batch }),
    ...(spec.by === undefined ? {} : { by: spec.by }),
  });
  await saveBatches(tx, [batch]);
}

/** A batch keeps the batches whose events it reads. */
async function addParents(tx: Transaction, batch: Batch): Promise<void> {
  const { parent, rescores } = batch.spec;
  if (rescores !== undefined) await addRescoredBatch(tx, batch, rescores.batch);
  if (parent === undefined) return;
  const parents = new Set<number>();
  for (const name of new Set([parent.rollout, ...parent.lineage.map(({ rollout }) => rollout)])) {
    // Locked, so that `gc` cannot remove it at the same time.
    const row = await tx.get(
      'SELECT b.id AS id, b.name AS name, b.trimmed AS trimmed FROM batch b ' +
        `WHERE b.gone = 0 AND b.id = (SELECT batch FROM rollout WHERE name = ?)${tx.dialect.forUpdate}`,
      name,
    );
    if (row === undefined)
      throw new StudioError('not_found', `This store has no rollout ${name} to fork.`, {
        hint: 'Its batch may have been removed by `rollout gc`.',
      });
    if (row['trimmed'] !== null) throw trimmedError(text(row, 'name'), stored<Trimmed>(text(row, 'trimmed')));
    parents.add(int(row, 'id'));
  }
  await tx.insert(
    LINEAGE,
    ['batch', 'parent'],
    Array.from(parents, (id) => [batch.id, id]),
    'ignore',
  );
}

/** A batch that rescores another one keeps that one, and the batches whose events it reads. */
async function addRescoredBatch(tx: Transaction, batch: Batch, rescores: string): Promise<void> {
  const rescored = await lockBatch(tx, rescores);
  if (rescored.trimmed !== undefined) throw trimmedError(rescores, rescored.trimmed);
  const rows = await tx.all('SELECT parent FROM lineage WHERE batch = ?', rescored.id);
  await tx.insert(
    LINEAGE,
    ['batch', 'parent'],
    [rescored.id, ...rows.map((row) => int(row, 'parent'))].map((id) => [batch.id, id]),
    'ignore',
  );
}

/** Changes a batch under its lock. */
export async function withBatch<T>(
  tx: Transaction,
  name: string,
  change: (batch: Batch) => T | Promise<T>,
): Promise<T> {
  const batch = await lockBatch(tx, name);
  const result = await change(batch);
  await saveBatches(tx, [batch]);
  return result;
}

/** See `Store.seal`. */
export async function seal(tx: Transaction, name: string): Promise<void> {
  await withBatch(tx, name, async (batch) => {
    batch.sealed = true;
    await endIfDone(tx, batch);
  });
}

/** See `Store.stop`. */
export async function stop(tx: Transaction, name: string, reason: string): Promise<void> {
  await withBatch(tx, name, async (batch) => {
    if (batch.endedAt !== null) throw ended(batch);
    batch.sealed = true;
    batch.stopping ??= reason;
    await endIfDone(tx, batch);
  });
}

/** See `Store.setPaused`. */
export async function setPaused(tx: Transaction, name: string, paused: boolean, release: boolean): Promise<void> {
  await withBatch(tx, name, (batch) => {
    if (batch.endedAt !== null) throw ended(batch);
    batch.paused = paused;
    batch.released = paused && (release || batch.released);
  });
}

/** See `Store.setBreakpoints`. */
export async function setBreakpoints(tx: Transaction, name: string, breakpoints: Json): Promise<void> {
  await withBatch(tx, name, (batch) => {
    batch.breakpoints = JSON.stringify(breakpoints);
  });
}

/** Attempts of a batch that nothing has settled. A group that was handed out needs none any more. */
const UNSETTLED =
  'batch = ? AND newest = 1 AND settles = 0 AND state = 3 AND NOT EXISTS (SELECT 1 FROM trainer_group g ' +
  'WHERE g.batch = rollout.batch AND g.task = rollout.task AND g.state <> 0)';

/** See `Store.retry`. */
export async function retry(tx: Transaction, name: string): Promise<number> {
  const id = await batchId(tx, name);
  const rows = await tx.all(`${SELECT_ROLLOUT} WHERE ${UNSETTLED} ORDER BY id${tx.dialect.forUpdate}`, id);
  const batch = await lockBatch(tx, name);
  if (batch.spec.imported) throw new StudioError('conflict', `Batch ${name} was imported, so it cannot be run again.`);
  if (batch.trimmed !== undefined) throw trimmedError(name, batch.trimmed);
  const ledger = new Ledger(tx, new Map([[batch.id, batch]]));
  // Another server may have retried an attempt before the batch was locked.
  const unsettled = new Set(
    (await tx.all(`SELECT id FROM rollout WHERE ${UNSETTLED}`, id)).map((row) => int(row, 'id')),
  );
  const retried = rows.map(readRollout).filter((rollout) => unsettled.has(rollout.id));
  await ledger.groups.load(retried, () => batch);
  for (const rollout of retried) ledger.queueRetry(rollout);
  if (retried.length > 0) {
    batch.endedAt = null;
    batch.reason = null;
    batch.stopping = null;
  }
  await ledger.save();
  return retried.length;
}

/** See `Store.claim`. */
export async function claim(tx: Transaction, name: string, breakpoint: string, rollout: string): Promise<boolean> {
  const batch = await batchId(tx, name);
  await tx.insert(CLAIM, ['batch', 'breakpoint', 'rollout'], [[batch, quote(breakpoint), rollout]], 'ignore');
  const row = await tx.get('SELECT rollout FROM claim WHERE batch = ? AND breakpoint = ?', batch, quote(breakpoint));
  return row !== undefined && text(row, 'rollout') === rollout;
}

/** See `Store.batchProgress`. */
export async function batchProgress(db: Reader, name: string, passes: number | undefined): Promise<BatchProgress> {
  const batch = await findBatch(db, name);
  if (batch === undefined) throw noBatch(name);
  const rows =
    passes === undefined
      ? []
      : await db.all(
          'SELECT name FROM task WHERE batch = ? AND open > 0 AND passed > 0 AND passed >= ? ORDER BY idx',
          batch.id,
          passes,
        );
  const { passed, failed, unscored } = batch.counts;
  const unneeded = await unneededTasks(db, batch);
  return {
    settled: passed + failed + unscored,
    failed: failed + unscored,
    tokens: batch.input_tokens + batch.output_tokens + batch.side_input_tokens + batch.side_output_tokens,
    satisfied: rows.map((row) => unquote(text(row, 'name'))),
    ...(unneeded.length === 0 ? {} : { unneeded }),
  };
}

function ended(batch: Batch): StudioError {
  return new StudioError('conflict', `Batch ${batch.name} has ended.`);
}
