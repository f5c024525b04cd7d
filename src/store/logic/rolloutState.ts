import { StudioError } from '../../common/errors.ts';
import { newIds } from '../../common/ids.ts';
import type { Lineage } from '../../protocol/worker.ts';
import type { RolloutEndStatus } from '../../trace/schema.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow, type RolloutState } from '../../trace/summary.ts';
import { int, intOr, stored, text, textOr, unquote } from '../sql/row.ts';
import { OUTCOMES, ROLLOUT, STATES } from '../sql/schema.ts';
import type { Row, Transaction, Value } from '../sql/sql.ts';
import type { Origin } from '../store.ts';
import type { Batch } from './batchState.ts';
import type { StreamGuard } from './streamGuard.ts';

/** The row of a rollout. */
export interface RolloutRecordRow {
  readonly id: number;
  readonly name: string;
  readonly batch: number;
  readonly task: number;
  readonly attempt: number;
  readonly try: number;
  state: RolloutState;
  outcome: RolloutEndStatus | null;
  epoch: number;
  last: number;
  /** Whether it is the newest try of its attempt. */
  newest: boolean;
  settles: boolean;
  session: number | null;
  worker: string | null;
  rev: number;
  duplicateOf: string | null;
  /** What it scores again, if its batch rescores another one. */
  readonly origin: Origin | undefined;
  progress: Progress;
  /** Until the end; undefined for imported rollouts, and for those of a store of an older version. */
  guard: StreamGuard | undefined;
}

/** The column `progress`. */
type StoredProgress = Progress & { readonly guard?: StreamGuard };

const COLUMNS = [
  'id',
  'name',
  'batch',
  'task',
  'attempt',
  'try',
  'state',
  'outcome',
  'epoch',
  'last',
  'newest',
  'settles',
  'session',
  'worker',
  'rev',
  'duplicate_of',
  'origin',
  'progress',
] as const;
export const SELECT_ROLLOUT = `SELECT ${COLUMNS.join(', ')} FROM rollout`;
/** Also selects the other fields of a `RolloutRow`. */
export const SELECT_ROLLOUT_ROW = `SELECT ${COLUMNS.map((column) => `r.${column}`).join(', ')},
  b.name AS batch_name, t.name AS task_name, CASE WHEN b.trimmed IS NULL THEN 0 ELSE 1 END AS trimmed
  FROM rollout r JOIN batch b ON b.id = r.batch JOIN task t ON t.batch = r.batch AND t.idx = r.task`;

const SAVED = [
  'id',
  'state',
  'outcome',
  'epoch',
  'last',
  'newest',
  'settles',
  'session',
  'worker',
  'rev',
  'duplicate_of',
  'fingerprint',
  'progress',
] as const;
type SavedColumn = (typeof SAVED)[number];
/**
 * The columns of the most frequent changes: a stream grows, or its holder changes. Omitting a column avoids updating
 * its indexes.
 */
const NARROW: readonly (readonly SavedColumn[])[] = [
  ['id', 'last', 'rev', 'progress'],
  ['id', 'state', 'epoch', 'session', 'worker', 'rev'],
];

export function readRollout(row: Row): RolloutRecordRow {
  const state = STATES[int(row, 'state')];
  if (state === undefined) throw new StudioError('storage', 'The store is damaged: a rollout has no state.');
  const outcome = row['outcome'] === null ? null : (OUTCOMES[int(row, 'outcome')] ?? null);
  const origin = textOr(row, 'origin', null);
  const { guard, ...progress } = stored<StoredProgress>(text(row, 'progress'));
  return {
    id: int(row, 'id'),
    name: text(row, 'name'),
    batch: int(row, 'batch'),
    task: int(row, 'task'),
    attempt: int(row, 'attempt'),
    try: int(row, 'try'),
    state,
    outcome,
    epoch: int(row, 'epoch'),
    last: int(row, 'last'),
    newest: int(row, 'newest') === 1,
    settles: int(row, 'settles') === 1,
    session: intOr(row, 'session', null),
    worker: textOr(row, 'worker', null),
    rev: int(row, 'rev'),
    duplicateOf: textOr(row, 'duplicate_of', null),
    origin: origin === null ? undefined : stored<Origin>(origin),
    progress,
    guard,
  };
}

/** Converts a row of `SELECT_ROLLOUT_ROW`. */
export function rolloutRow(row: Row): RolloutRow {
  const rollout = readRollout(row);
  return {
    rollout: rollout.name,
    batch: text(row, 'batch_name'),
    task: unquote(text(row, 'task_name')),
    task_index: rollout.task,
    attempt: rollout.attempt,
    try: rollout.try,
    state: rollout.state,
    epoch: rollout.epoch,
    last: rollout.last,
    settles: rollout.settles,
    ...(rollout.duplicateOf === null ? {} : { duplicate_of: rollout.duplicateOf }),
    ...(rollout.origin === undefined ? {} : { rescores: rollout.origin.rollout }),
    ...(rollout.worker === null ? {} : { worker: unquote(rollout.worker) }),
    ...(int(row, 'trimmed') === 1 ? { trimmed: true } : {}),
    progress: rollout.progress,
    rev: rollout.rev,
  };
}

/** Returns all values except `progress`, whose text costs more than all others. */
function valuesOf(rollout: RolloutRecordRow): Record<Exclude<SavedColumn, 'progress'>, Value> {
  const { id, epoch, last, session, worker, rev } = rollout;
  return {
    id,
    epoch,
    last,
    session,
    worker,
    rev,
    state: STATES.indexOf(rollout.state),
    outcome: rollout.outcome === null ? null : OUTCOMES.indexOf(rollout.outcome),
    newest: rollout.newest ? 1 : 0,
    settles: rollout.settles ? 1 : 0,
    duplicate_of: rollout.duplicateOf,
    fingerprint: rollout.progress.fingerprint ?? null,
  };
}

/**
 * Saves rollouts, each with the next revision of its (locked) batch, and notifies their watchers. `rollouts`: each with
 * its previous state.
 */
export async function saveRollouts(
  tx: Transaction,
  rollouts: ReadonlyMap<RolloutRecordRow, RolloutRecordRow>,
  batchOf: (id: number) => Batch,
): Promise<void> {
  const rows = new Map<readonly SavedColumn[], Value[][]>();
  for (const [rollout, before] of rollouts) {
    rollout.rev = ++batchOf(rollout.batch).rev;
    tx.changed(rollout.name);
    const [values, old] = [valuesOf(rollout), valuesOf(before)];
    const same = (column: SavedColumn): boolean =>
      column === 'progress'
        ? rollout.progress === before.progress && rollout.guard === before.guard
        : values[column] === old[column];
    const changed = SAVED.filter((column) => !same(column));
    const columns = NARROW.find((some) => changed.every((column) => some.includes(column))) ?? SAVED;
    const updates = rows.get(columns) ?? [];
    rows.set(columns, updates);
    updates.push(columns.map((column) => (column === 'progress' ? progressText(rollout) : values[column])));
  }
  for (const [columns, updates] of rows) await tx.update(ROLLOUT, columns, updates);
}

function progressText({ progress, guard }: Pick<RolloutRecordRow, 'progress' | 'guard'>): string {
  const value: StoredProgress = guard === undefined ? progress : { ...progress, guard };
  return JSON.stringify(value);
}

export interface NewRollout {
  readonly name: string;
  readonly task: number;
  readonly attempt: number;
  readonly try: number;
  readonly origin?: Origin | undefined;
  /** Its place among those of its task that count. Default: its number. */
  readonly place?: number | undefined;
  /** Of its group, if a trainer requested it. Higher goes first. */
  readonly priority?: number;
}

const INSERTED = [
  'name',
  'batch',
  'task',
  'attempt',
  'try',
  'state',
  'outcome',
  'epoch',
  'last',
  'newest',
  'settles',
  'packed',
  'session',
  'worker',
  'q1',
  'q2',
  'rev',
  'duplicate_of',
  'fingerprint',
  'origin',
  'progress',
] as const;

/** Gives new rollouts their IDs. */
export function withNames(rollouts: readonly Omit<NewRollout, 'name'>[], now: number): NewRollout[] {
  const names = newIds('r', rollouts.length, now);
  return rollouts.map((rollout, index) => ({ name: names[index] ?? '', ...rollout }));
}

/** Adds queued or imported rollouts to a locked batch. The caller updates the counters. */
export async function insertRollouts(
  tx: Transaction,
  batch: Batch,
  rollouts: readonly NewRollout[],
  state: 'queued' | 'running',
): Promise<void> {
  const epoch = state === 'queued' ? 0 : 1;
  const newProgress = (origin: Origin | undefined, place?: number): string =>
    progressText({
      progress: place === undefined ? EMPTY_PROGRESS : { ...EMPTY_PROGRESS, place },
      guard: state === 'queued' ? { from: firstSeq(batch, origin), open: {} } : undefined,
    });
  // The same for almost all: a thousand of them are serialized once.
  const usual = newProgress(undefined);
  const progress = ({ origin, attempt, place = attempt }: NewRollout): string =>
    origin === undefined && place === attempt ? usual : newProgress(origin, place === attempt ? undefined : place);
  const rows = rollouts.map((rollout) => [
    rollout.name,
    batch.id,
    rollout.task,
    rollout.attempt,
    rollout.try,
    STATES.indexOf(state),
    null,
    epoch,
    firstSeq(batch, rollout.origin) - 1,
    1,
    0,
    0,
    null,
    null,
    ...queuePlace(batch, rollout),
    ++batch.rev,
    null,
    null,
    rollout.origin === undefined ? null : JSON.stringify(rollout.origin),
    progress(rollout),
  ]);
  await tx.insert(ROLLOUT, INSERTED, rows);
}

/** Numbers of a group's attempts are smaller. */
const ATTEMPTS = 2 ** 20;

/** Returns the two numbers by which the queue is sorted. Groups run one after another, so that each ends early. */
function queuePlace(batch: Batch, { task, attempt, priority }: NewRollout): [number, number] {
  if (batch.spec.group !== undefined) return [-(priority ?? 0), task * ATTEMPTS + attempt];
  return batch.spec.order === 'breadth' ? [attempt, task] : [task, attempt];
}

/**
 * Returns the seq of the first event that a rollout of the batch owns: 1, or the one after the events that it shares
 * with the parent of its fork, or with the rollout that it scores again.
 */
export function firstSeq(batch: Batch, origin: Origin | undefined): number {
  return ((origin ?? batch.spec.parent)?.seq ?? 0) + 1;
}

/** Returns the owners of the events that a rollout of the batch starts with. */
export function lineageOf(batch: Batch, origin: Origin | undefined): Lineage {
  return (origin ?? batch.spec.parent)?.lineage ?? [];
}
