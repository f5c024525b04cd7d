import { newId } from '../../common/ids.ts';
import { type CountName, countNameOf } from '../../trace/outcome.ts';
import { int } from '../sql/row.ts';
import type { Transaction } from '../sql/sql.ts';
import { nextAttempts } from './adaptive.ts';
import { type Batch, isOpen, lockBatches, saveBatches } from './batchState.ts';
import { addBatchEvent } from './events.ts';
import type { Group } from './groups/groupState.ts';
import { LedgerGroups } from './groups/ledgerGroups.ts';
import {
  insertRollouts,
  type NewRollout,
  type RolloutRecordRow,
  readRollout,
  SELECT_ROLLOUT,
  saveRollouts,
} from './rolloutState.ts';
import { TaskCounts } from './taskCounts.ts';

/**
 * Tracks the changes of rollouts in one transaction and applies their consequences: settles attempts or queues their
 * next try, marks duplicates, updates the counters of batches and tasks, and ends batches. Call `change` before each
 * change, and `save` at the end.
 */
export class Ledger {
  readonly #tx: Transaction;
  readonly #batches: Map<number, Batch>;
  /** Changed rows, with their previous state. */
  readonly #before = new Map<RolloutRecordRow, RolloutRecordRow>();
  readonly #tries = new Map<Batch, NewRollout[]>();
  /** By batch and task index. */
  readonly #tasks = new Map<Batch, Map<number, { open: number; passed: number }>>();
  readonly #counts: TaskCounts;
  /** The groups of trainers that they belong to. */
  readonly groups: LedgerGroups;

  constructor(tx: Transaction, batches: Map<number, Batch>) {
    this.#tx = tx;
    this.#batches = batches;
    this.#counts = new TaskCounts(tx);
    this.groups = new LedgerGroups(tx);
  }

  /** Locks the batches of locked rollouts. */
  static async of(tx: Transaction, rollouts: Iterable<RolloutRecordRow>): Promise<Ledger> {
    return new Ledger(tx, await lockBatches(tx, [...new Set(Array.from(rollouts, (rollout) => rollout.batch))]));
  }

  batch(id: number): Batch {
    const batch = this.#batches.get(id);
    if (batch === undefined) throw new Error(`batch ${id} is not locked`);
    return batch;
  }

  /** Returns undefined if the batch was removed in the meantime. */
  findBatch(id: number): Batch | undefined {
    return this.#batches.get(id);
  }

  change(rollout: RolloutRecordRow): RolloutRecordRow {
    if (!this.#before.has(rollout)) this.#before.set(rollout, { ...rollout });
    return rollout;
  }

  /** Queues another try after `rollout`, the newest try of its attempt. */
  queueRetry(rollout: RolloutRecordRow): void {
    this.change(rollout).newest = false;
    const { task, attempt, origin } = rollout;
    const name = newId('r', this.#tx.now);
    const { place } = rollout.progress;
    this.#queue(this.batch(rollout.batch), { name, task, attempt, try: rollout.try + 1, origin, place });
  }

  /** Whether a rollout that ended with a result settles its attempt. */
  willSettle(rollout: RolloutRecordRow): boolean {
    return !isRepeated(this.batch(rollout.batch), rollout);
  }

  /** Saves everything. */
  async save(): Promise<void> {
    await this.groups.load(this.#before.keys(), (id) => this.batch(id));
    await this.#apply(this.#before);
    await this.#insertTries();
    await this.#extend(await this.#counts.save((batch, task) => this.groups.find(batch, task)));
    for (const cut of (await this.groups.conclude()).values()) await this.#apply(cut);
    await this.groups.save();
    for (const [batch, tasks] of this.#tasks) {
      for (const [task, { open, passed }] of tasks) {
        if (open !== 0 || passed !== 0) {
          await this.#tx.run(
            'UPDATE task SET open = open + ?, passed = passed + ? WHERE batch = ? AND idx = ?',
            open,
            passed,
            batch.id,
            task,
          );
        }
      }
    }
    for (const batch of this.#batches.values()) await endIfDone(this.#tx, batch);
    await saveBatches(this.#tx, this.#batches.values());
  }

  async #insertTries(): Promise<void> {
    for (const [batch, tries] of this.#tries) await insertRollouts(this.#tx, batch, tries, 'queued');
    this.#tries.clear();
  }

  /** Queues the attempts that tasks need after the ends of others. `back`: tasks that may have attempts again. */
  async #extend(back: ReadonlyMap<Batch, readonly number[]>): Promise<void> {
    const tasks = new Map<Batch, Set<number>>(Array.from(back, ([batch, some]) => [batch, new Set(some)]));
    for (const [rollout, before] of this.#before) {
      const batch = this.batch(rollout.batch);
      if (batch.spec.adaptive === undefined || rollout.state !== 'ended' || before.state === 'ended') continue;
      tasks.set(batch, (tasks.get(batch) ?? new Set()).add(rollout.task));
    }
    for (const [batch, some] of tasks) {
      for (const attempt of await nextAttempts(this.#tx, batch, some)) {
        this.#queue(batch, { name: newId('r', this.#tx.now), ...attempt });
        batch.counts.queued += 1;
        this.#count(batch, attempt.task, 1, 0);
      }
    }
    await this.#insertTries();
  }

  /** Applies the consequences of changes, and saves the rollouts. `changes`: each with its previous state. */
  async #apply(changes: ReadonlyMap<RolloutRecordRow, RolloutRecordRow>): Promise<void> {
    for (const [rollout, before] of changes) {
      const batch = this.batch(rollout.batch);
      if (rollout.state === 'ended' && before.state !== 'ended') await this.#settle(batch, rollout);
      if (rollout.state !== before.state) this.groups.moved(batch, rollout);
      // Counters follow the newest try only. A try that is no longer the newest has a queued one after it.
      if (before.newest)
        this.#move(batch, rollout.task, countNameOf(before), rollout.newest ? countNameOf(rollout) : 'queued');
      batch.steps += rollout.progress.steps - before.progress.steps;
      batch.input_tokens += rollout.progress.input_tokens - before.progress.input_tokens;
      batch.output_tokens += rollout.progress.output_tokens - before.progress.output_tokens;
      const [side, sideBefore] = [rollout.progress.side, before.progress.side];
      batch.side_input_tokens += (side?.input_tokens ?? 0) - (sideBefore?.input_tokens ?? 0);
      batch.side_output_tokens += (side?.output_tokens ?? 0) - (sideBefore?.output_tokens ?? 0);
      const tokens = tokensOf(rollout) - tokensOf(before);
      this.#counts.used(batch, rollout.task, { tokens, cost: costOf(rollout) - costOf(before) });
    }
    if (changes.size > 0) await saveRollouts(this.#tx, changes, (id) => this.batch(id));
  }

  /**
   * Settles an attempt, for good, with its first rollout that ends without infrastructure failure, cancellation, or
   * edits.
   */
  async #settle(batch: Batch, rollout: RolloutRecordRow): Promise<void> {
    if (rollout.outcome === 'cancelled') return;
    const group = this.groups.find(batch, rollout.task);
    const isOver = batch.stopping !== null || (group !== undefined && group.state !== 'open');
    if (rollout.outcome === 'infrastructure') {
      if (batch.spec.imported || isOver) return;
      const row = await this.#tx.get(
        'SELECT count(*) AS n FROM rollout WHERE batch = ? AND task = ? AND attempt = ? AND outcome = 3',
        batch.id,
        rollout.task,
        rollout.attempt,
      );
      // Counts earlier tries; this one is not saved yet.
      if (row !== undefined && int(row, 'n') < batch.spec.retries) this.queueRetry(rollout);
      else if (group !== undefined) this.replace(batch, group, rollout);
      return;
    }
    if (isRepeated(batch, rollout)) {
      if (!isOver) this.queueRetry(rollout);
      return;
    }
    rollout.settles = true;
    const counted = countNameOf(rollout);
    if (counted === 'passed' || counted === 'failed') this.#counts.settled(batch, rollout.task, counted);
    if (group?.state === 'open' && Number.isFinite(rollout.progress.reward)) group.scored += 1;
    if (rollout.outcome === 'truncated') batch.truncated += 1;
    await this.#markDuplicates(rollout);
  }

  /**
   * Queues a new member of an open group in place of one whose tries were all lost to infrastructure, or whose weights
   * are too old. Once per member at most.
   */
  replace(batch: Batch, group: Group, lost: RolloutRecordRow): void {
    if (group.replaced >= group.size + group.extra) return;
    group.replaced += 1;
    group.members += 1;
    const { task, members: attempt } = group;
    const place = lost.progress.place ?? lost.attempt;
    this.#queue(batch, { name: newId('r', this.#tx.now), task, attempt, try: 1, place });
    batch.counts.queued += 1;
    this.#count(batch, task, 1, 0);
  }

  #queue(batch: Batch, rollout: NewRollout): void {
    const { priority } = this.groups.find(batch, rollout.task)?.request ?? {};
    const tries = this.#tries.get(batch) ?? [];
    tries.push(priority === undefined ? rollout : { ...rollout, priority });
    this.#tries.set(batch, tries);
  }

  /** Marks duplicates: of equal trajectories of a task, the one with the lowest attempt is the original. */
  async #markDuplicates(rollout: RolloutRecordRow): Promise<void> {
    const { fingerprint } = rollout.progress;
    if (fingerprint === undefined) return;
    const siblings = [...this.#before.keys()].filter(
      (other) => other.batch === rollout.batch && other.task === rollout.task,
    );
    const siblingIds = new Set(siblings.map((other) => other.id));
    const rows = await this.#tx.all(
      `${SELECT_ROLLOUT} WHERE batch = ? AND task = ? AND fingerprint = ? AND settles = 1`,
      rollout.batch,
      rollout.task,
      fingerprint,
    );
    const equal = rows.map(readRollout).filter((other) => !siblingIds.has(other.id));
    equal.push(...siblings.filter((other) => other.settles && other.progress.fingerprint === fingerprint));
    const original = equal.reduce((lowest, other) => (other.attempt < lowest.attempt ? other : lowest), rollout);
    for (const other of equal) {
      const of = other === original ? null : original.name;
      if (other.duplicateOf !== of) this.change(other).duplicateOf = of;
    }
  }

  #move(batch: Batch, task: number, from: CountName, to: CountName): void {
    if (from === to) return;
    batch.counts[from] -= 1;
    batch.counts[to] += 1;
    this.#count(batch, task, (isOpen(to) ? 1 : 0) - (isOpen(from) ? 1 : 0), to === 'passed' ? 1 : 0);
  }

  #count(batch: Batch, task: number, open: number, passed: number): void {
    if (open === 0 && passed === 0) return;
    const group = this.groups.find(batch, task);
    if (group !== undefined) group.open += open;
    const tasks = this.#tasks.get(batch) ?? new Map<number, { open: number; passed: number }>();
    this.#tasks.set(batch, tasks);
    const counts = tasks.get(task) ?? { open: 0, passed: 0 };
    counts.open += open;
    counts.passed += passed;
    tasks.set(task, counts);
  }
}

/** Returns the tokens of a rollout, with those of side models. */
function tokensOf({ progress: { input_tokens: input, output_tokens: output, side } }: RolloutRecordRow): number {
  return input + output + (side?.input_tokens ?? 0) + (side?.output_tokens ?? 0);
}

/** Returns the cost of a rollout in millionths, with that of side models. */
function costOf({ progress: { cost = 0, side } }: RolloutRecordRow): number {
  return Math.round((cost + (side?.cost ?? 0)) * 1e6);
}

/** Whether the attempt of a rollout that ended with a result is tried again, because a person changed this try. */
function isRepeated({ spec }: Batch, { progress }: RolloutRecordRow): boolean {
  return progress.touched && !spec.debug && !spec.imported;
}

/** A batch ends when no task may be added any more and no attempt is open. */
export async function endIfDone(tx: Transaction, batch: Batch): Promise<void> {
  if (batch.endedAt !== null || !batch.sealed) return;
  const { running, held, queued } = batch.counts;
  // Missing attempts of an import will never run.
  if (running + held > 0 || (queued > 0 && !batch.spec.imported)) return;
  const reason = batch.stopping ?? 'done';
  batch.endedAt = tx.now;
  batch.reason = reason;
  await addBatchEvent(tx, batch, 'batch.end', { reason });
}
