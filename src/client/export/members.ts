/** The groups of exported attempts: those of a task in a batch, as trainers compare them. */
import { advantagesOf } from '../../trace/groups/advantages.ts';
import { whyExcludedOf } from '../../trace/groups/whyExcluded.ts';
import { groupOf } from '../../trace/selection/selection.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { ExportedMember } from './exportedAttempts.ts';

/** Returns the place of each attempt in its group. Only the given attempts count. */
export function membersOf(rows: readonly RolloutRow[]): ReadonlyMap<RolloutRow, ExportedMember> {
  const members = new Map<RolloutRow, ExportedMember>();
  for (const [group, own] of Map.groupBy(rows, groupOf)) {
    const rewards = own.map((row) => (whyExcludedOf(row) === undefined ? (row.progress.reward ?? null) : null));
    const advantages = advantagesOf('ms_swift', rewards);
    for (const [index, row] of own.entries()) {
      const why = row.state === 'ended' ? whyExcludedOf(row) : undefined;
      members.set(row, { group, advantage: advantages[index] ?? null, ...(why === undefined ? {} : { why }) });
    }
  }
  return members;
}
