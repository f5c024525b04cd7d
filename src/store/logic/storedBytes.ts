/** How much the workers stored as blobs for each rollout. Blobs that somebody else stored before do not count. */
import { int } from '../sql/row.ts';
import type { Reader, Transaction } from '../sql/sql.ts';

/** See `Store.storedBytes`. */
export async function storedBytes(db: Reader, rollout: string): Promise<number> {
  const row = await db.get('SELECT stored FROM rollout WHERE name = ?', rollout);
  return row === undefined ? 0 : int(row, 'stored');
}

/** See `Store.addStoredBytes`. */
export async function addStoredBytes(tx: Transaction, rollout: string, bytes: number): Promise<number> {
  await tx.run('UPDATE rollout SET stored = stored + ? WHERE name = ?', bytes, rollout);
  return storedBytes(tx, rollout);
}
