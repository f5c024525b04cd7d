/** Requests for groups that exist: a trainer that lost an answer, or that was restarted, sends them again. */
import { plural } from '../../../common/text.ts';
import type { Transaction } from '../../sql/sql.ts';
import type { Batch } from '../batchState.ts';
import { addBatchEvent } from '../events.ts';

/** Of one group, in one transaction. `before`: how often that happened earlier. */
interface Repeat {
  readonly before: number;
  times: number;
}

export class Repeats {
  readonly #groups = new Map<string, Repeat>();

  /** Adds a request for a group that had `before` such requests before this transaction. */
  add(group: string, before: number): void {
    const own = this.#groups.get(group);
    if (own === undefined) this.#groups.set(group, { before, times: 1 });
    else own.times += 1;
  }

  /**
   * Counts the requests in a locked batch. Its stream has an event when their number reaches 1, 2, 4, 8, and so on: a
   * trainer that repeats without end writes few of them.
   */
  async save(tx: Transaction, batch: Batch): Promise<void> {
    let newest: string | undefined;
    const before = batch.repeated_requests;
    for (const [group, repeat] of this.#groups) {
      newest = group;
      if (repeat.before === 0) batch.repeated_groups += 1;
      batch.repeated_requests += repeat.times;
      await tx.run(
        'UPDATE trainer_group SET repeats = repeats + ? WHERE batch = ? AND name = ?',
        repeat.times,
        batch.id,
        group,
      );
    }
    const now = batch.repeated_requests;
    if (newest === undefined || Math.clz32(before) === Math.clz32(now)) return;
    await addBatchEvent(tx, batch, 'infra', {
      what: 'group_repeated',
      group: newest,
      count: now,
      text:
        `${plural(now, 'request')} for ${plural(batch.repeated_groups, 'group')} that ` +
        `${batch.repeated_groups === 1 ? 'exists' : 'exist'}, the last one for ${newest}. ` +
        'Each was answered with the group that exists.',
    });
  }
}
