import { int } from '../sql/row.ts';
import type { Sql } from '../sql/sql.ts';

/**
 * Yields the IDs of a batch's rollouts, at most `most` at a time, so that others never wait for all of them. `only`: an
 * SQL condition on them. They may change meanwhile so that they no longer meet it.
 */
export async function* rolloutPages(
  sql: Sql,
  batch: number,
  most: number,
  only = '1 = 1',
): AsyncGenerator<readonly number[]> {
  for (let after = -1; ; ) {
    const rows = await sql.read((db) =>
      db.all(
        `SELECT id, rev FROM rollout WHERE batch = ? AND rev > ? AND ${only} ORDER BY rev LIMIT ?`,
        batch,
        after,
        most,
      ),
    );
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows.map((row) => int(row, 'id'));
    after = int(last, 'rev');
  }
}
