import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { BatchRecord } from '../../store/store.ts';
import type { Services } from '../services.ts';
import { GroupCallbacks } from './callbacks.ts';
import { GroupDeadlines } from './deadlines.ts';

/** What a server does for batches with groups: it ends groups at their deadlines, and sends them to callbacks. */
export class BatchGroups {
  readonly #deadlines: GroupDeadlines;
  readonly #callbacks: GroupCallbacks;

  constructor(services: Pick<Services, 'store' | 'changes' | 'endpoints'> & { readonly log: Log }) {
    const { store, log } = services;
    this.#deadlines = new GroupDeadlines(store, (batch, error) =>
      log(`ending groups of ${batch} failed: ${errorText(error)}`, { level: 'error', batch }),
    );
    this.#callbacks = new GroupCallbacks(services);
  }

  /** Continues with groups that callbacks did not get from a previous server. */
  start(): Promise<void> {
    return this.#callbacks.start();
  }

  /** Handles a change of a batch. */
  async check(record: BatchRecord): Promise<void> {
    if (record.spec.group === undefined) return;
    this.#callbacks.check(record);
    await this.#deadlines.check(record.row.batch);
  }

  /** Handles the end of a batch. */
  remove(batch: string): void {
    this.#deadlines.remove(batch);
  }

  close(): void {
    this.#deadlines.close();
    this.#callbacks.close();
  }
}
