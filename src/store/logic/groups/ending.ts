/** When a group ends, with whom, and what happens to the members that it no longer needs. */
import type { CutMember, GroupState } from '../../../protocol/groups.ts';
import { quote, text } from '../../sql/row.ts';
import { COMMAND } from '../../sql/schema.ts';
import type { Transaction } from '../../sql/sql.ts';
import { advance } from '../advance.ts';
import type { Batch } from '../batchState.ts';
import { closingEvents } from '../closingEvents.ts';
import { type EventRun, insertRuns, runsOf } from '../events.ts';
import { type RolloutRecordRow, readRollout, SELECT_ROLLOUT, saveRollouts } from '../rolloutState.ts';
import type { Group, GroupResult } from './groupState.ts';

export interface GroupEnd {
  readonly state: Exclude<GroupState, 'open'>;
  /** Undefined: it is complete. */
  readonly why: string | undefined;
  /** Members that were too old at a delivery count again: there are too few others, and no time for more. */
  readonly withStale: boolean;
}

/** Returns whether and how an open group ends now. */
export function endOfGroup(group: Group, batch: Pick<Batch, 'stopping'>, now: number): GroupEnd | undefined {
  const { size, scored, open, minUsable, deadlineAt } = group;
  if (scored >= size) return { state: 'complete', why: undefined, withStale: false };
  const isLate = deadlineAt !== null && now >= deadlineAt;
  if (!isLate && open > 0 && scored + open >= minUsable) return undefined;
  const stale = group.result?.stale?.length ?? 0;
  const withStale = stale > 0 && scored < minUsable;
  const counting = scored + (withStale ? stale : 0);
  if (counting >= size) return { state: 'complete', why: undefined, withStale };
  const state = counting >= minUsable ? 'short' : batch.stopping === null ? 'failed' : 'cancelled';
  const why = batch.stopping ?? (isLate ? 'Its deadline passed' : 'It can no longer become complete');
  return { state, why, withStale };
}

/** Ends a group: decides who counts. Its batch and its changed rollouts are saved already. */
export async function endGroup(tx: Transaction, batch: Batch, group: Group, end: GroupEnd): Promise<void> {
  const members = await membersOf(tx, group);
  const { result, counts } = resultOf(group, members, end.withStale, tx.now);
  group.state = end.state;
  group.why = end.why === undefined ? null : `${end.why.replace(/\.$/, '')}: ${counts}.`;
  group.endedAt = tx.now;
  group.rev = ++batch.rev;
  group.result = result;
  await saveRollouts(tx, countedAgain(members, result), () => batch);
}

/** Members that were replaced, but count after all. Returns them with their previous states. */
function countedAgain(
  members: readonly RolloutRecordRow[],
  result: GroupResult,
): ReadonlyMap<RolloutRecordRow, RolloutRecordRow> {
  const again = members.filter(({ name, progress }) => progress.replaced === true && result.members.includes(name));
  return new Map(
    again.map((rollout) => {
      const { replaced: _replaced, ...progress } = rollout.progress;
      return [{ ...rollout, progress }, rollout];
    }),
  );
}

/** Returns the newest tries of the members of a group, by attempt. */
export async function membersOf(tx: Transaction, { batch, task }: Group): Promise<RolloutRecordRow[]> {
  const rows = await tx.all(
    `${SELECT_ROLLOUT} WHERE batch = ? AND task = ? AND newest = 1 ORDER BY attempt`,
    batch,
    task,
  );
  return rows.map(readRollout);
}

function resultOf(
  group: Group,
  rows: readonly RolloutRecordRow[],
  withStale: boolean,
  now: number,
): { readonly result: GroupResult; readonly counts: string } {
  const { stale = [], cut: cutBefore = [] } = group.result ?? {};
  const tooOld = new Set(stale);
  const scored = rows
    .filter(hasReward)
    .sort((a, b) => (a.progress.ended_at ?? 0) - (b.progress.ended_at ?? 0) || a.attempt - b.attempt);
  const fresh = scored.filter(({ name }) => !tooOld.has(name));
  const old = scored.filter(({ name }) => tooOld.has(name));
  const chosen = new Set([...fresh, ...(withStale ? old : [])].slice(0, group.size));
  const counting = scored.filter((row) => chosen.has(row));
  const replaced = old.filter((row) => !chosen.has(row));
  const isCut = (row: RolloutRecordRow): boolean =>
    row.outcome === 'cancelled' && cutBefore.some(({ rollout }) => rollout === row.name);
  const excluded = rows.filter((row) => row.state === 'ended' && !hasReward(row) && !isCut(row));
  const cut = [...fresh.filter((row) => !chosen.has(row)), ...rows.filter(({ state }) => state !== 'ended')];
  const lost = excluded.filter(({ outcome }) => outcome === 'infrastructure').length;
  const cancelled = excluded.filter(({ outcome }) => outcome === 'cancelled').length;
  const unscored = excluded.length - lost - cancelled;
  const others = [
    ...(lost === 0 ? [] : [`${lost} lost to infrastructure`]),
    ...(unscored === 0 ? [] : [`${unscored} without a reward`]),
    ...(cancelled === 0 ? [] : [`${cancelled} canceled`]),
    ...(replaced.length === 0 ? [] : [`${replaced.length} too old`]),
    ...(cut.length === 0 ? [] : [`${cut.length} cut off`]),
  ].join(', ');
  const cutNow = cut.map((row) => cutMember(row, now));
  return {
    result: {
      members: counting.map(({ name }) => name),
      excluded: [...excluded, ...replaced].map(({ name }) => name),
      cut: [...cutBefore.filter((one) => rows.some((row) => row.name === one.rollout && isCut(row))), ...cutNow],
      ...(replaced.length === 0 ? {} : { stale: replaced.map(({ name }) => name) }),
    },
    counts: `${counting.length} of ${group.size} members have a reward${others === '' ? '' : ` (${others})`}`,
  };
}

/** Whether a rollout counts in its group. NaN is no reward. */
export function hasReward({ settles, progress }: RolloutRecordRow): boolean {
  return settles && Number.isFinite(progress.reward);
}

function cutMember(row: RolloutRecordRow, now: number): CutMember {
  const { progress } = row;
  const until = progress.ended_at ?? now;
  return {
    rollout: row.name,
    attempt: row.attempt,
    try: row.try,
    state: row.state,
    steps: progress.steps,
    output_tokens: progress.output_tokens,
    ms: progress.started_at === undefined ? 0 : Math.max(0, until - progress.started_at),
  };
}

/**
 * Cancels the members of groups that have ended: ends queued ones, and sends a command to the workers of others.
 * Returns the ended ones, with their previous states. A member that is being leased at this moment is skipped: the
 * transaction that leases it calls this again.
 */
export async function cutMembers(
  tx: Transaction,
  batch: Batch,
  groups: readonly Group[],
): Promise<Map<RolloutRecordRow, RolloutRecordRow>> {
  const changes = new Map<RolloutRecordRow, RolloutRecordRow>();
  const byTask = new Map(groups.map((group) => [group.task, group]));
  const tasks = [...byTask.keys()];
  const queued = await tx.all(
    `${SELECT_ROLLOUT} WHERE batch = ? AND ${tx.dialect.anyInt('task')} AND state = 0 ORDER BY id` +
      tx.dialect.skipLocked,
    batch.id,
    tasks,
  );
  const runs: EventRun[] = [];
  for (const rollout of queued.map(readRollout)) {
    const group = byTask.get(rollout.task);
    if (group === undefined) continue;
    changes.set(rollout, { ...rollout });
    rollout.epoch += 1;
    const events = await closingEvents(tx, batch, rollout, group.name, {
      status: 'cancelled',
      reason: reasonOf(group),
    });
    runs.push(...runsOf(rollout.id, events, () => undefined));
    advance(rollout, events);
  }
  await insertRuns(tx, runs);
  const running = await tx.all(
    `SELECT r.name AS rollout, r.task AS task, s.name AS session FROM rollout r JOIN session s ON s.id = r.session
     WHERE r.batch = ? AND ${tx.dialect.anyInt('r.task')} AND r.state IN (1, 2) ORDER BY r.id`,
    batch.id,
    tasks,
  );
  const commands = running.map((row) => {
    const rollout = text(row, 'rollout');
    const group = groups.find(({ task }) => task === row['task']);
    const args = JSON.stringify({ reason: group === undefined ? '' : reasonOf(group) });
    return [quote(`cut:${rollout}`), batch.id, rollout, 'cancel', args, quote('group')];
  });
  if (commands.length > 0)
    await tx.insert(COMMAND, ['name', 'batch', 'rollout', 'verb', 'args', 'by_whom'], commands, 'ignore');
  tx.changed(...running.map((row) => text(row, 'session')));
  return changes;
}

function reasonOf({ name, state, why }: Group): string {
  return state === 'complete' ? `Group ${name} is complete.` : (why ?? `Group ${name} has ended.`);
}
