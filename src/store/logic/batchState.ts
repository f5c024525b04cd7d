import { StudioError } from '../../common/errors.ts';
import type { Trimmed } from '../../common/trimmed.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { COUNT_NAMES, type CountName } from '../../trace/outcome.ts';
import type { Shared } from '../accessStore.ts';
import { int, intOr, quote, stored, text, textOr, unquote } from '../sql/row.ts';
import { BATCH } from '../sql/schema.ts';
import type { Reader, Row, Transaction } from '../sql/sql.ts';
import type { BatchRecord, NewBatch } from '../store.ts';
import { addMembers } from './groups/members.ts';

const OPEN: ReadonlySet<CountName> = new Set(['running', 'held', 'queued']);

/** Returns whether an attempt in this state still has work to do. */
export function isOpen(name: CountName): boolean {
  return OPEN.has(name);
}

/**
 * The row of a batch. Every change of a batch locks this row first (after the rollouts it changes), so `rev`, the
 * counters, and the batch's own stream have one writer at a time, and revisions become visible in order.
 */
export interface Batch {
  readonly id: number;
  readonly name: string;
  readonly spec: NewBatch;
  readonly createdAt: number;
  endedAt: number | null;
  reason: string | null;
  sealed: boolean;
  paused: boolean;
  /** Paused without workers. */
  released: boolean;
  /** Set by `stop`: why no more rollouts are started. */
  stopping: string | null;
  breakpoints: string;
  tasks: number;
  readonly counts: Record<CountName, number>;
  truncated: number;
  steps: number;
  input_tokens: number;
  output_tokens: number;
  side_input_tokens: number;
  side_output_tokens: number;
  rev: number;
  last: number;
  lastAt: number;
  /** Tasks of the dataset that are outside the band of its curriculum, and whose budget is spent. */
  outside: number;
  spent: number;
  /** Scored attempts of the tasks that are outside, and how often tasks left the band or came back. */
  outside_attempts: number;
  moves: number;
  /** What the filter left out when groups were delivered, and what was replayed with them. */
  filtered_groups: number;
  filtered_tokens: number;
  replayed_groups: number;
  replayed_rollouts: number;
  /** How many of its groups, the newest ones, have no rollouts yet. */
  pending: number;
  /** Groups that were requested again, and how often that happened. */
  repeated_groups: number;
  repeated_requests: number;
  /** Whom it is shared with. Changed by `share` alone. */
  readonly shared: Shared;
  /** When its trajectories were dropped, and why. Changed by `gc` alone. */
  readonly trimmed: Trimmed | undefined;
}

/** Value of the column `paused`, where 1 is a plain pause. */
const RELEASED = 2;

const SAVED = [
  'id',
  'ended_at',
  'reason',
  'sealed',
  'paused',
  'stopping',
  'breakpoints',
  'tasks',
  ...COUNT_NAMES,
  'truncated',
  'steps',
  'input_tokens',
  'output_tokens',
  'side_input_tokens',
  'side_output_tokens',
  'rev',
  'last',
  'last_at',
  'outside',
  'outside_attempts',
  'moves',
  'spent',
  'filtered_groups',
  'filtered_tokens',
  'replayed_groups',
  'replayed_rollouts',
  'pending',
  'repeated_groups',
  'repeated_requests',
] as const;

const COLUMNS = Object.keys(BATCH.columns).join(', ');
export const SELECT_BATCH = `SELECT ${COLUMNS} FROM batch`;

export function readBatch(row: Row): Batch {
  const count = (name: CountName): number => int(row, name);
  const reason = textOr(row, 'reason', null);
  const stopping = textOr(row, 'stopping', null);
  return {
    id: int(row, 'id'),
    name: text(row, 'name'),
    spec: specOf(text(row, 'spec')),
    createdAt: int(row, 'created_at'),
    endedAt: intOr(row, 'ended_at', null),
    reason: reason === null ? null : unquote(reason),
    sealed: int(row, 'sealed') === 1,
    paused: int(row, 'paused') !== 0,
    released: int(row, 'paused') === RELEASED,
    stopping: stopping === null ? null : unquote(stopping),
    breakpoints: text(row, 'breakpoints'),
    tasks: int(row, 'tasks'),
    counts: {
      passed: count('passed'),
      failed: count('failed'),
      unscored: count('unscored'),
      cancelled: count('cancelled'),
      infrastructure: count('infrastructure'),
      running: count('running'),
      held: count('held'),
      queued: count('queued'),
    },
    truncated: int(row, 'truncated'),
    steps: int(row, 'steps'),
    input_tokens: int(row, 'input_tokens'),
    output_tokens: int(row, 'output_tokens'),
    side_input_tokens: int(row, 'side_input_tokens'),
    side_output_tokens: int(row, 'side_output_tokens'),
    rev: int(row, 'rev'),
    last: int(row, 'last'),
    lastAt: int(row, 'last_at'),
    outside: int(row, 'outside'),
    outside_attempts: int(row, 'outside_attempts'),
    moves: int(row, 'moves'),
    spent: int(row, 'spent'),
    filtered_groups: int(row, 'filtered_groups'),
    filtered_tokens: int(row, 'filtered_tokens'),
    replayed_groups: int(row, 'replayed_groups'),
    replayed_rollouts: int(row, 'replayed_rollouts'),
    pending: int(row, 'pending'),
    repeated_groups: int(row, 'repeated_groups'),
    repeated_requests: int(row, 'repeated_requests'),
    shared: sharedOf(text(row, 'shared')),
    trimmed: row['trimmed'] === null ? undefined : stored<Trimmed>(text(row, 'trimmed')),
  };
}

const NOBODY = '[]';

function sharedOf(json: string): Shared {
  return json === NOBODY ? [] : stored<Shared>(json);
}

/**
 * Locks batches in the order of their IDs, so that two transactions never wait for each other. All groups of a locked
 * batch have their rollouts, unless they may be `pending`.
 */
export async function lockBatches(
  tx: Transaction,
  ids: readonly number[],
  pending?: 'pending',
): Promise<Map<number, Batch>> {
  const rows = await tx.all(
    `${SELECT_BATCH} WHERE ${tx.dialect.anyInt('id')} AND gone = 0 ORDER BY id${tx.dialect.forUpdate}`,
    ids,
  );
  const batches = new Map(rows.map((row) => [int(row, 'id'), readBatch(row)]));
  if (pending === undefined) for (const batch of batches.values()) await complete(tx, batch);
  return batches;
}

/** Locks one batch by name, whose groups have their rollouts then. Throws `not_found`. */
export async function lockBatch(tx: Transaction, name: string): Promise<Batch> {
  const row = await tx.get(`${SELECT_BATCH} WHERE name = ? AND gone = 0${tx.dialect.forUpdate}`, name);
  if (row === undefined) throw noBatch(name);
  const batch = readBatch(row);
  await complete(tx, batch);
  return batch;
}

async function complete(tx: Transaction, batch: Batch): Promise<void> {
  if (batch.pending === 0) return;
  await addMembers(tx, batch);
  await saveBatches(tx, [batch]);
}

export async function findBatch(db: Reader, name: string): Promise<Batch | undefined> {
  const row = await db.get(`${SELECT_BATCH} WHERE name = ? AND gone = 0`, name);
  return row === undefined ? undefined : readBatch(row);
}

/** Returns the integer ID of a batch. Throws `not_found`. */
export async function batchId(db: Reader, name: string): Promise<number> {
  const row = await db.get('SELECT id FROM batch WHERE name = ? AND gone = 0', name);
  if (row === undefined) throw noBatch(name);
  return int(row, 'id');
}

export function noBatch(name: string): StudioError {
  return new StudioError('not_found', `This store has no batch ${name}.`, {
    hint: 'List the batches with `rollout batches`.',
  });
}

/** Saves locked batches, and notifies their watchers. */
export async function saveBatches(tx: Transaction, batches: Iterable<Batch>): Promise<void> {
  const rows = [];
  for (const batch of batches) {
    tx.changed(batch.name);
    rows.push([
      batch.id,
      batch.endedAt,
      batch.reason === null ? null : quote(batch.reason),
      batch.sealed ? 1 : 0,
      batch.released ? RELEASED : batch.paused ? 1 : 0,
      batch.stopping === null ? null : quote(batch.stopping),
      batch.breakpoints,
      batch.tasks,
      ...COUNT_NAMES.map((name) => batch.counts[name]),
      batch.truncated,
      batch.steps,
      batch.input_tokens,
      batch.output_tokens,
      batch.side_input_tokens,
      batch.side_output_tokens,
      batch.rev,
      batch.last,
      batch.lastAt,
      batch.outside,
      batch.outside_attempts,
      batch.moves,
      batch.spent,
      batch.filtered_groups,
      batch.filtered_tokens,
      batch.replayed_groups,
      batch.replayed_rollouts,
      batch.pending,
      batch.repeated_groups,
      batch.repeated_requests,
    ]);
  }
  await tx.update(BATCH, SAVED, rows);
}

/** Returns the fields of a row for the tokens of side models: none if there are none. */
function sideTokens(input: number, output: number): Pick<BatchRow, 'side_tokens'> {
  return input + output === 0 ? {} : { side_tokens: { input, output } };
}

/** Returns the public information on a fork's parent. */
export function parentOf({ parent }: NewBatch): Pick<BatchRow, 'parent'> {
  if (parent === undefined) return {};
  const { rollout, seq, differs } = parent;
  return { parent: { rollout, seq, ...(differs === undefined ? {} : { differs: [...differs] }) } };
}

function curriculumOf(
  curriculum: NonNullable<NewBatch['curriculum']>,
  { outside, outside_attempts: attempts, moves }: Batch,
): NonNullable<BatchRow['curriculum']> {
  return curriculum.refresh === undefined ? curriculum : { ...curriculum, outside, outside_attempts: attempts, moves };
}

function budgetOf({ spec: { task_tokens: tokens, task_cost: cost }, spent }: Batch): Pick<BatchRow, 'budget'> {
  if (tokens === undefined && cost === undefined) return {};
  return { budget: { ...(tokens === undefined ? {} : { tokens }), ...(cost === undefined ? {} : { cost }), spent } };
}

function deliveredOf(batch: Batch): NonNullable<BatchRow['delivered']> {
  return {
    filtered: { groups: batch.filtered_groups, tokens: batch.filtered_tokens },
    replayed: { groups: batch.replayed_groups, rollouts: batch.replayed_rollouts },
  };
}

function repeatedOf({ repeated_groups: groups, repeated_requests: requests }: Batch): Pick<BatchRow, 'repeated'> {
  return requests === 0 ? {} : { repeated: { groups, requests } };
}

export function batchRow(batch: Batch): BatchRow {
  const { spec } = batch;
  return {
    batch: batch.name,
    name: spec.name,
    created_at: batch.createdAt,
    ...(batch.endedAt === null ? {} : { ended_at: batch.endedAt }),
    state: batch.endedAt !== null ? 'ended' : batch.paused ? 'paused' : batch.sealed ? 'running' : 'open',
    ...(batch.released && batch.endedAt === null ? { released: true } : {}),
    ...(spec.debug ? { debug: true } : {}),
    submission: spec.submission,
    tasks: batch.tasks,
    attempts: spec.attempts,
    counts: { ...batch.counts },
    truncated: batch.truncated,
    steps: batch.steps,
    input_tokens: batch.input_tokens,
    output_tokens: batch.output_tokens,
    ...sideTokens(batch.side_input_tokens, batch.side_output_tokens),
    ...parentOf(spec),
    ...(spec.adaptive === undefined ? {} : { adaptive: spec.adaptive }),
    ...(spec.rescores === undefined ? {} : { rescores: spec.rescores.batch }),
    ...(spec.group === undefined ? {} : { groups: true, delivered: deliveredOf(batch) }),
    ...repeatedOf(batch),
    ...(spec.curriculum === undefined ? {} : { curriculum: curriculumOf(spec.curriculum, batch) }),
    ...budgetOf(batch),
    imported: spec.imported,
    ...(spec.by === undefined
      ? {}
      : { by: spec.by, shared: batch.shared === 'everyone' ? 'everyone' : [...batch.shared] }),
    ...(batch.reason === null ? {} : { reason: batch.reason }),
    ...(batch.trimmed === undefined ? {} : { trimmed: batch.trimmed }),
    rev: batch.rev,
    last: batch.last,
  };
}

export function batchRecord(batch: Batch): BatchRecord {
  return {
    row: batchRow(batch),
    spec: batch.spec,
    sealed: batch.sealed,
    paused: batch.paused,
    released: batch.released,
    ...(batch.stopping === null ? {} : { stopping: batch.stopping }),
    breakpoints: stored(batch.breakpoints),
  };
}

/** Parsed specifications by their JSON. They are immutable, every append reads one, and those of forks can be large. */
const specs = new Map<string, NewBatch>();
const SPECS = 64;

function specOf(json: string): NewBatch {
  const cached = specs.get(json);
  if (cached !== undefined) return cached;
  const spec = stored<NewBatch>(json);
  if (specs.size >= SPECS) specs.delete(specs.keys().next().value ?? '');
  specs.set(json, spec);
  return spec;
}
