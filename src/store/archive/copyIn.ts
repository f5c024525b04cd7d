/** Receives a copy of a batch in pages. Nobody sees the batch before its last page is there. */
import { zstdDecompressSync } from 'node:zlib';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { type ArchiveHeader, type CopyState, damaged } from '../../protocol/archive.ts';
import { batchRow as batchRowSchema, rolloutPage } from '../../protocol/client.ts';
import { taskRecord } from '../../protocol/task.ts';
import { checkEvent } from '../../trace/schema.ts';
import { blobsOfTask } from '../../trace/task.ts';
import type { Shared } from '../accessStore.ts';
import type { CopiedPage } from '../archiveStore.ts';
import { packBlobs } from '../blobs/blobPacks.ts';
import { checkContent, sha256Of } from '../blobs/content.ts';
import { batchRow, readBatch, SELECT_BATCH } from '../logic/batchState.ts';
import { addBlobRefs, tokenRefsOf } from '../logic/blobRefs.ts';
import { batchStream } from '../logic/events.ts';
import { checkName } from '../logic/names.ts';
import { rolloutRow, SELECT_ROLLOUT_ROW } from '../logic/rolloutState.ts';
import { addReaders } from '../logic/sharing.ts';
import { META } from '../sql/meta.ts';
import { int, quote, text } from '../sql/row.ts';
import { BATCH, EVENT, LINEAGE, POD_USE, ROLLOUT, STATES, STORE_VERSION } from '../sql/schema.ts';
import type { Reader, Row, Sql, Table, Transaction, Value } from '../sql/sql.ts';
import type { BlobStore } from '../store.ts';
import { readBlobs, readRows } from './codec.ts';
import { insertPods } from './copiedPods.ts';
import { COPIED, refsOfRun } from './copyOut.ts';
import { INCOMPLETE } from './restore.ts';

/** Characters of a run of events: what is written has 128 K at most, and one long event. */
const MAX_RUN = 16 * 1024 * 1024;
/** An incomplete copy of which nothing came for this time is removed by `gc`. */
export const ABANDONED_MS = 24 * 60 * 60 * 1000;
const STATE = 'copy:';

const progress = z.object({
  id: z.number().int(),
  revision: z.string(),
  next: z.string(),
  at: z.number(),
  /** Whoever has a client token: null. */
  user: z.string().nullable(),
});
type Progress = z.infer<typeof progress>;

const spec = z.looseObject({
  id: z.string(),
  name: z.string(),
  submission: z.string().regex(/^[0-9a-f]{64}$/),
  attempts: z.number().int(),
  order: z.enum(['breadth', 'depth']),
  priority: z.number(),
  retries: z.number().int(),
  debug: z.boolean(),
  imported: z.boolean(),
  blobs: z.array(z.string().regex(/^[0-9a-f]{64}$/)),
  by: z.string().optional(),
  shared: z.unknown().optional(),
});
const sharedSchema = z.union([z.literal('everyone'), z.array(z.string())]);

/** A frame of rows, with names for values. */
interface Part {
  readonly table: Table;
  readonly rows: readonly Row[];
  readonly columns: readonly string[];
  readonly streams: readonly (readonly [number, string])[];
}

async function progressOf(db: Reader, batch: string): Promise<Progress | undefined> {
  const row = await db.get('SELECT value FROM meta WHERE name = ?', STATE + batch);
  return row === undefined ? undefined : progress.parse(JSON.parse(text(row, 'value')));
}

/** See `ArchiveStore.copyState`. */
export async function copyState(db: Reader, batch: string): Promise<CopyState> {
  const complete = await db.get('SELECT id FROM batch WHERE name = ? AND gone = 0', batch);
  if (complete !== undefined) return { state: 'complete' };
  const importing = await progressOf(db, batch);
  if (importing === undefined) return { state: 'absent' };
  return { state: 'importing', next: importing.next, revision: importing.revision };
}

/** See `ArchiveStore.receiveCopy`. */
export async function receiveCopy(sql: Sql, blobs: BlobStore, page: CopiedPage): Promise<CopyState> {
  checkName('batch', page.batch);
  const { start, last, parts, contents } = await readPage(page);
  for (const { sha, content } of contents) {
    checkContent(sha, sha256Of(content));
    await blobs.put(sha, content);
  }
  const own = new Set(contents.map(({ sha }) => sha));
  const tokens: string[] = [];
  const refs = new Set(parts.flatMap((part) => refsOf(part, page.batch, tokens)));
  const others = [...refs].filter((sha) => !own.has(sha));
  const usable = others.length === 0 ? new Set<string>() : await page.usable(others);
  const missing = new Set(last.missing);
  const lacking = others.find((sha) => !usable.has(sha) && !missing.has(sha));
  if (lacking !== undefined)
    throw new StudioError('conflict', `The copy refers to the blob ${lacking}, which was not sent.`, {
      hint: 'Send it with PUT /v1/blobs before its page.',
    });
  const referenced = [...refs].filter((sha) => own.has(sha) || usable.has(sha));
  const state = await sql.write(async (tx) => {
    const before = await progressOf(tx, page.batch);
    const id = await batchFor(tx, page, start, parts, before);
    for (const part of parts)
      if (part.table === POD_USE) await insertPods(tx, page.batch, part.rows);
      else if (part.table !== BATCH) await insertPart(tx, id, part);
    await addBlobRefs(tx, id, referenced);
    await tx.run('DELETE FROM meta WHERE name = ?', STATE + page.batch);
    if (last.next === undefined) {
      await complete(tx, page.batch, id);
      return { state: 'complete' as const };
    }
    const saved: Progress = { id, revision: start.revision, next: last.next, at: tx.now, user: page.user ?? null };
    await tx.insert(META, ['name', 'value'], [[STATE + page.batch, JSON.stringify(saved)]]);
    return { state: 'importing' as const, next: last.next, revision: start.revision };
  });
  await packBlobs(sql, tokens);
  return state;
}

async function readPage({ batch, frames }: CopiedPage): Promise<{
  start: Extract<ArchiveHeader, { kind: 'copy' }>;
  last: Extract<ArchiveHeader, { kind: 'page' }>;
  parts: Part[];
  contents: { sha: string; content: Uint8Array }[];
}> {
  const start = frames[0]?.header;
  const last = frames.at(-1)?.header;
  if (start?.kind !== 'copy' || last?.kind !== 'page') throw damaged('a page has no begin or no end');
  if (start.batch !== batch) throw damaged('a page belongs to another batch');
  if (start.store_version > STORE_VERSION)
    throw new StudioError(
      'version',
      `The source is a newer Rollout Studio (store version ${start.store_version}; this server supports ` +
        `${STORE_VERSION}).`,
      { hint: 'Update this server, then copy again.' },
    );
  const parts: Part[] = [];
  const contents: { sha: string; content: Uint8Array }[] = [];
  for (const { header, payload } of frames.slice(1, -1)) {
    if (header.kind === 'blobs') contents.push(...(await readBlobs(header, payload)));
    else if (header.kind === 'rows') {
      const table = [BATCH, EVENT, POD_USE, ...COPIED.map((copied) => copied.table)].find(
        ({ name }) => name === header.table,
      );
      if (table === undefined) throw damaged(`a copy has no rows of ${header.table}`);
      const rows = await readRows(header, payload, table);
      parts.push({
        table,
        columns: header.columns,
        rows: rows.map((row) => Object.fromEntries(header.columns.map((column, index) => [column, row[index]]))),
        streams: header.streams ?? [],
      });
    } else throw damaged(`a page has no frame of the kind ${header.kind}`);
  }
  return { start, last, parts, contents };
}

/** Returns the blobs that rows refer to, after checking what they contain. Adds token records to `tokens`. */
function refsOf({ table, rows }: Part, batch: string, tokens: string[]): string[] {
  if (table === BATCH)
    return rows.flatMap((row) => {
      const { blobs, submission } = specOf(row, batch);
      return [...blobs, submission];
    });
  if (table === EVENT)
    return rows.flatMap((row) => {
      const run = checkedRun(row);
      tokens.push(...tokenRefsOf(run));
      return refsOfRun(run);
    });
  if (rows.some((row) => row['record'] !== undefined))
    return rows.flatMap((row) => blobsOfTask(parsed(taskRecord, text(row, 'record'), 'a task')));
  return [];
}

function specOf(row: Row, batch: string): z.infer<typeof spec> {
  const found = parsed(spec, text(row, 'spec'), 'the batch');
  if (found.id !== batch || text(row, 'name') !== batch) throw damaged('a row belongs to another batch');
  return found;
}

/** Returns the lines of a run, whose events are checked as those of an import. */
function checkedRun(row: Row): string {
  const packed = row['packed'];
  let run: string;
  try {
    run =
      packed instanceof Uint8Array
        ? zstdDecompressSync(packed, { maxOutputLength: MAX_RUN }).toString('utf8')
        : text(row, 'body');
  } catch {
    throw damaged('events cannot be unpacked');
  }
  let seq = int(row, 'seq');
  for (const line of run.split('\n')) {
    const event = parsed(z.looseObject({ seq: z.literal(seq) }), line, 'an event');
    const check = checkEvent(event);
    if (!check.ok) throw damaged(`event ${seq} is not valid: ${check.path}: ${check.message}`);
    seq += 1;
  }
  if (seq - 1 !== int(row, 'last')) throw damaged('events are missing');
  return run;
}

function parsed<T>(schema: z.ZodType<T>, json: string, what: string): T {
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    throw damaged(`${what} is not JSON`);
  }
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw damaged(`${what} is not valid: ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? ''}`);
}

/** Returns the ID of the batch to which a page belongs. The first page creates it. */
async function batchFor(
  tx: Transaction,
  page: CopiedPage,
  start: Extract<ArchiveHeader, { kind: 'copy' }>,
  parts: readonly Part[],
  before: Progress | undefined,
): Promise<number> {
  if (page.after !== undefined) {
    if (before === undefined)
      throw new StudioError('conflict', `There is no incomplete copy of batch ${page.batch} here.`, {
        hint: 'Begin the copy again.',
      });
    requireOwn(page.batch, page.user, before);
    if (before.next !== page.after || before.revision !== start.revision)
      throw new StudioError('conflict', `The copy of batch ${page.batch} continues elsewhere, or the batch changed.`, {
        hint: 'Run the same copy again.',
        details: { stale: true },
      });
    return before.id;
  }
  const existing = await tx.get('SELECT gone FROM batch WHERE name = ?', page.batch);
  if (existing !== undefined)
    throw new StudioError('conflict', `Batch ${page.batch} is here already, or is being copied or removed.`);
  const [row, ...more] = parts.find(({ table }) => table === BATCH)?.rows ?? [];
  if (row === undefined || more.length > 0) throw damaged('the first page has no batch');
  return createBatch(tx, page, row, start.parents);
}

/** Throws `conflict` if another user is copying a batch. */
export async function requireOwnCopy(db: Reader, batch: string, user: string | undefined): Promise<void> {
  const before = await progressOf(db, batch);
  if (before !== undefined) requireOwn(batch, user, before);
}

function requireOwn(batch: string, user: string | undefined, before: Progress): void {
  if (before.user !== null && user !== undefined && before.user !== user)
    throw new StudioError('conflict', `${before.user} is copying batch ${batch}.`, {
      hint: 'Wait until that copy is complete, or was given up for a day.',
    });
}

async function createBatch(
  tx: Transaction,
  { batch, user, keepOwner }: CopiedPage,
  row: Row,
  parents: readonly string[],
): Promise<number> {
  const original = specOf(row, batch);
  const { by, shared: _, ...rest } = original;
  const owner = keepOwner ? by : user;
  const shared: Shared = keepOwner && owner !== undefined ? parsed(sharedSchema, text(row, 'shared'), 'the batch') : [];
  if (row['ended_at'] === null) throw damaged('the batch has not ended');
  const values: Record<string, unknown> = {
    ...row,
    spec: JSON.stringify(owner === undefined ? rest : { ...rest, by: owner }),
    owner: owner === undefined ? null : quote(owner),
    shared: JSON.stringify(shared),
    gone: INCOMPLETE,
  };
  const columns = Object.keys(values).filter((column) => column !== 'id');
  await tx.insert(BATCH, columns, [columns.map((column) => values[column] as Value)]); // read by kind
  const created = await tx.get(`${SELECT_BATCH} WHERE name = ?`, batch);
  if (created === undefined) throw damaged('the batch has no name');
  checkRow(batchRowSchema, () => batchRow(readBatch(created)));
  const id = int(created, 'id');
  await addReaders(tx, id, shared);
  for (const parent of parents) {
    // Locked, so that `gc` cannot remove it at the same time.
    const found = await tx.get(`SELECT id FROM batch WHERE name = ? AND gone = 0${tx.dialect.forUpdate}`, parent);
    if (found === undefined)
      throw new StudioError('conflict', `Batch ${batch} reads the events of ${parent}, which is not here.`, {
        hint: `Copy ${parent} first.`,
      });
    await tx.insert(LINEAGE, ['batch', 'parent'], [[id, int(found, 'id')]], 'ignore');
  }
  return id;
}

async function insertPart(tx: Transaction, batch: number, part: Part): Promise<void> {
  if (part.table === EVENT) return insertEvents(tx, batch, part);
  if (part.table === ROLLOUT) await checkRollouts(tx, part);
  const columns = part.columns.filter((column) => column !== 'id' && column !== 'session');
  await tx.insert(
    part.table,
    columns,
    part.rows.map((row) => columns.map((column) => (column === 'batch' ? batch : (row[column] as Value)))),
  );
  if (part.table !== ROLLOUT) return;
  const rows = await tx.all(
    `${SELECT_ROLLOUT_ROW} WHERE ${tx.dialect.anyText('r.name')}`,
    part.rows.map((row) => text(row, 'name')),
  );
  if (rows.length !== part.rows.length) throw damaged('a rollout has no task');
  checkRow(rolloutPage, () => ({ rollouts: rows.map(rolloutRow) }));
}

async function checkRollouts(tx: Transaction, { rows }: Part): Promise<void> {
  const names = rows.map((row) => text(row, 'name'));
  for (const name of names) checkName('rollout', name);
  if (rows.some((row) => STATES[int(row, 'state')] !== 'ended')) throw damaged('a rollout has not ended');
  const taken = await tx.get(`SELECT name FROM rollout WHERE ${tx.dialect.anyText('name')}`, names);
  if (taken !== undefined)
    throw new StudioError('conflict', `Rollout ${text(taken, 'name')} already belongs to another batch.`);
}

async function insertEvents(tx: Transaction, batch: number, { rows, columns, streams }: Part): Promise<void> {
  const names = new Map(streams.map(([id, name]) => [id, name]));
  const found = await tx.all(
    `SELECT id, name FROM rollout WHERE ${tx.dialect.anyText('name')} AND batch = ?`,
    [...names.values()],
    batch,
  );
  const ids = new Map(found.map((row) => [text(row, 'name'), int(row, 'id')]));
  await tx.insert(
    EVENT,
    columns,
    rows.map((row) => {
      const source = int(row, 'stream');
      const stream = source < 0 ? batchStream(batch) : ids.get(names.get(source) ?? '');
      if (stream === undefined) throw damaged('events belong to no rollout');
      return columns.map((column) => (column === 'stream' ? stream : (row[column] as Value)));
    }),
  );
}

/** Throws `usage` for rows that could not be shown. */
function checkRow(schema: z.ZodType, row: () => unknown): void {
  try {
    schema.parse(row());
  } catch (cause) {
    throw StudioError.is(cause)
      ? cause
      : new StudioError('usage', 'The archive has a row that is not valid.', { cause });
  }
}

/** Shows a batch, all of whose events are there, unless it was trimmed. */
async function complete(tx: Transaction, name: string, id: number): Promise<void> {
  const lacking = await tx.get(
    `SELECT r.name AS name FROM rollout r JOIN batch b ON b.id = r.batch
      WHERE r.batch = ? AND b.trimmed IS NULL AND NOT EXISTS
      (SELECT 1 FROM event e WHERE e.stream = r.id AND e.last = r.last) LIMIT 1`,
    id,
  );
  if (lacking !== undefined) throw damaged(`events of ${text(lacking, 'name')} are missing`);
  await tx.run('UPDATE batch SET gone = 0 WHERE id = ?', id);
  tx.changed(name);
}

/** Returns the IDs of incomplete copies: of a batch, or of those of which nothing came for long. */
export async function incompleteCopies(db: Reader, of: { batch: string } | { before: number }): Promise<number[]> {
  const rows = await db.all("SELECT name, value FROM meta WHERE name LIKE 'copy:%'");
  return rows
    .filter((row) => !('batch' in of) || text(row, 'name') === STATE + of.batch)
    .map((row) => progress.parse(JSON.parse(text(row, 'value'))))
    .filter(({ at }) => !('before' in of) || at < of.before)
    .map(({ id }) => id);
}

/** Forgets an incomplete copy, whose rows can be removed then like those of any batch that is gone. */
export async function forgetCopy(tx: Transaction, id: number): Promise<void> {
  const row = await tx.get('SELECT name FROM batch WHERE id = ? AND gone = ?', id, INCOMPLETE);
  if (row === undefined) return;
  await tx.run('UPDATE batch SET gone = 1 WHERE id = ?', id);
  await tx.run('DELETE FROM lineage WHERE batch = ?', id);
  await tx.run('DELETE FROM blob_ref WHERE batch = ?', id);
  await tx.run('DELETE FROM pod_use WHERE batch = ?', quote(text(row, 'name')));
  await tx.run('DELETE FROM meta WHERE name = ?', STATE + text(row, 'name'));
}
