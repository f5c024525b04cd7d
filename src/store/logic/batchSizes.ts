/** How many bytes the events and blobs of each batch occupy. */
import { setImmediate as turn } from 'node:timers/promises';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int, text } from '../sql/row.ts';
import type { Reader, Sql } from '../sql/sql.ts';
import { batchStream } from './events.ts';
import { rolloutPages } from './rolloutPages.ts';

/** Rows per query, so that others wait for none of them for long. */
const ROLLOUTS = 200;
const REFERENCES = 1000;
/** What a row of the other tables takes, about. */
const ROW = 300;

export interface BatchSize {
  /** Bytes of everything. */
  all: number;
  /** Bytes of its trajectories: the events of its rollouts, and blobs. */
  trajectories: number;
}

/**
 * Returns the bytes of batches by their internal IDs. A blob counts for the newest batch that refers to it: when the
 * oldest batches go first, it goes with that one. `kept`: blobs that do not belong to trajectories.
 */
export async function batchSizes(
  sql: Sql,
  blobs: CollectableBlobs,
  kept: ReadonlySet<string>,
): Promise<Map<number, BatchSize>> {
  const sizes = new Map<number, BatchSize>();
  const add = (batch: number, bytes: number, part?: 'trajectories'): void => {
    const size = sizes.get(batch) ?? { all: 0, trajectories: 0 };
    size.all += bytes;
    if (part !== undefined) size.trajectories += bytes;
    sizes.set(batch, size);
  };
  const addBlob = (batch: number, sha: string, bytes: number): void =>
    add(batch, bytes, kept.has(sha) ? undefined : 'trajectories');
  const batches = await sql.read((db) => db.all('SELECT id FROM batch WHERE gone = 0 ORDER BY id'));
  for (const row of batches) await addEvents(sql, int(row, 'id'), add);
  await addBlobs(sql, addBlob);
  if (blobs.outside !== undefined)
    for await (const { sha, size } of blobs.outside.files()) {
      const row = await sql.read((db) => db.get('SELECT max(batch) AS batch FROM blob_ref WHERE sha = ?', sha));
      if (row !== undefined && row['batch'] !== null) addBlob(int(row, 'batch'), sha, size);
    }
  return sizes;
}

async function addEvents(
  sql: Sql,
  batch: number,
  add: (batch: number, bytes: number, part?: 'trajectories') => void,
): Promise<void> {
  add(batch, await sql.read((db) => eventBytes(db, [batchStream(batch)])));
  for await (const ids of rolloutPages(sql, batch, ROLLOUTS)) {
    add(batch, ids.length * ROW);
    add(batch, await sql.read((db) => eventBytes(db, ids)), 'trajectories');
    await turn();
  }
}

/** Returns the bytes of the events of a batch's rollouts. */
export async function trajectoryBytes(sql: Sql, batch: number): Promise<number> {
  let bytes = 0;
  for await (const ids of rolloutPages(sql, batch, ROLLOUTS)) bytes += await sql.read((db) => eventBytes(db, ids));
  return bytes;
}

/** Returns the bytes of the events of streams. */
export async function eventBytes(db: Reader, streams: readonly number[]): Promise<number> {
  const row = await db.get(
    'SELECT coalesce(sum(coalesce(length(packed), 0) + coalesce(length(body), 0)), 0) AS bytes FROM event WHERE ' +
      db.dialect.anyInt('stream'),
    streams,
  );
  return Number(row?.['bytes'] ?? 0);
}

async function addBlobs(sql: Sql, add: (batch: number, sha: string, bytes: number) => void): Promise<void> {
  let after = '';
  for (;;) {
    const rows = await sql.read((db) =>
      db.all(
        `SELECT b.sha AS sha, b.size AS size, (SELECT max(r.batch) FROM blob_ref r WHERE r.sha = b.sha) AS batch
          FROM blob b WHERE b.sha > ? ORDER BY b.sha LIMIT ?`,
        after,
        REFERENCES,
      ),
    );
    for (const row of rows) if (row['batch'] !== null) add(int(row, 'batch'), text(row, 'sha'), int(row, 'size'));
    const last = rows.at(-1);
    if (last === undefined || rows.length < REFERENCES) return;
    after = text(last, 'sha');
    await turn();
  }
}
