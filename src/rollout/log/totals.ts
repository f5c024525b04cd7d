import type { SubmittedModel } from '../../config/submission.ts';
import type { EventData, SideUsage, Totals, TraceEvent, Usage } from '../../trace/schema.ts';
import { isLost } from '../act/recorded.ts';

type Price = SubmittedModel['price'];
/** Returns the price of a model, by its agent, its side, and its name; without a price, there is no cost. */
type PriceOf = (agent: string | undefined, side: string | undefined, model: string | undefined) => Price;

/**
 * Computes the totals of a rollout's own events: for a fork, without its prefix. Retried steps count once. Calls of
 * side models are counted separately.
 */
export class TotalsCounter {
  readonly #priceOf: PriceOf;
  readonly #steps = new Set<number>();
  readonly #agents = new UsageCounter();
  readonly #side = new UsageCounter();
  /** Side models' calls in progress, by seq of their start. */
  readonly #open = new Map<number, EventData['model.start']>();
  #sideCalls = 0;
  #calls = 0;
  #heldMs = 0;

  constructor(priceOf: PriceOf) {
    this.#priceOf = priceOf;
  }

  /** Adds an event of the rollout itself, not of an ancestor. */
  add(event: TraceEvent): void {
    switch (event.kind) {
      case 'model.start':
        if (event.data.side === undefined) this.#steps.add(event.data.step);
        else this.#open.set(event.seq, event.data);
        return;
      case 'model.end': {
        const start = event.span === undefined ? undefined : this.#open.get(event.span);
        if (event.span !== undefined) this.#open.delete(event.span);
        // What was answered from the record was counted when it was asked.
        if (start !== undefined && !isLost(event.data) && event.data.source !== 'recorded') this.#sideCalls++;
        const counter = start === undefined ? this.#agents : this.#side;
        if (event.data.usage !== undefined)
          counter.add(event.data.usage, this.#priceOf(event.agent, start?.side, start?.model));
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
