/** Records that a server started while batches had work to do: the one before was stopped, killed, or replaced. */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { duration } from '../../common/units.ts';
import type { BatchRecord, Store } from '../../store/store.ts';

/** Only the first one of servers that share a store records it: the others join it. */
const ROLE = 'restarts';

/** `startedAt`: when this server started; `ms`: how long that is ago. */
export async function recordRestart(
  { store, log }: { readonly store: Store; readonly log: Log },
  active: readonly BatchRecord[],
  { startedAt, ms }: { readonly startedAt: number; readonly ms: number },
): Promise<void> {
  const interrupted = active.filter(
    ({ row: { imported, created_at: createdAt, counts } }) =>
      !imported && createdAt < startedAt && counts.queued + counts.running + counts.held > 0,
  );
  if (interrupted.length === 0 || !(await store.elect(ROLE))) return;
  const text = `A rollout server started and resumed this batch after ${duration(ms)}.`;
  for (const { row } of interrupted) {
    try {
      await store.addBatchEvent(row.batch, 'infra', { what: 'server_started', ms, text });
    } catch (error) {
      // Nothing depends on it.
      log(`recording the start in ${row.batch} failed: ${errorText(error)}`, { level: 'warning', batch: row.batch });
    }
  }
}
