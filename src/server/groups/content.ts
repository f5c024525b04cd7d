/** What the feed says about a group that has ended. */
import { Readable } from 'node:stream';
import type { FinishedGroup, GroupSettings } from '../../protocol/groups.ts';
import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { RolloutRecord, Store } from '../../store/store.ts';
import { advantagesOf } from '../../trace/groups/advantages.ts';
import { replayAdvantage } from '../../trace/groups/replay.ts';
import { mean } from '../../trace/groups/spread.ts';
import { whyExcludedOf } from '../../trace/groups/whyExcluded.ts';
import { type TrainingRow, trainingOutcomeOf, trainingRows } from '../../trace/segments/trainingRows.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { groupCursor } from './cursor.ts';
import { filterMembers } from './filter.ts';
import { replaysFor } from './replay.ts';
import { recordsOf, staleMembers } from './stale.ts';
import { readTrajectory } from './trajectory.ts';

/** Members that are read at the same time. */
const AT_A_TIME = 4;

/** How groups are delivered now. */
export interface Delivery extends Pick<GroupSettings, 'estimator' | 'max_versions' | 'stale' | 'filter' | 'replay'> {
  /** Returns the current version of the weights of an agent. */
  readonly versionOf: (agent: string) => number | undefined;
}

/**
 * Yields a line of the feed in pieces, without a line break: only one member's tokens are in memory, however large the
 * group is.
 */
export async function* groupText(
  store: Store,
  record: FinishedGroupRecord,
  { estimator, versionOf, filter, replay, ...staleness }: Delivery,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { row, rev, cut } = record;
  const members = await recordsOf(store, record.members);
  const excluded = await recordsOf(store, record.excluded);
  const rewards = members.map(({ row: { progress } }) => progress.reward ?? null);
  const advantages = advantagesOf(estimator, rewards);
  const scored = rewards.filter((reward) => reward !== null);
  const stale = staleMembers(members, versionOf, staleness);
  const ended = row.state === 'complete' || row.state === 'short';
  const filtered = ended && filter !== undefined ? await filterMembers(store, record, members, filter, signal) : null;
  const isDropped = stale?.dropped === true || filtered !== null;
  const why = [row.why, filtered].filter((text) => typeof text === 'string');
  const head = {
    schema: 1,
    cursor: groupCursor(row.batch, rev),
    batch: row.batch,
    group: row.group,
    task: row.task,
    state: row.state === 'open' ? 'failed' : row.state,
    usable: ended && !isDropped,
    ...(why.length === 0 ? {} : { why: why.join(' ') }),
    size: row.size,
    requested_at: row.requested_at,
    ended_at: row.ended_at ?? row.requested_at,
    estimator,
    mean: scored.length === 0 ? null : mean(scored),
    members: members.flatMap(({ row: member }, index) => {
      const reward = rewards[index] ?? null;
      return reward === null ? [] : [memberOf(member, reward, advantages[index] ?? null)];
    }),
    excluded: excluded.map(({ row: other }) => ({
      rollout: other.rollout,
      attempt: other.attempt,
      try: other.try,
      outcome: trainingOutcomeOf(other),
      why: whyExcludedOf(other) ?? 'it ended after the group',
    })),
    cut: [...cut],
    replaced: row.replaced,
    ...(stale === undefined ? {} : { stale }),
    ...(filtered === null ? {} : { filtered: true as const }),
  } satisfies Omit<FinishedGroup, 'rows' | 'left_out'>;
  yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
  const leftOut: Record<string, number> = {};
  let isFirst = true;
  const read = async (member: RolloutRecord): Promise<readonly TrainingRow[]> => {
    const { model, tokens } = await readTrajectory(store, member);
    const { rows, left_out } = trainingRows(model, member.row, tokens);
    for (const { why } of left_out) leftOut[why] = (leftOut[why] ?? 0) + 1;
    return rows;
  };
  const delivered = isDropped ? [] : members;
  const memberRows = members.map(({ row: member }) => member);
  const replays =
    replay === undefined || !head.usable ? [] : await replaysFor(store, record, memberRows, replay, versionOf);
  const all: AsyncIterable<readonly TrainingRow[]> = Readable.from([
    ...delivered,
    ...replays.map((one) => one.record),
  ]).map(read, { concurrency: AT_A_TIME, signal });
  const marks = [
    ...delivered.map((_member, index) => ({ advantage: advantages[index] ?? null })),
    ...replays.map(({ record: { row: other }, batch, rollout, behind }) => ({
      advantage: replayAdvantage(estimator, rewards, other.progress.reward ?? null),
      replayed: { batch, rollout, behind },
    })),
  ];
  let index = 0;
  for await (const rows of all) {
    const mark = marks[index++];
    const texts = rows.map((one) => JSON.stringify({ ...one, ...mark }));
    if (texts.length === 0) continue;
    yield `${isFirst ? '' : ','}${texts.join(',')}`;
    isFirst = false;
  }
  yield `],"left_out":${JSON.stringify(leftOut)}}`;
}

function memberOf(row: RolloutRow, reward: number, advantage: number | null): FinishedGroup['members'][number] {
  const { progress } = row;
  return {
    rollout: row.rollout,
    attempt: row.attempt,
    try: row.try,
    ...(progress.part === undefined ? {} : { part: progress.part }),
    outcome: trainingOutcomeOf(row),
    reward,
    advantage,
    steps: progress.steps,
    output_tokens: progress.output_tokens,
    ...(progress.ms === undefined ? {} : { ms: progress.ms }),
  };
}
