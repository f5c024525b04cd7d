import type { SubmittedModel } from '../../config/submission.ts';
import type { Totals, TraceEvent } from '../../trace/schema.ts';
import { isLost } from '../act/recorded.ts';

/** Computes the totals of a rollout's own events: for a fork, without its prefix. Retried steps count once. */
export class TotalsCounter {
  readonly #priceOf: (agent: string | undefined) => SubmittedModel['price'];
  readonly #steps = new Set<number>();
  #calls = 0;
  #input = 0;
  #output = 0;
  #cached = 0;
  #heldMs = 0;
  #cost: number | undefined;

  /** `priceOf` returns the price of an agent's model; without a price, there is no cost. */
  constructor(priceOf: (agent: string | undefined) => SubmittedModel['price']) {
    this.#priceOf = priceOf;
  }

  /** Adds an event of the rollout itself, not of an ancestor. */
  add(event: TraceEvent): void {
    switch (event.kind) {
      case 'model.start':
        this.#steps.add(event.data.step);
        return;
      case 'model.end': {
        const { usage } = event.data;
        if (usage === undefined) return;
        const cached = usage.cached_tokens ?? 0;
        this.#input += usage.input_tokens;
        this.#output += usage.output_tokens;
        this.#cached += cached;
        const price = this.#priceOf(event.agent);
        if (price === undefined) return;
        const cost =
          (usage.input_tokens - cached) * price.input +
          cached * (price.cached ?? price.input) +
          usage.output_tokens * price.output;
        this.#cost = (this.#cost ?? 0) + cost / 1e6;
        return;
      }
      case 'tool.end':
        if (!isLost(event.data)) this.#calls++;
        return;
      case 'release':
        this.#heldMs += event.data.held_ms;
        return;
      default:
    }
  }

  totals(wallMs: number): Totals {
    return {
      steps: this.#steps.size,
      tool_calls: this.#calls,
      input_tokens: this.#input,
      output_tokens: this.#output,
      cached_tokens: this.#cached,
      ms: Math.round(wallMs),
      held_ms: Math.round(this.#heldMs),
      ...(this.#cost === undefined ? {} : { cost: this.#cost }),
    };
  }
}
