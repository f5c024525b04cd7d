/** Batches whose tasks get further attempts only while they need them (`attempts: { least, most, until }`). */
import { type CountName, countNameOf } from '../../trace/outcome.ts';
import { int } from '../sql/row.ts';
import type { Transaction } from '../sql/sql.ts';
import type { NewBatch } from '../store.ts';
import type { Batch } from './batchState.ts';
import { type NewRollout, type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';
import { closedTasks } from './taskCounts.ts';

/** Returns the number of attempts that a task starts with. */
export function firstAttempts({ adaptive, attempts }: Pick<NewBatch, 'adaptive' | 'attempts'>): number {
  return adaptive?.least ?? attempts;
}

/**
 * Returns how many attempts a task gets now that all of its attempts have ended. `ended`: what they count as. Those
 * lost to infrastructure do not count, and are replaced; at most as many as a task may have.
 */
export function furtherAttempts(
  { least, until }: NonNullable<NewBatch['adaptive']>,
  most: number,
  ended: readonly CountName[],
): number {
  const has = (name: CountName): boolean => ended.includes(name);
  const lost = ended.filter((name) => name === 'infrastructure').length;
  const used = ended.length - lost;
  const left = Math.min(most - used, 2 * most - ended.length);
  if (used < least) return Math.max(0, Math.min(least - used, left));
  if (has('passed') && (until === 'solved' || has('failed'))) return 0;
  // Waves of half the first one: a task that needs many attempts does not wait for each of them.
  return Math.max(0, Math.min(Math.ceil(least / 2), left));
}

/** Returns the attempts that tasks of a batch get next. `tasks`: those of which an attempt has ended. */
export async function nextAttempts(
  tx: Transaction,
  batch: Batch,
  tasks: Iterable<number>,
): Promise<Omit<NewRollout, 'name'>[]> {
  const { adaptive, attempts: most } = batch.spec;
  if (adaptive === undefined || batch.stopping !== null) return [];
  const next: Omit<NewRollout, 'name'>[] = [];
  const some = [...tasks];
  const closed = await closedTasks(tx, batch, some);
  for (const task of some) {
    if (closed.has(task)) continue;
    const open = await tx.get(
      'SELECT count(*) AS n FROM rollout WHERE batch = ? AND task = ? AND state <> 3',
      batch.id,
      task,
    );
    if (open !== undefined && int(open, 'n') > 0) continue;
    const rows = await tx.all(`${SELECT_ROLLOUT} WHERE batch = ? AND task = ? AND newest = 1`, batch.id, task);
    const newest = rows.map(readRollout);
    const last = newest.reduce((highest, { attempt }) => Math.max(highest, attempt), 0);
    const more = furtherAttempts(
      adaptive,
      most,
      newest.map((one) => countNameOf(one)),
    );
    const places = freePlaces(newest);
    for (let n = 1; n <= more; n++) next.push({ task, attempt: last + n, try: 1, place: places() });
  }
  return next;
}

/** Returns the places of new attempts, one after another: first those of attempts that were lost to infrastructure. */
function freePlaces(newest: readonly RolloutRecordRow[]): () => number {
  const placeOf = ({ attempt, progress }: RolloutRecordRow): number => progress.place ?? attempt;
  const counting = newest.filter((one) => countNameOf(one) !== 'infrastructure').map(placeOf);
  const lost = newest.map(placeOf).filter((place) => !counting.includes(place));
  const free = [...new Set(lost)].sort((a, b) => a - b);
  let last = newest.reduce((highest, one) => Math.max(highest, placeOf(one)), 0);
  return () => free.shift() ?? ++last;
}
