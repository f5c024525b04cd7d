/**
 * Drops the trajectories of ended batches: their events and the blobs that only those name. What remains are the rows,
 * the stream of the batch itself, and a few events of each rollout, so that results stay whole.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { TrimReason } from '../../common/trimmed.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { blobsOfTask, type TaskRecord } from '../../trace/task.ts';
import { int, stored, text } from '../sql/row.ts';
import { EVENT } from '../sql/schema.ts';
import type { Sql, Transaction } from '../sql/sql.ts';
import { addAudit } from './audit.ts';
import { eventBytes } from './batchSizes.ts';
import { readBatch, SELECT_BATCH } from './batchState.ts';
import { blobRefsOf } from './blobRefs.ts';
import { batchStream, pack, readEvents } from './events.ts';
import { rolloutPages } from './rolloutPages.ts';

/** What was done and came out: who changed what by hand, the scores with their explanations, the answer. */
const KEPT: ReadonlySet<string> = new Set(['rollout.start', 'edit', 'score', 'rollout.end']);
/** Inside of a string, the quotes would be escaped. */
const MAY_BE_KEPT = /"kind":"(?:rollout\.start|edit|score|rollout\.end)"/;
/** `rollout.packed` of a rollout whose other events were dropped. */
const TRIMMED = 2;

/** Rollouts per transaction. */
const AT_ONCE = 100;
const READ_BYTES = 1024 * 1024;
const TASKS = 100;
const REFERENCES = 1000;

/**
 * Marks a batch as trimmed: from now on, nobody gets its trajectories. Returns false when it has not ended, is trimmed
 * already, or a batch that is not trimmed reads it.
 */
export async function markTrimmed(
  tx: Transaction,
  { id, name }: { readonly id: number; readonly name: string },
  reason: TrimReason,
): Promise<boolean> {
  const row = await tx.get(
    'SELECT id FROM batch WHERE id = ? AND gone = 0 AND ended_at IS NOT NULL AND trimmed IS NULL' +
      tx.dialect.forUpdate,
    id,
  );
  if (row === undefined) return false;
  const reader = await tx.get(
    'SELECT l.batch FROM lineage l JOIN batch b ON b.id = l.batch WHERE l.parent = ? AND b.trimmed IS NULL LIMIT 1',
    id,
  );
  if (reader !== undefined) return false;
  await tx.run(
    'UPDATE batch SET trimmed = ?, trimming = 1, rev = rev + 1 WHERE id = ?',
    JSON.stringify({ at: tx.now, ...reason }),
    id,
  );
  // Its groups can no longer be delivered.
  await tx.run('DELETE FROM group_callback WHERE batch = ?', id);
  await addAudit(tx, {
    what: 'trim',
    batch: name,
    result: 'done',
    ...(reason.by === undefined ? {} : { user: reason.by }),
    ...(reason.rule === undefined ? {} : { detail: reason.rule }),
  });
  tx.changed(name);
  return true;
}

/**
 * Drops the events of all marked batches, in short transactions. Continues where it was interrupted. Returns how many
 * bytes of events that freed.
 */
export async function trimMarked(sql: Sql): Promise<number> {
  let bytes = 0;
  const marked = await sql.read((db) => db.all('SELECT id FROM batch WHERE trimming = 1 AND gone = 0 ORDER BY id'));
  for (const row of marked) {
    bytes += await dropEvents(sql, int(row, 'id'));
    await dropReferences(sql, int(row, 'id'));
    await sql.write((tx) => tx.run('UPDATE batch SET trimming = 0 WHERE id = ?', int(row, 'id')));
  }
  return bytes;
}

async function dropEvents(sql: Sql, batch: number): Promise<number> {
  let bytes = 0;
  for await (const ids of rolloutPages(sql, batch, AT_ONCE, `packed <> ${TRIMMED}`)) {
    const kept = new Map<number, readonly KeptEvent[]>();
    for (const id of ids) kept.set(id, await keptEvents(sql, id));
    bytes += await sql.write((tx) => replaceEvents(tx, kept));
  }
  return bytes;
}

interface KeptEvent {
  readonly seq: number;
  readonly body: string;
}

/** Reads which events of a stream stay. Nothing is added to it any more, and packing does not change them. */
async function keptEvents(sql: Sql, stream: number): Promise<KeptEvent[]> {
  const kept: KeptEvent[] = [];
  for (let after = 0; ; ) {
    const events = await sql.read((db) => readEvents(db, stream, after, READ_BYTES));
    const last = events.at(-1);
    if (last === undefined) return kept;
    kept.push(...events.filter(({ body }) => MAY_BE_KEPT.test(body) && KEPT.has(stored<TraceEvent>(body).kind)));
    after = last.seq;
    await turn();
  }
}

async function replaceEvents(tx: Transaction, kept: ReadonlyMap<number, readonly KeptEvent[]>): Promise<number> {
  // Locked, so that nobody packs them at the same time.
  const rows = await tx.all(
    `SELECT id FROM rollout WHERE ${tx.dialect.anyInt('id')} AND packed <> ? ORDER BY id${tx.dialect.forUpdate}`,
    [...kept.keys()],
    TRIMMED,
  );
  const ids = rows.map((row) => int(row, 'id'));
  const before = await eventBytes(tx, ids);
  await tx.run(`DELETE FROM event WHERE ${tx.dialect.anyInt('stream')}`, ids);
  const runs = ids.flatMap((id) =>
    (kept.get(id) ?? []).map(({ seq, body }) => ({ stream: id, seq, last: seq, bytes: pack(body) })),
  );
  await tx.insert(
    EVENT,
    ['stream', 'seq', 'last', 'packed'],
    runs.map((run) => [run.stream, run.seq, run.last, run.bytes]),
  );
  await tx.run(`UPDATE rollout SET packed = ? WHERE ${tx.dialect.anyInt('id')}`, TRIMMED, ids);
  return before - runs.reduce((sum, run) => sum + run.bytes.byteLength, 0);
}

/** Forgets the blobs that only dropped events named. */
async function dropReferences(sql: Sql, batch: number): Promise<void> {
  const kept = await keptBlobs(sql, batch);
  let read = 0;
  for (let after = ''; ; ) {
    const rows = await sql.read((db) =>
      db.all('SELECT sha FROM blob_ref WHERE batch = ? AND sha > ? ORDER BY sha LIMIT ?', batch, after, REFERENCES),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const shas = rows.map((row) => text(row, 'sha'));
    for (;;) {
      const { refs, last: end } = await refsOfStream(sql, batchStream(batch), read);
      for (const sha of refs) kept.add(sha);
      read = end;
      const dropped = shas.filter((sha) => !kept.has(sha));
      if (await sql.write((tx) => forget(tx, batch, end, dropped))) break;
    }
    after = text(last, 'sha');
  }
}

/** Returns false if the stream of the batch has grown since it was read: a note may name such a blob. */
async function forget(tx: Transaction, batch: number, read: number, shas: readonly string[]): Promise<boolean> {
  const row = await tx.get(`SELECT last FROM batch WHERE id = ?${tx.dialect.forUpdate}`, batch);
  if (row !== undefined && int(row, 'last') > read) return false;
  await tx.run(`DELETE FROM blob_ref WHERE batch = ? AND ${tx.dialect.anyText('sha')}`, batch, shas);
  return true;
}

/**
 * Returns the blobs that a batch names elsewhere than in the trajectories: its submission, the files of its tasks, and
 * what the events that stay name. Not those of its own stream.
 */
export async function keptBlobs(sql: Sql, batch: number): Promise<Set<string>> {
  const row = await sql.read((db) => db.get(`${SELECT_BATCH} WHERE id = ?`, batch));
  if (row === undefined) return new Set();
  const { spec } = readBatch(row);
  const kept = new Set([spec.submission, ...spec.blobs]);
  for (const table of ['task', 'dataset_task'])
    for (let after = -1; ; ) {
      const tasks = await sql.read((db) =>
        db.all(
          `SELECT idx, record FROM ${table} WHERE batch = ? AND idx > ? ORDER BY idx LIMIT ?`,
          batch,
          after,
          TASKS,
        ),
      );
      const last = tasks.at(-1);
      if (last === undefined) break;
      for (const task of tasks) for (const sha of blobsOfTask(stored<TaskRecord>(text(task, 'record')))) kept.add(sha);
      after = int(last, 'idx');
      await turn();
    }
  for await (const ids of rolloutPages(sql, batch, AT_ONCE, `packed = ${TRIMMED}`))
    for (const id of ids) for (const sha of (await refsOfStream(sql, id, 0)).refs) kept.add(sha);
  return kept;
}

/** Returns the blobs that the events of a stream after `after` name, and the seq of the last one. */
async function refsOfStream(sql: Sql, stream: number, after: number): Promise<{ refs: string[]; last: number }> {
  const refs: string[] = [];
  for (let last = after; ; ) {
    const events = await sql.read((db) => readEvents(db, stream, last, READ_BYTES));
    const end = events.at(-1);
    if (end === undefined) return { refs, last };
    for (const { body } of events) refs.push(...blobRefsOf(stored<TraceEvent>(body).kind, body));
    last = end.seq;
    await turn();
  }
}
