/** Removes ended batches, or their trajectories, by the rules of the server, every hour. */
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

  /** Removes and trims what the rules say now, or only returns it. */
  async apply(dryRun: boolean): Promise<GcResult> {
    const { store, secrets, rules } = this.#options;
    const plan = await store.retention(rules);
    const trims = new Map(plan.batches.flatMap(({ batch, why, trim }) => (trim ? [[batch, { rule: why }]] : [])));
    const result = await store.gc({
      batches: plan.batches.map(({ batch }) => batch),
      trim: (batch) => trims.get(batch),
      dryRun,
    });
    const done = new Set([...result.batches, ...result.trimmed]);
    const why = plan.batches.filter(({ batch }) => done.has(batch));
    const bytes = Math.max(
      result.bytes,
      why.reduce((sum, one) => sum + one.bytes, 0),
    );
    if (!dryRun)
      for (const one of why) {
        if (one.trim) continue; // the store has recorded it
        await secrets.remove(one.batch);
        await store.audit.add({ what: 'retention', batch: one.batch, result: 'done', detail: one.why });
      }
    return { ...result, bytes, why: why.map(({ trim, ...one }) => (trim ? { ...one, trim } : one)) };
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
    const { batches, trimmed, bytes } = await this.apply(false);
    const done = [
      ...(batches.length === 0 ? [] : [`removed ${batches.join(', ')}`]),
      ...(trimmed.length === 0 ? [] : [`trimmed ${trimmed.join(', ')}`]),
    ];
    if (done.length > 0) log(`by rule: ${done.join('; ')} (${bytes} bytes)`);
  }
}
