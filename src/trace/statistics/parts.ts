/** The figures of the parts of a batch's mix. */
import type { RolloutRow } from '../summary.ts';
import type { Attempt } from './outcomes.ts';
import type { Report } from './schema.ts';

type PartShare = Report['by_part'][string];

/** Counts attempts by part. Those that have not started have none. */
export class PartTally {
  readonly #parts = new Map<string, PartShare>();

  add({ progress }: RolloutRow, { settlement, passed }: Attempt): void {
    const { part } = progress;
    if (part === undefined) return;
    const share = this.#parts.get(part) ?? { attempts: 0, scored: 0, passed: 0, tokens: 0 };
    this.#parts.set(part, share);
    share.attempts += 1;
    if (settlement === 'scored') {
      share.scored += 1;
      if (passed) share.passed += 1;
    }
    share.tokens += progress.input_tokens + progress.output_tokens;
  }

  /** Returns the parts by name. */
  result(): Report['by_part'] {
    return Object.fromEntries([...this.#parts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
  }
}
