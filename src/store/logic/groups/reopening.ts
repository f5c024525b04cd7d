/** Groups that are not delivered, because members are too old: they are open again until others have replaced those. */
import type { Transaction } from '../../sql/sql.ts';
import type { Batch } from '../batchState.ts';
import { Ledger } from '../ledger.ts';
import { refusedTasks, taskOf } from '../taskCounts.ts';
import { hasReward, membersOf } from './ending.ts';
import type { Group } from './groupState.ts';

/**
 * Opens a group that has ended again, and queues new members in place of some that are too old. Returns false, and
 * changes nothing, if that cannot make it usable: its batch is ending, its deadline has passed, its task begins no more
 * attempts, or as many members were replaced as it had.
 */
export async function reopenGroup(
  tx: Transaction,
  batch: Batch,
  group: Group,
  stale: readonly string[],
): Promise<boolean> {
  const { size, extra, minUsable, deadlineAt, state } = group;
  if (state !== 'complete' && state !== 'short') return false;
  if (batch.endedAt !== null || batch.stopping !== null) return false;
  if (deadlineAt !== null && tx.now >= deadlineAt) return false;
  if ((await refusedTasks(tx, batch, [taskOf(group)])).size > 0) return false;

  const scored = (await membersOf(tx, group)).filter(hasReward);
  const tooOld = new Set([...(group.result?.stale ?? []), ...stale]);
  const fresh = scored.filter(({ name }) => !tooOld.has(name)).length;
  const room = size + extra - group.replaced;
  const replaced = scored
    .filter(({ name }) => stale.includes(name))
    .slice(0, Math.max(0, Math.min(size - fresh, room)));
  if (fresh + replaced.length < minUsable) return false;
  if (replaced.length === 0 && fresh < size) return false;

  group.state = 'open';
  group.why = null;
  group.endedAt = null;
  group.rev = null;
  group.scored = fresh;
  group.result = { members: [], excluded: [], cut: group.result?.cut ?? [], stale: [...tooOld] };
  const ledger = new Ledger(tx, new Map([[batch.id, batch]]));
  ledger.groups.add(batch, group);
  for (const rollout of scored) {
    if (tooOld.has(rollout.name)) ledger.change(rollout).progress = { ...rollout.progress, replaced: true };
  }
  for (const rollout of replaced) ledger.replace(batch, group, rollout);
  await ledger.save();
  return true;
}
