import { StudioError } from '../../common/errors.ts';
import type { Shared, SharingStore } from '../accessStore.ts';
import { quote, text } from '../sql/row.ts';
import { BATCH_READER, BLOB_UPLOAD } from '../sql/schema.ts';
import type { Sql, Transaction } from '../sql/sql.ts';
import { lockBatch, saveBatches } from './batchState.ts';

/** In the column `who` of a batch that is shared with everybody. Names of users are quoted there. */
const EVERYONE = '*';
const UPLOAD_MS = 24 * 60 * 60 * 1000;

/** A condition on `batch b`: one user may read it. Its values: see `readerValues`. */
export const READABLE =
  '(b.owner IS NULL OR b.owner = ? OR EXISTS (SELECT 1 FROM batch_reader s WHERE s.batch = b.id AND s.who IN (?, ?)))';

export function readerValues(user: string): string[] {
  return [quote(user), quote(user), EVERYONE];
}

export class SqlSharing implements SharingStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  share(batch: string, shared: Shared): Promise<void> {
    return this.#sql.write((tx) => share(tx, batch, shared));
  }

  async readable(user: string, shas: readonly string[]): Promise<Set<string>> {
    const values = readerValues(user);
    const rows = await this.#sql.read((db) =>
      db.all(
        // A fork reads the events of its parents.
        `SELECT r.sha AS sha FROM blob_ref r JOIN batch b ON b.id = r.batch
          WHERE ${db.dialect.anyText('r.sha')} AND b.gone = 0 AND ${READABLE}
        UNION SELECT r.sha AS sha FROM blob_ref r JOIN lineage l ON l.parent = r.batch JOIN batch b ON b.id = l.batch
          WHERE ${db.dialect.anyText('r.sha')} AND b.gone = 0 AND ${READABLE}
        UNION SELECT u.sha AS sha FROM blob_upload u WHERE ${db.dialect.anyText('u.sha')} AND u.who = ?`,
        ...[shas, ...values],
        ...[shas, ...values],
        shas,
        quote(user),
      ),
    );
    return new Set(rows.map((row) => text(row, 'sha')));
  }

  uploaded(user: string, sha: string): Promise<void> {
    return this.#sql.write(async (tx) => {
      await tx.run('DELETE FROM blob_upload WHERE at < ?', tx.now - UPLOAD_MS);
      await tx.insert(BLOB_UPLOAD, ['sha', 'who', 'at'], [[sha, quote(user), tx.now]], 'ignore');
    });
  }
}

async function share(tx: Transaction, name: string, shared: Shared): Promise<void> {
  const batch = await lockBatch(tx, name);
  if (batch.spec.by === undefined)
    throw new StudioError('conflict', `Batch ${name} belongs to nobody, so everybody who may read sees it.`, {
      hint: 'Only batches that a user of the cluster launched are private.',
    });
  await tx.run('UPDATE batch SET shared = ? WHERE id = ?', JSON.stringify(shared), batch.id);
  await tx.run('DELETE FROM batch_reader WHERE batch = ?', batch.id);
  await addReaders(tx, batch.id, shared);
  await saveBatches(tx, [batch]);
}

/** Adds who may read a batch besides its owner. */
export async function addReaders(tx: Transaction, batch: number, shared: Shared): Promise<void> {
  const who = shared === 'everyone' ? [EVERYONE] : [...new Set(shared)].map(quote);
  if (who.length > 0)
    await tx.insert(
      BATCH_READER,
      ['batch', 'who'],
      who.map((one) => [batch, one]),
      'ignore',
    );
}
