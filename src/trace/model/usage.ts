/** Tokens used up to a seq, as running sums over the ends of model calls. */
import type { EventOf } from '../schema.ts';
import { countUpTo } from './search.ts';

export interface UsageTotals {
  /** Number of model calls with recorded usage. */
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens: number;
}

const ZERO: UsageTotals = { calls: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0 };

export class UsageLog {
  readonly #seqs: number[] = [];
  readonly #sums: UsageTotals[] = [];

  add(event: EventOf<'model.end'>): void {
    const usage = event.data.usage;
    if (usage === undefined) return;
    const before = this.#sums[this.#sums.length - 1] ?? ZERO;
    this.#seqs.push(event.seq);
    this.#sums.push({
      calls: before.calls + 1,
      input_tokens: before.input_tokens + usage.input_tokens,
      output_tokens: before.output_tokens + usage.output_tokens,
      cached_tokens: before.cached_tokens + (usage.cached_tokens ?? 0),
    });
  }

  at(seq: number): UsageTotals {
    return this.#sums[countUpTo(this.#seqs, seq) - 1] ?? ZERO;
  }
}
