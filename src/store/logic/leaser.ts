import { StudioError } from '../../common/errors.ts';
import type { Sql } from '../sql/sql.ts';
import type { Lease } from '../store.ts';
import { type LeaseRequest, leaseAll } from './lease.ts';
import { noSession } from './sessions.ts';

/** Maximum number of rollouts per transaction, so that appends do not wait long. */
const MAX_PER_TRANSACTION = 1024;

interface PendingLease {
  readonly request: LeaseRequest;
  readonly resolve: (leases: Lease[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Groups concurrent leases into one transaction: a thousand simultaneous requests cost only a few statements.
 */
export class Leaser {
  readonly #sql: Sql;
  #waiting: PendingLease[] = [];
  #writing: Promise<void> | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  lease(request: LeaseRequest): Promise<Lease[]> {
    if (request.want <= 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#write();
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    let group: PendingLease[] | undefined;
    try {
      const results = await this.#sql.write((tx) => {
        group ??= this.#nextGroup(); // as late as possible, and the same when it runs again
        return leaseAll(
          tx,
          group.map(({ request }) => request),
        );
      }, 'urgent');
      group?.forEach(({ request, resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined) reject(new StudioError('internal', 'A lease got no result.'));
        else if (result === 'no session') reject(noSession(request.session));
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of group ?? this.#nextGroup()) reject(error);
    }
  }

  #nextGroup(): PendingLease[] {
    let [count, rollouts] = [0, 0];
    for (const { request } of this.#waiting) {
      if (count > 0 && rollouts + request.want > MAX_PER_TRANSACTION) break;
      rollouts += request.want;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
