import type { SubmittedModel } from '../../config/submission.ts';
import type { SideUsage, Totals, TraceEvent, Usage } from '../../trace/schema.ts';
import { isLost } from '../act/recorded.ts';

type Price = SubmittedModel['price'];

/**
 * Computes the totals of a rollout's own events: for a fork, without its prefix. Retried steps count once. Calls of
 * side models are counted separately.
 */
export class TotalsCounter {
  readonly #priceOf: (agent: string | undefined, side: string | undefined) => Price;
  readonly #steps = new Set<number>();
  readonly #agents = new UsageCounter();
  readonly #side = new UsageCounter();
  /** Side models' calls in progress: their side, by seq of their start. */
  readonly #open = new Map<number, string>();
  #sideCalls = 0;
  #calls = 0;
  #heldMs = 0;

  /** `priceOf` returns the price of a model, by its agent and its side; without a price, there is no cost. */
  constructor(priceOf: (agent: string | undefined, side: string | undefined) => Price) {
    this.#priceOf = priceOf;
  }

  /** Adds an event of the rollout itself, not of an ancestor. */
  add(event: TraceEvent): void {
    switch (event.kind) {
      case 'model.start':
        if (event.data.side === undefined) this.#steps.add(event.data.step);
        else this.#open.set(event.seq, event.data.side);
        return;
      case 'model.end': {
        const side = event.span === undefined ? undefined : this.#open.get(event.span);
        if (event.span !== undefined) this.#open.delete(event.span);
        if (side !== undefined && !isLost(event.data)) this.#sideCalls++;
        const counter = side === undefined ? this.#agents : this.#side;
        if (event.data.usage !== undefined) counter.add(event.data.usage, this.#priceOf(event.agent, side));
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
    const { cost, ...tokens } = this.#agents.sums;
    return {
      steps: this.#steps.size,
      tool_calls: this.#calls,
      ...tokens,
      ms: Math.round(wallMs),
      held_ms: Math.round(this.#heldMs),
      ...(cost === undefined ? {} : { cost }),
      ...(this.#sideCalls === 0 ? {} : { side: { calls: this.#sideCalls, ...this.#side.sums } }),
    };
  }
}

class UsageCounter {
  #input = 0;
  #output = 0;
  #cached = 0;
  #cost: number | undefined;

  add(usage: Usage, price: Price): void {
    const cached = usage.cached_tokens ?? 0;
    this.#input += usage.input_tokens;
    this.#output += usage.output_tokens;
    this.#cached += cached;
    if (price === undefined) return;
    const cost =
      (usage.input_tokens - cached) * price.input +
      cached * (price.cached ?? price.input) +
      usage.output_tokens * price.output;
    this.#cost = (this.#cost ?? 0) + cost / 1e6;
  }

  get sums(): Omit<SideUsage, 'calls'> {
    return {
      input_tokens: this.#input,
      output_tokens: this.#output,
      cached_tokens: this.#cached,
      ...(this.#cost === undefined ? {} : { cost: this.#cost }),
    };
  }
}
