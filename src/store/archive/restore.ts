/** Restores an archive into an empty store. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
import { type ArchiveFrame, type BeginRestore, beginRestore, type RestoreResult } from '../../protocol/archive.ts';
import { lockBatches } from '../logic/batchState.ts';
import { addBatchEvent } from '../logic/events.ts';
import { Ledger } from '../logic/ledger.ts';
import { readRollout, SELECT_ROLLOUT } from '../logic/rolloutState.ts';
import { META } from '../sql/meta.ts';
import { int, text } from '../sql/row.ts';
import { STORE_VERSION } from '../sql/schema.ts';
import type { Reader, Sql, Transaction, Value } from '../sql/sql.ts';
import { readRows } from './codec.ts';
import { ARCHIVED, type ArchivedTable, archivedTable } from './tables.ts';

/** Value of the column `gone`: a batch that is not complete yet. Nobody sees it, and `gc` leaves it alone. */
export const INCOMPLETE = 2;
const STATE = 'restore';
/** Where batches are counted, so that IDs may be restored as they were. */
const EMPTY = ['batch', 'rollout', 'blob_pack', 'trainer_group', 'command'] as const;

const restoreState = beginRestore.extend({ done: z.number().int() });
type RestoreState = z.infer<typeof restoreState>;

async function readState(db: Reader): Promise<RestoreState | undefined> {
  const row = await db.get('SELECT value FROM meta WHERE name = ?', STATE);
  return row === undefined ? undefined : restoreState.parse(JSON.parse(text(row, 'value')));
}

async function writeState(tx: Transaction, state: RestoreState | undefined): Promise<void> {
  await tx.run('DELETE FROM meta WHERE name = ?', STATE);
  if (state !== undefined) await tx.insert(META, ['name', 'value'], [[STATE, JSON.stringify(state)]]);
}

/** See `ArchiveStore.beginRestore`. */
export async function begin(sql: Sql, store: string, archive: BeginRestore): Promise<{ frames: number }> {
  if (archive.store_version > STORE_VERSION)
    throw new StudioError(
      'version',
      `The backup was made by a newer Rollout Studio (store version ${archive.store_version}; this server supports ` +
        `${STORE_VERSION}).`,
      { hint: 'Update the server, then restore again.' },
    );
  return sql.write(async (tx) => {
    const state = await readState(tx);
    await requireEmpty(tx, store, state);
    if (state?.sha256 === archive.sha256) return { frames: state.done };
    // What an interrupted restore of another archive left.
    if (state !== undefined) for (const { table } of ARCHIVED) await tx.run(`DELETE FROM ${table.name}`);
    await writeState(tx, { ...archive, done: 0 });
    return { frames: 0 };
  });
}

/** Throws `conflict` if the store has something that is not of an interrupted restore. */
async function requireEmpty(db: Reader, store: string, state: RestoreState | undefined): Promise<void> {
  const visible = await db.get('SELECT count(*) AS n FROM batch WHERE gone = 0');
  const batches = visible === undefined ? 0 : int(visible, 'n');
  let isEmpty = batches === 0;
  if (isEmpty && state === undefined)
    for (const table of EMPTY) isEmpty &&= (await db.get(`SELECT 1 AS one FROM ${table} LIMIT 1`)) === undefined;
  if (isEmpty) return;
  throw new StudioError(
    'conflict',
    `The store ${store} is not empty${batches === 0 ? '' : `: it has ${plural(batches, 'batch', 'batches')}`}. ` +
      'Nothing was changed.',
    { hint: 'Restore into a new store, or copy single batches with “rollout copy”.' },
  );
}

/** See `ArchiveStore.restore`. */
export async function restoreFrames(
  sql: Sql,
  sha256: string,
  from: number,
  frames: readonly ArchiveFrame[],
): Promise<{ frames: number }> {
  const parts: { archived: ArchivedTable; columns: readonly string[]; rows: Value[][] }[] = [];
  for (const { header, payload } of frames) {
    if (header.kind !== 'rows') throw new StudioError('usage', `A restore has no frame of the kind ${header.kind}.`);
    const archived = archivedTable(header.table);
    if (archived === undefined) throw new StudioError('usage', `A store has no table ${header.table} to restore.`);
    parts.push({ archived, columns: header.columns, rows: await readRows(header, payload, archived.table) });
  }
  return sql.write(async (tx) => {
    const state = await required(tx, sha256);
    if (from > state.done)
      throw new StudioError('conflict', `The restore is at frame ${state.done}, not at ${from}.`, {
        hint: 'Run the same restore again: it continues.',
      });
    for (const { archived, columns, rows } of parts.slice(state.done - from))
      await insert(tx, archived, { columns, rows });
    const done = Math.max(state.done, from + frames.length);
    await writeState(tx, { ...state, done });
    return { frames: done };
  });
}

async function required(db: Reader, sha256: string): Promise<RestoreState> {
  const state = await readState(db);
  if (state?.sha256 === sha256) return state;
  throw new StudioError('conflict', 'This server does not restore this archive.', { hint: 'Begin the restore again.' });
}

async function insert(
  tx: Transaction,
  { table, ids, existing, dropped }: ArchivedTable,
  { columns, rows }: { columns: readonly string[]; rows: Value[][] },
): Promise<void> {
  const kept = columns.map((column, index) => ({ column, index })).filter(({ column }) => !dropped?.includes(column));
  const gone = table.name === 'batch' ? columns.indexOf('gone') : -1;
  if (existing === 'replace') await tx.run(`DELETE FROM ${table.name}`);
  await tx.insert(
    table,
    kept.map(({ column }) => column),
    rows.map((row) =>
      kept.map(({ index }): Value => (index === gone && row[index] === 0 ? INCOMPLETE : (row[index] ?? null))),
    ),
    existing === 'keep' ? 'ignore' : ids === true ? 'ids' : undefined,
  );
}

/** See `ArchiveStore.endRestore`. */
export function end(sql: Sql, sha256: string, resume: boolean): Promise<RestoreResult> {
  return sql.write(async (tx) => {
    const state = await required(tx, sha256);
    if (state.done !== state.frames)
      throw new StudioError('conflict', `${state.done} of ${state.frames} parts of the archive are restored.`, {
        hint: 'Run the same restore again: it continues.',
      });
    for (const { table, ids } of ARCHIVED) {
      const next = ids === true ? tx.dialect.nextIds(table.name) : undefined;
      if (next !== undefined) await tx.run(next);
    }
    await tx.run('UPDATE batch SET gone = 0 WHERE gone = ?', INCOMPLETE);
    const batches = await tx.all('SELECT id, name, ended_at FROM batch WHERE gone = 0 ORDER BY id');
    tx.changed(...batches.map((row) => text(row, 'name')), 'endpoints');
    const open = batches.filter((row) => row['ended_at'] === null).map((row) => int(row, 'id'));
    const unfinished: string[] = [];
    for (const id of open) unfinished.push(...(await requeue(tx, id, state.created_at, resume)));
    const rollouts = await tx.get('SELECT count(*) AS n FROM rollout');
    await writeState(tx, undefined);
    return { batches: batches.length, rollouts: int(rollouts ?? {}, 'n'), unfinished };
  });
}

/** Queues the rollouts of a batch that workers of the original hold. Returns its name, unless it is an import. */
async function requeue(tx: Transaction, id: number, createdAt: number, resume: boolean): Promise<string[]> {
  const rows = await tx.all(`${SELECT_ROLLOUT} WHERE batch = ? AND state IN (1, 2) ORDER BY id`, id);
  const batches = await lockBatches(tx, [id]);
  const batch = batches.get(id);
  if (batch === undefined || batch.spec.imported) return [];
  const ledger = new Ledger(tx, batches);
  for (const rollout of rows.map(readRollout)) {
    ledger.change(rollout);
    rollout.state = 'queued';
  }
  const when = new Date(createdAt).toISOString();
  await addBatchEvent(tx, batch, 'infra', {
    what: 'restored',
    text:
      `Restored from the backup of ${when}. ` +
      (resume
        ? 'The batch continues.'
        : `The batch is paused, because its original may still run. To continue it here: rollout resume ${batch.name}`),
  });
  if (!resume) {
    const command = newId('c', tx.now);
    await addBatchEvent(tx, batch, 'control', { command, verb: 'pause', by: 'restore', args: { release: true } });
    batch.paused = true;
    batch.released = true;
  }
  await ledger.save();
  return [batch.name];
}
