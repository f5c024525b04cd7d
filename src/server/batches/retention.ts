/** Removes ended batches by the rules of the server, every hour. */
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { RetentionFile } from '../../config/schema/retentionFile.ts';
import type { GcResult } from '../../protocol/api.ts';
import type { Store } from '../../store/store.ts';
import type { Secrets } from './secrets.ts';

const EVERY_MS = 60 * 60 * 1000;
/** Later than what a server does right after it started. */
const FIRST_MS = 2 * 60 * 1000;
/** A server in a store with others does it if it is elected. */
const ROLE = 'retention';

interface RetentionOptions {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly rules: RetentionFile;
  readonly firstMs?: number;
}

export class Retention {
  readonly #options: RetentionOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#schedule(options.firstMs ?? FIRST_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Removes what the rules remove now, or only returns it. */
  async apply(dryRun: boolean): Promise<GcResult> {
    const { store, secrets, rules } = this.#options;
    const plan = await store.retention(rules);
    const result = await store.gc({ batches: plan.batches.map(({ batch }) => batch), dryRun });
    const removed = new Set(result.batches);
    const why = plan.batches.filter(({ batch }) => removed.has(batch));
    const bytes = Math.max(
      result.bytes,
      why.reduce((sum, one) => sum + one.bytes, 0),
    );
    if (!dryRun)
      for (const one of why) {
        await secrets.remove(one.batch);
        await store.audit.add({ what: 'retention', batch: one.batch, result: 'done', detail: one.why });
      }
    return { ...result, bytes, why: why.map((one) => ({ ...one })) };
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#run()
        .catch((error: unknown) =>
          this.#options.log(`removing batches by rule failed: ${errorText(error)}`, { level: 'warning' }),
        )
        .finally(() => {
          if (this.#timer !== undefined) this.#schedule(EVERY_MS);
        });
    }, ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const { store, log } = this.#options;
    if (!(await store.elect(ROLE))) return;
    const { batches, bytes } = await this.apply(false);
    if (batches.length > 0) log(`removed by rule: ${batches.join(', ')} (${bytes} bytes)`);
  }
}
