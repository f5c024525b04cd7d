import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { int, quote } from '../sql/row.ts';
import type { Transaction } from '../sql/sql.ts';
import type { ImportedRollout } from '../store.ts';
import { appendAll } from './append.ts';
import { lockBatch, saveBatches } from './batchState.ts';
import { checkName } from './names.ts';
import { insertRollouts } from './rolloutState.ts';

/** See `Store.importRollouts`. */
export async function importRollouts(
  tx: Transaction,
  name: string,
  rollouts: readonly ImportedRollout[],
): Promise<void> {
  const batch = await lockBatch(tx, name);
  if (!batch.spec.imported) throw new StudioError('conflict', `Batch ${name} was not created for an import.`);
  for (const { rollout, task, attempt } of rollouts) {
    checkName('rollout', rollout);
    const existing = await tx.get('SELECT batch FROM rollout WHERE name = ?', rollout);
    if (existing !== undefined) {
      if (int(existing, 'batch') === batch.id) continue;
      throw new StudioError('conflict', `Rollout ${rollout} already belongs to another batch.`);
    }
    const row = await tx.get('SELECT idx FROM task WHERE batch = ? AND name = ?', batch.id, quote(task));
    if (row === undefined) throw new StudioError('not_found', `Batch ${name} has no task ${JSON.stringify(task)}.`);
    if (attempt > batch.spec.attempts)
      throw new StudioError(
        'usage',
        `Batch ${name} has ${plural(batch.spec.attempts, 'attempt')} per task; ${attempt} is not one of them.`,
      );
    const imported = await tx.get(
      'SELECT name FROM rollout WHERE batch = ? AND task = ? AND attempt = ?',
      batch.id,
      int(row, 'idx'),
      attempt,
    );
    if (imported !== undefined)
      throw new StudioError('conflict', `Attempt ${attempt} of task ${JSON.stringify(task)} was already imported.`);
    await insertRollouts(tx, batch, [{ name: rollout, task: int(row, 'idx'), attempt, try: 1 }], 'running');
    batch.counts.queued -= 1;
    batch.counts.running += 1;
  }
  await saveBatches(tx, [batch]);
  const results = await appendAll(
    tx,
    rollouts.map(({ rollout, from, events }) => ({ rollout, epoch: 1, from: from ?? 1, events })),
  );
  for (const result of results) if (!result.ok) throw new StudioError('conflict', result.message);
}
