/** Which groups are too old for the trainer at their delivery, and which of them wait. */
import type { FinishedGroup, GroupSettings } from '../../protocol/groups.ts';
import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { BatchRecord, RolloutRecord, Store } from '../../store/store.ts';
import { stalenessOf } from '../../trace/groups/staleness.ts';
import type { Services } from '../services.ts';
import type { Delivery } from './content.ts';

/**
 * Returns the next groups that ended after `after` and are delivered now; at most `limit`. In a batch whose stale
 * groups wait, each one is judged before its first delivery, by the first server that is asked: if it is too old,
 * it is open again, and comes later.
 */
export async function deliverableGroups(
  { store, endpoints }: Pick<Services, 'store' | 'endpoints'>,
  { row: { batch }, spec: { group: settings } }: BatchRecord,
  after: number,
  limit: number,
): Promise<readonly FinishedGroupRecord[]> {
  for (;;) {
    const groups = await store.finishedGroups(batch, after, limit);
    if (settings?.stale !== 'wait' || settings.max_versions === undefined || groups.length === 0) return groups;
    const versionOf = await endpoints.versionsFor(batch);
    const ready: FinishedGroupRecord[] = [];
    for (const group of groups) if (await isDelivered(store, group, versionOf, settings)) ready.push(group);
    // Those that wait are no longer among the next ones.
    if (ready.length > 0) return ready;
  }
}

async function isDelivered(
  store: Store,
  { row: { batch, group }, rev, members, cut, delivered }: FinishedGroupRecord,
  versionOf: Delivery['versionOf'],
  settings: GroupSettings,
): Promise<boolean> {
  if (delivered === true) return true;
  // Those that had a reward too, but later than others, count in its next end, unless they are too old as well.
  const surplus = cut.flatMap(({ state, rollout }) => (state === 'ended' ? [rollout] : []));
  const records = await recordsOf(store, [...members, ...surplus]);
  const stale = staleMembers(records, versionOf, settings)?.members ?? [];
  const isStale = members.some((member) => stale.includes(member));
  return store.deliverGroup(batch, group, { rev, stale: isStale ? stale : [] });
}

/** Returns which members of a group are too old for the trainer; undefined if none is. */
export function staleMembers(
  members: readonly RolloutRecord[],
  versionOf: Delivery['versionOf'],
  settings: Pick<Delivery, 'max_versions' | 'stale'>,
): FinishedGroup['stale'] {
  const weighted = members.flatMap(({ row }) =>
    Object.entries(row.progress.weights ?? {}).map(([agent, weights]) => ({ rollout: row.rollout, agent, weights })),
  );
  const { stale: rule, max_versions: maxVersions } = settings;
  const { behind, stale, then } = stalenessOf(weighted, ({ agent }) => versionOf(agent), {
    stale: rule,
    ...(maxVersions === undefined ? {} : { max_versions: maxVersions }),
  });
  if (then === 'deliver') return undefined;
  return {
    behind: behind === undefined || !Number.isFinite(behind) ? null : behind,
    members: [...new Set(stale.flatMap((index) => weighted[index]?.rollout ?? []))],
    dropped: then === 'drop',
  };
}

export async function recordsOf(store: Store, names: readonly string[]): Promise<RolloutRecord[]> {
  const records = await Promise.all(names.map((name) => store.rollout(name)));
  return records.flatMap((record) => record ?? []); // the batch is being removed
}
