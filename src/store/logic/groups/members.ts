/**
 * The rollouts of new groups. A trainer requests a thousand of them at once, and waits for its groups only: each
 * request adds one group, and `batch.pending` says of how many groups, the newest ones, the rollouts are missing.
 * Whoever locks the batch adds them first, so every change and every server sees them.
 */
import type { GroupRequest } from '../../groupStore.ts';
import { int, stored, text } from '../../sql/row.ts';
import type { Transaction } from '../../sql/sql.ts';
import type { Batch } from '../batchState.ts';
import { insertRollouts, withNames } from '../rolloutState.ts';

/** Adds the missing rollouts of a locked batch, which the caller saves. Its counters have them already. */
export async function addMembers(tx: Transaction, batch: Batch): Promise<void> {
  const rows = await tx.all(
    'SELECT task, members, request FROM trainer_group WHERE batch = ? AND task >= ? ORDER BY task',
    batch.id,
    batch.tasks - batch.pending,
  );
  const members = rows.flatMap((row) => {
    const { priority } = stored<GroupRequest>(text(row, 'request'));
    const task = int(row, 'task');
    return Array.from({ length: int(row, 'members') }, (_none, n) => ({ task, attempt: n + 1, try: 1, priority }));
  });
  await insertRollouts(tx, batch, withNames(members, tx.now), 'queued');
  batch.pending = 0;
}
