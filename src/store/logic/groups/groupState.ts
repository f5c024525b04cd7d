/** The rows of groups that trainers request. They are changed only under the lock of their batch. */
import { type CutMember, GROUP_STATES, type GroupRow, type GroupState } from '../../../protocol/groups.ts';
import { datasetId, type TaskRecord } from '../../../trace/task.ts';
import type { FilteredGroup, FinishedGroupRecord, GroupRequest, ReplayedRollout } from '../../groupStore.ts';
import { int, intOr, quote, stored, text, textOr, unquote } from '../../sql/row.ts';
import { TRAINER_GROUP } from '../../sql/schema.ts';
import type { Row, Transaction } from '../../sql/sql.ts';

/** Names of the rollouts of a group that has ended. One that is open again has only those of `cut` and `stale`. */
export interface GroupResult {
  /** Those that count, in the order in which they ended. */
  readonly members: readonly string[];
  /** Those that ended without a reward, and those of `stale`. */
  readonly excluded: readonly string[];
  readonly cut: readonly CutMember[];
  /** Those with a reward that do not count, because their weights were too old at a delivery. */
  readonly stale?: readonly string[];
  readonly delivered?: true;
  /** Set at the first delivery. */
  readonly filtered?: FilteredGroup;
  readonly replayed?: readonly ReplayedRollout[];
}

export interface Group {
  readonly id: number;
  readonly batch: number;
  /** Index of its task. */
  readonly task: number;
  readonly name: string;
  readonly request: GroupRequest;
  readonly size: number;
  readonly extra: number;
  readonly minUsable: number;
  /** Attempts that it has got so far. */
  members: number;
  scored: number;
  open: number;
  replaced: number;
  /** How often its request was sent again. */
  readonly repeats: number;
  state: GroupState;
  why: string | null;
  readonly requestedAt: number;
  readonly deadlineAt: number | null;
  endedAt: number | null;
  rev: number | null;
  result: GroupResult | null;
}

const COLUMNS = Object.keys(TRAINER_GROUP.columns);
export const SELECT_GROUP = `SELECT ${COLUMNS.map((column) => `g.${column}`).join(', ')} FROM trainer_group g`;

export function readGroup(row: Row): Group {
  const why = textOr(row, 'why', null);
  const result = textOr(row, 'result', null);
  return {
    id: int(row, 'id'),
    batch: int(row, 'batch'),
    task: int(row, 'task'),
    name: text(row, 'name'),
    request: stored<GroupRequest>(text(row, 'request')),
    size: int(row, 'size'),
    extra: int(row, 'extra'),
    minUsable: int(row, 'min_usable'),
    members: int(row, 'members'),
    scored: int(row, 'scored'),
    open: int(row, 'open'),
    replaced: int(row, 'replaced'),
    repeats: int(row, 'repeats'),
    state: GROUP_STATES[int(row, 'state')] ?? 'open',
    why: why === null ? null : unquote(why),
    requestedAt: int(row, 'requested_at'),
    deadlineAt: intOr(row, 'deadline_at', null),
    endedAt: intOr(row, 'ended_at', null),
    rev: intOr(row, 'rev', null),
    result: result === null ? null : stored<GroupResult>(result),
  };
}

export async function saveGroups(tx: Transaction, groups: readonly Group[]): Promise<void> {
  if (groups.length === 0) return;
  await tx.update(
    TRAINER_GROUP,
    ['id', 'members', 'scored', 'open', 'replaced', 'state', 'why', 'ended_at', 'rev', 'result'],
    groups.map((group) => [
      group.id,
      group.members,
      group.scored,
      group.open,
      group.replaced,
      GROUP_STATES.indexOf(group.state),
      group.why === null ? null : quote(group.why),
      group.endedAt,
      group.rev,
      group.result === null ? null : JSON.stringify(group.result),
    ]),
  );
}

/** Returns the public part of a group. */
export function groupRow(batch: string, group: Group): GroupRow {
  const { task, sampling } = group.request;
  const { filtered, replayed = [], stale = [] } = group.result ?? {};
  return {
    batch,
    group: group.name,
    task: typeof task === 'string' ? task : datasetId(task),
    index: group.task,
    state: group.state,
    ...(group.why === null ? {} : { why: group.why }),
    size: group.size,
    extra: group.extra,
    min_usable: group.minUsable,
    priority: group.request.priority,
    ...(sampling === undefined ? {} : { sampling }),
    requested_at: group.requestedAt,
    ...(group.deadlineAt === null ? {} : { deadline_at: group.deadlineAt }),
    ...(group.endedAt === null ? {} : { ended_at: group.endedAt }),
    scored: group.scored,
    open: group.open,
    replaced: group.replaced,
    ...(stale.length === 0 ? {} : { stale: stale.length }),
    ...(filtered === undefined || filtered.why === null
      ? {}
      : { filtered: { why: filtered.why, tokens: filtered.tokens } }),
    ...(replayed.length === 0 ? {} : { replayed: replayed.length }),
  };
}

export function finishedRecord(batch: string, group: Group): FinishedGroupRecord | undefined {
  const { rev, result } = group;
  return rev === null || result === null ? undefined : { row: groupRow(batch, group), rev, ...result };
}

/** Returns the task of a group: it has the name of the group, and knows the dataset's. */
export function taskOfGroup(name: string, task: TaskRecord): TaskRecord {
  return { ...task, id: name, of: datasetId(task) };
}
