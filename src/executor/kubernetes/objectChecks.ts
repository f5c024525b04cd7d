/** Looks for objects of batches that others deleted: all the time, and at once when a pod waits for one. */
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { BatchPods } from './batchPods.ts';

/** They are created again right after. */
const EVERY_MS = 10_000;
/** Errors after which the existence of objects is unknown. */
const UNCHECKED: ReadonlySet<string> = new Set(['unavailable', 'forbidden', 'unauthorized']);

interface ObjectChecksOptions {
  readonly batches: ReadonlyMap<string, Pick<BatchPods, 'checkObjects'>>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export class ObjectChecks {
  readonly #options: ObjectChecksOptions;
  /** Batches whose objects are being looked for. */
  readonly #checking = new Set<string>();

  constructor(options: ObjectChecksOptions) {
    this.#options = options;
  }

  /** Looks until the server shuts down. */
  async run(): Promise<void> {
    const { batches, signal } = this.#options;
    const isClosed = (): boolean => signal.aborted; // checked again after each wait
    while (!isClosed()) {
      await sleep(EVERY_MS, signal).catch(() => undefined);
      for (const id of [...batches.keys()]) if (!isClosed()) await this.check(id);
    }
  }

  /** Looks for the objects of one batch. */
  async check(id: string): Promise<void> {
    if (this.#checking.has(id)) return;
    this.#checking.add(id);
    try {
      await this.#options.batches.get(id)?.checkObjects();
    } catch (error) {
      // The watches report an unreachable cluster, and the installation's own check missing rights.
      if (!this.#options.signal.aborted && !(StudioError.is(error) && UNCHECKED.has(error.code)))
        this.#options.log(`looking for deleted objects failed: ${errorText(error)}`, { level: 'error', batch: id });
    } finally {
      this.#checking.delete(id);
    }
  }
}
