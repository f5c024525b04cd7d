/** Reads an ended batch in pages, for a copy in another store. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { frameBytes } from '../../protocol/archive.ts';
import { taskRecord } from '../../protocol/task.ts';
import { blobsOfTask } from '../../trace/task.ts';
import { type Batch, findBatch, noBatch } from '../logic/batchState.ts';
import { blobRefsOf } from '../logic/blobRefs.ts';
import { batchStream, textOf } from '../logic/events.ts';
import { bytesOr, int, quote, text, textOr } from '../sql/row.ts';
import {
  BATCH,
  DATASET_TASK,
  EVENT,
  POD_USE,
  ROLLOUT,
  STORE_VERSION,
  TASK,
  TASK_COUNT,
  TRAINER_GROUP,
} from '../sql/schema.ts';
import type { Reader, Row, Sql, Table, Value } from '../sql/sql.ts';
import type { BlobStore } from '../store.ts';
import { blobsFrame, rowsFrame } from './codec.ts';

/** Bytes of a page before compression. */
const PAGE = 2 * 1024 * 1024;
/** Bytes of events per frame. */
const FRAME = 1024 * 1024;
const MAX_PAGE = 16 * 1024 * 1024;
/** Larger blobs are sent on their own. */
const INLINE = 256 * 1024;
/** Rows of events per query: each has up to 128 KB of text. */
const EVENTS = 8;

interface CopiedTable {
  readonly table: Table;
  /** Its key within a batch. */
  readonly key: readonly string[];
  readonly rows: number;
}

/** The rows of a batch, apart from its own, its events, and the use of its pods. */
export const COPIED: readonly CopiedTable[] = [
  { table: TASK, key: ['idx'], rows: 50 },
  { table: DATASET_TASK, key: ['idx'], rows: 50 },
  { table: TRAINER_GROUP, key: ['task'], rows: 100 },
  { table: TASK_COUNT, key: ['name'], rows: 500 },
  { table: ROLLOUT, key: ['task', 'attempt', 'try'], rows: 200 },
];
const BATCH_KEY = ['task', 'attempt', 'try'] as const;
/** A page begins in one of these parts, after this key. */
const cursor = z.tuple([z.number().int().min(0), z.array(z.union([z.string(), z.number().int()]))]);
type Cursor = z.infer<typeof cursor>;
const EVENTS_PART = COPIED.length;
const OWN_EVENTS_PART = COPIED.length + 1;
const PODS_PART = COPIED.length + 2;
/** Its rows name their batch. */
const PODS: CopiedTable = { table: POD_USE, key: ['uid'], rows: 500 };

/** Identifies a state of an ended batch: labels, later scores, and retries change it. */
export function revisionOf({ rev, last, endedAt }: Batch): string {
  return `${rev}.${last}.${endedAt ?? 'open'}`;
}

/** See `ArchiveStore.copyPage`. */
export async function copyPage(
  sql: Sql,
  blobs: BlobStore,
  name: string,
  after: string | undefined,
): Promise<Uint8Array[]> {
  return sql.read(async (db) => {
    const batch = await findBatch(db, name);
    if (batch === undefined) throw noBatch(name);
    if (batch.endedAt === null)
      throw new StudioError('conflict', `Batch ${name} has not ended, so it cannot be copied.`, {
        hint: `Wait until it ends, or stop it with “rollout cancel ${name}”.`,
      });
    const page = new Page(blobs);
    const trimming = await db.get('SELECT id FROM batch WHERE id = ? AND trimming = 1', batch.id);
    if (trimming !== undefined)
      throw new StudioError('unavailable', `The trajectories of batch ${name} are being trimmed.`, {
        hint: 'Copy it when that is done.',
      });
    await start(db, page, batch, after === undefined);
    let next: Cursor | undefined = after === undefined ? [0, []] : parseCursor(after);
    while (next !== undefined && page.size < PAGE) next = await addPart(db, page, batch, next);
    return await page.end(next === undefined ? undefined : JSON.stringify(next));
  });
}

function parseCursor(after: string): Cursor {
  try {
    return cursor.parse(JSON.parse(after));
  } catch (cause) {
    throw new StudioError('usage', 'The place where the page begins is not valid.', {
      hint: 'Use `next` of the previous page.',
      cause,
    });
  }
}

async function start(db: Reader, page: Page, batch: Batch, isFirst: boolean): Promise<void> {
  const parents = await db.all(
    'SELECT b.name AS name FROM lineage l JOIN batch b ON b.id = l.parent WHERE l.batch = ? ORDER BY l.parent',
    batch.id,
  );
  page.add(
    frameBytes({
      kind: 'copy',
      store_version: STORE_VERSION,
      batch: batch.name,
      revision: revisionOf(batch),
      parents: parents.map((row) => text(row, 'name')),
      size: 0,
    }),
  );
  if (!isFirst) return;
  await page.rows(BATCH, await db.all(`SELECT ${columnsOf(BATCH)} FROM batch WHERE id = ?`, batch.id));
  await page.blobs([...batch.spec.blobs, batch.spec.submission]);
}

/** Adds some rows of a part. Returns where to continue. */
async function addPart(db: Reader, page: Page, batch: Batch, [part, key]: Cursor): Promise<Cursor | undefined> {
  const copied = COPIED[part];
  if (copied !== undefined) {
    const after = nextKey(copied, await addRows(db, page, { batch: batch.id, of: copied, after: key }));
    return after === undefined ? [part + 1, []] : [part, after];
  }
  if (part === PODS_PART) {
    const after = nextKey(PODS, await addRows(db, page, { batch: quote(batch.name), of: PODS, after: key }));
    return after === undefined ? undefined : [PODS_PART, after];
  }
  if (part === EVENTS_PART) return (await addEvents(db, page, batch, key)) ?? [OWN_EVENTS_PART, []];
  const own = batchStream(batch.id);
  const last = await addStream(db, page, { id: own, name: batch.name }, keyNumber(key, 0));
  return last === undefined ? [PODS_PART, []] : [OWN_EVENTS_PART, [last]];
}

/** Returns after which key to continue; undefined if there are no more rows. */
function nextKey({ key, rows: most }: CopiedTable, rows: readonly Row[]): Cursor[1] | undefined {
  const last = rows.at(-1);
  return last === undefined || rows.length < most ? undefined : key.map((column) => keyValue(last, column));
}

async function addRows(
  db: Reader,
  page: Page,
  {
    batch,
    of: { table, key, rows: most },
    after,
  }: { readonly batch: Value; readonly of: CopiedTable; readonly after: Cursor[1] },
): Promise<readonly Row[]> {
  const order = key.join(', ');
  const tuple = key.length === 1 ? order : `(${order})`;
  const values = key.length === 1 ? '?' : `(${key.map(() => '?').join(', ')})`;
  const rows = await db.all(
    `SELECT ${columnsOf(table)} FROM ${table.name} WHERE batch = ?` +
      `${after.length === 0 ? '' : ` AND ${tuple} > ${values}`} ORDER BY ${order} LIMIT ?`,
    batch,
    ...after,
    most,
  );
  if (rows.length > 0) await page.rows(table, rows);
  if (table === TASK || table === DATASET_TASK)
    await page.blobs(rows.flatMap((row) => blobsOfTask(taskRecord.parse(JSON.parse(text(row, 'record'))))));
  return rows;
}

/** Adds events of rollouts. `key`: of the rollout of the last row of events, and its last event. */
async function addEvents(db: Reader, page: Page, batch: Batch, key: Cursor[1]): Promise<Cursor | undefined> {
  let at: Cursor[1] = key.length === 0 ? [-1, 0, 0, 0] : key;
  while (page.size < PAGE) {
    const row = await db.get(
      `SELECT id, name, task, attempt, try FROM rollout WHERE batch = ? AND (task, attempt, try) >= (?, ?, ?)
        ORDER BY task, attempt, try LIMIT 1`,
      batch.id,
      ...at.slice(0, BATCH_KEY.length),
    );
    if (row === undefined) return undefined;
    const found = BATCH_KEY.map((column) => int(row, column));
    const seq = found.every((value, index) => value === at[index]) ? keyNumber(at, BATCH_KEY.length) : 0;
    const last = await addStream(db, page, { id: int(row, 'id'), name: text(row, 'name') }, seq);
    const [task = 0, attempt = 0, number = 0] = found;
    at = last === undefined ? [task, attempt, number + 1, 0] : [...found, last];
  }
  return [EVENTS_PART, at];
}

/** Adds rows of events after `seq`. Returns the last event, or undefined if there are no more. */
async function addStream(
  db: Reader,
  page: Page,
  stream: { readonly id: number; readonly name: string },
  seq: number,
): Promise<number | undefined> {
  const rows = await db.all(
    `SELECT ${columnsOf(EVENT)} FROM event WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?`,
    stream.id,
    seq,
    EVENTS,
  );
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  await page.events(rows, stream);
  await page.blobs(rows.flatMap((row) => refsOfRun(textOf(row))));
  return rows.length < EVENTS ? undefined : int(last, 'last');
}

const KIND = /"kind":"([\w.]+)"/;

/** Returns the blobs that the events of a run refer to. */
export function refsOfRun(run: string): string[] {
  return run.split('\n').flatMap((line) => blobRefsOf(KIND.exec(line)?.[1] ?? '', line));
}

/** A page while it is filled. */
class Page {
  readonly #store: BlobStore;
  readonly #frames: Uint8Array[] = [];
  readonly #seen = new Set<string>();
  readonly #large: [string, number][] = [];
  readonly #missing: string[] = [];
  /** Events that no frame has yet, and the names of their streams. */
  #events: Row[] = [];
  readonly #streams = new Map<number, string>();
  #pending = 0;
  size = 0;

  constructor(store: BlobStore) {
    this.#store = store;
  }

  add(frame: Uint8Array): void {
    this.#frames.push(frame);
  }

  async rows(table: Table, rows: readonly Row[]): Promise<void> {
    const frame = await rowsFrame(table, Object.keys(table.columns), rows);
    this.add(frame);
    this.size += frame.byteLength;
  }

  /** Adds events. Those of several rollouts share a frame, because each is compressed on its own. */
  async events(rows: readonly Row[], { id, name }: { readonly id: number; readonly name: string }): Promise<void> {
    this.#events.push(...rows);
    this.#streams.set(id, name);
    for (const row of rows) {
      const bytes = bytesOr(row, 'packed', undefined)?.byteLength ?? textOr(row, 'body', '').length;
      this.#pending += bytes;
      this.size += bytes;
    }
    if (this.#pending >= FRAME) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#events.length === 0) return;
    const streams = [...this.#streams];
    this.add(await rowsFrame(EVENT, Object.keys(EVENT.columns), this.#events, streams));
    this.#events = [];
    this.#streams.clear();
    this.#pending = 0;
  }

  /** Adds the contents of blobs that are not in the page yet. */
  async blobs(shas: readonly string[]): Promise<void> {
    const added: { sha: string; content: Uint8Array }[] = [];
    let size = this.size;
    for (const sha of shas) {
      if (this.#seen.has(sha)) continue;
      this.#seen.add(sha);
      const blob = await this.#store.get(sha);
      if (blob === undefined) this.#missing.push(sha);
      else if (blob.size > INLINE || size + blob.size > MAX_PAGE) this.#large.push([sha, blob.size]);
      else {
        size += blob.size;
        added.push({ sha, content: Buffer.concat(await Array.fromAsync(blob.bytes)) });
      }
    }
    if (added.length === 0) return;
    this.add(await blobsFrame(added));
    this.size = size;
  }

  async end(next: string | undefined): Promise<Uint8Array[]> {
    await this.#flush();
    this.add(
      frameBytes({
        kind: 'page',
        large: this.#large,
        missing: this.#missing,
        size: 0,
        ...(next === undefined ? {} : { next }),
      }),
    );
    return this.#frames;
  }
}

function columnsOf(table: Table): string {
  return Object.keys(table.columns).join(', ');
}

function keyValue(row: Row, column: string): string | number {
  const value = row[column] as Value;
  return typeof value === 'number' ? value : text(row, column);
}

function keyNumber(key: Cursor[1], index: number): number {
  const value = key[index];
  return typeof value === 'number' ? value : 0;
}
