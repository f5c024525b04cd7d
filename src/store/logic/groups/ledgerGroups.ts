import type { Transaction } from '../../sql/sql.ts';
import type { Batch } from '../batchState.ts';
import type { RolloutRecordRow } from '../rolloutState.ts';
import { cutMembers, endGroup, endOfGroup, type GroupEnd } from './ending.ts';
import { type Group, readGroup, SELECT_GROUP, saveGroups } from './groupState.ts';

/** The groups of the rollouts that a transaction changes. */
export class LedgerGroups {
  readonly #tx: Transaction;
  readonly #groups = new Map<Batch, Map<number, Group>>();
  /** Open groups that are canceled, and why. */
  readonly #cancelled = new Map<Group, string>();
  /** Ended groups with members that began, or wait again. */
  readonly #unneeded = new Map<Batch, Set<Group>>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Reads the groups of rollouts. */
  async load(rollouts: Iterable<RolloutRecordRow>, batchOf: (id: number) => Batch): Promise<void> {
    const tasks = new Map<Batch, Set<number>>();
    for (const { batch: id, task } of rollouts) {
      const batch = batchOf(id);
      if (batch.spec.group === undefined || this.find(batch, task) !== undefined) continue;
      tasks.set(batch, (tasks.get(batch) ?? new Set()).add(task));
    }
    for (const [batch, some] of tasks) {
      const rows = await this.#tx.all(
        `${SELECT_GROUP} WHERE g.batch = ? AND ${this.#tx.dialect.anyInt('g.task')}`,
        batch.id,
        [...some],
      );
      for (const row of rows) this.add(batch, readGroup(row));
    }
  }

  add(batch: Batch, group: Group): void {
    const groups = this.#groups.get(batch) ?? new Map<number, Group>();
    this.#groups.set(batch, groups.set(group.task, group));
  }

  find(batch: Batch, task: number): Group | undefined {
    return this.#groups.get(batch)?.get(task);
  }

  /** Cancels a group that is open. */
  cancel(group: Group, why: string): void {
    this.#cancelled.set(group, why);
  }

  /** Handles a change of a rollout's state: an ended group needs no members that are not ended. */
  moved(batch: Batch, rollout: RolloutRecordRow): void {
    const group = this.find(batch, rollout.task);
    if (group === undefined || group.state === 'open' || rollout.state === 'ended') return;
    this.#unneeded.set(batch, (this.#unneeded.get(batch) ?? new Set()).add(group));
  }

  /** Ends the groups that are to end. Returns the queued members that were ended with them, by batch. */
  async conclude(): Promise<Map<Batch, Map<RolloutRecordRow, RolloutRecordRow>>> {
    const cut = new Map<Batch, Map<RolloutRecordRow, RolloutRecordRow>>();
    for (const [batch, groups] of this.#groups) {
      const ended = this.#unneeded.get(batch) ?? new Set();
      for (const group of groups.values()) {
        const end = this.#endOf(batch, group);
        if (end === undefined) continue;
        await endGroup(this.#tx, batch, group, end);
        if (group.open > 0) ended.add(group);
      }
      if (ended.size > 0) cut.set(batch, await cutMembers(this.#tx, batch, [...ended]));
    }
    return cut;
  }

  #endOf(batch: Batch, group: Group): GroupEnd | undefined {
    if (group.state !== 'open') return undefined;
    const why = this.#cancelled.get(group);
    return why === undefined ? endOfGroup(group, batch, this.#tx.now) : { state: 'cancelled', why, withStale: false };
  }

  async save(): Promise<void> {
    await saveGroups(
      this.#tx,
      [...this.#groups.values()].flatMap((groups) => [...groups.values()]),
    );
  }
}
