/** How many bytes the events and blobs of each batch occupy. */
import { setImmediate as turn } from 'node:timers/promises';
import type { CollectableBlobs } from '../blobs/content.ts';
import { int, text } from '../sql/row.ts';
import type { Reader, Sql } from '../sql/sql.ts';
import { batchStream } from './events.ts';

/** Rows per query, so that others wait for none of them for long. */
const ROLLOUTS = 200;
const REFERENCES = 1000;
/** What a row of the other tables takes, about. */
const ROW = 300;

/**
 * Returns the bytes of batches by their internal IDs. A blob counts for the newest batch that refers to it: when the
 * oldest batches go first, it goes with that one.
 */
export async function batchSizes(sql: Sql, blobs: CollectableBlobs): Promise<Map<number, number>> {
  const sizes = new Map<number, number>();
  const add = (batch: number, bytes: number): void => {
    sizes.set(batch, (sizes.get(batch) ?? 0) + bytes);
  };
  const batches = await sql.read((db) => db.all('SELECT id FROM batch WHERE gone = 0 ORDER BY id'));
  for (const row of batches) await addEvents(sql, int(row, 'id'), add);
  await addBlobs(sql, add);
  if (blobs.outside !== undefined)
    for await (const { sha, size } of blobs.outside.files()) {
      const row = await sql.read((db) => db.get('SELECT max(batch) AS batch FROM blob_ref WHERE sha = ?', sha));
      if (row !== undefined && row['batch'] !== null) add(int(row, 'batch'), size);
    }
  return sizes;
}

async function addEvents(sql: Sql, batch: number, add: (batch: number, bytes: number) => void): Promise<void> {
  add(batch, await sql.read((db) => bytesOf(db, [batchStream(batch)])));
  let after = -1;
  for (;;) {
    const rows = await sql.read((db) =>
      db.all('SELECT id, rev FROM rollout WHERE batch = ? AND rev > ? ORDER BY rev LIMIT ?', batch, after, ROLLOUTS),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    const ids = rows.map((row) => int(row, 'id'));
    add(batch, rows.length * ROW + (await sql.read((db) => bytesOf(db, ids))));
    after = int(last, 'rev');
    await turn();
  }
}

async function bytesOf(db: Reader, streams: readonly number[]): Promise<number> {
  const row = await db.get(
    'SELECT coalesce(sum(coalesce(length(packed), 0) + coalesce(length(body), 0)), 0) AS bytes FROM event WHERE ' +
      db.dialect.anyInt('stream'),
    streams,
  );
  return Number(row?.['bytes'] ?? 0);
}

async function addBlobs(sql: Sql, add: (batch: number, bytes: number) => void): Promise<void> {
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
    for (const row of rows) if (row['batch'] !== null) add(int(row, 'batch'), int(row, 'size'));
    const last = rows.at(-1);
    if (last === undefined || rows.length < REFERENCES) return;
    after = text(last, 'sha');
    await turn();
  }
}
