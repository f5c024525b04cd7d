/** Finds the successes of earlier groups that are delivered again with a group. */
import type { GroupSettings } from '../../protocol/groups.ts';
import type { FinishedGroupRecord, ReplayedRollout } from '../../store/groupStore.ts';
import type { RolloutRecord, Store } from '../../store/store.ts';
import { needsReplay, replayableOf, replayCount } from '../../trace/groups/replay.ts';
import type { RolloutRow } from '../../trace/summary.ts';

/** Earlier groups of a batch that are looked through, the newest first. */
const LOOK_BACK = 1_000;
/** Attempts of a task of a batch without groups that are looked through. */
const ATTEMPTS = 1_000;

/** A rollout that is delivered again. */
export interface Replay extends ReplayedRollout {
  readonly record: RolloutRecord;
}

/**
 * Returns the rollouts to replay with a usable group, the newest first. They are recorded at the first delivery, and
 * are the same at each one, as long as their batch is there. `members`: those that count.
 */
export async function replaysFor(
  store: Store,
  group: FinishedGroupRecord,
  members: readonly RolloutRow[],
  settings: NonNullable<GroupSettings['replay']>,
  versionOf: (agent: string) => number | undefined,
): Promise<Replay[]> {
  if (!needsReplay(members)) return [];
  const { batch, group: name } = group.row;
  const chosen =
    group.replayed ??
    (await store.replayGroup(batch, name, await chooseFrom(store, group, members, settings, versionOf)));
  const records = await Promise.all(chosen.map(({ rollout }) => store.rollout(rollout)));
  return chosen.flatMap((one, index) => {
    const record = records[index];
    return record === undefined ? [] : [{ ...one, record }]; // its batch was removed
  });
}

async function chooseFrom(
  store: Store,
  { row, rev }: FinishedGroupRecord,
  members: readonly RolloutRow[],
  { from, share, age }: NonNullable<GroupSettings['replay']>,
  versionOf: (agent: string) => number | undefined,
): Promise<ReplayedRollout[]> {
  const count = replayCount(members.length, share);
  const found: ReplayedRollout[] = [];
  const isVersioned = members.some(({ progress }) => Object.keys(progress.weights ?? {}).length > 0);
  const seen = new Set<string>();
  for (const batch of count === 0 ? [] : [row.batch, ...from]) {
    for await (const rows of earlierGroups(store, batch, row.task, batch === row.batch ? rev : undefined)) {
      for (const { index, behind } of replayableOf(rows, versionOf, { age, isVersioned })) {
        const one = rows[index];
        if (one === undefined || found.length >= count) continue;
        const { fingerprint } = one.progress;
        if (fingerprint !== undefined && seen.has(fingerprint)) continue;
        if (fingerprint !== undefined) seen.add(fingerprint);
        found.push({ batch, rollout: one.rollout, behind });
      }
      if (found.length >= count) return found;
    }
  }
  return found;
}

/** Yields the members of each group of a task, the newest group first; of a batch without groups, its attempts. */
async function* earlierGroups(
  store: Store,
  name: string,
  task: string,
  before: number | undefined,
): AsyncGenerator<RolloutRow[]> {
  const batch = await store.batch(name);
  if (batch === undefined) return; // it was removed
  if (batch.spec.group === undefined) {
    yield (await store.rollouts(name, { task, limit: ATTEMPTS })).rollouts;
    return;
  }
  for (const { members } of await store.earlierGroups(name, task, { before, limit: LOOK_BACK })) {
    const records = await Promise.all(members.map((member) => store.rollout(member)));
    yield records.flatMap((record) => record?.row ?? []);
  }
}
