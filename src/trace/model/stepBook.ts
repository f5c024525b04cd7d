/** Assigns events to steps. */
import { StudioError } from '../../common/errors.ts';
import type { EventOf, TraceEvent, UnknownEvent } from '../schema.ts';
import type { Span } from './spans.ts';
import type { Step } from './step.ts';

/** A step that can still grow. */
export type StepDraft = { -readonly [K in keyof Step]: Step[K] extends readonly (infer I)[] ? I[] : Step[K] };

export class StepBook {
  readonly #steps: StepDraft[] = [{ index: 0, seq: 1, agent: '', tools: [], sides: [], seqs: [] }];
  /** Step indexes by seq − 1. */
  readonly #stepOf: number[] = [];
  /** The newest step of each agent. */
  readonly #agentStep = new Map<string, number>();

  /** Step 0 first. */
  get all(): readonly Step[] {
    return this.#steps;
  }

  of(seq: number): Step | undefined {
    const index = this.#stepOf[seq - 1];
    return index === undefined ? undefined : this.#steps[index];
  }

  /** Adds the next event to its step. `spans`: the spans before it. */
  add(event: TraceEvent | UnknownEvent, spans: ReadonlyMap<number, Span>): StepDraft {
    const step =
      event.kind === 'model.start' && !('unknown' in event) && event.data.side === undefined
        ? this.#begin(event)
        : this.#stepFor(event, spans);
    this.#stepOf.push(step.index);
    step.seqs.push(event.seq);
    return step;
  }

  /** Assigns events of a team member before its first model call to the step that called the member. */
  join(agent: string, step: number): void {
    if (!this.#agentStep.has(agent)) this.#agentStep.set(agent, step);
  }

  /** Leaves out the events up to `seq` and the steps up to `step`. */
  skip(seq: number, step: number): void {
    this.#stepOf.length = seq;
    for (let index = this.#steps.length; index <= step; index++)
      this.#steps.push({ index, seq: 0, agent: '', tools: [], sides: [], seqs: [] });
  }

  #begin(event: EventOf<'model.start'>): StepDraft {
    // A call that was repeated after a takeover has a new span, but belongs to the same step.
    const existing = this.#steps[event.data.step];
    if (existing?.model !== undefined && existing.agent === (event.agent ?? '')) return existing;
    const step: StepDraft = {
      index: this.#steps.length,
      seq: event.seq,
      agent: event.agent ?? '',
      tools: [],
      sides: [],
      seqs: [],
    };
    this.#steps.push(step);
    this.#agentStep.set(step.agent, step.index);
    return step;
  }

  /** Returns the step of the event's span, else the newest step of its agent, else the newest of all. */
  #stepFor(event: TraceEvent | UnknownEvent, spans: ReadonlyMap<number, Span>): StepDraft {
    if (event.kind === 'model.start' && !('unknown' in event)) {
      const containing = this.#steps[event.data.step];
      if (containing !== undefined) return containing;
    }
    const span = event.span === undefined ? undefined : spans.get(event.span);
    const parent = event.parent === undefined ? undefined : spans.get(event.parent);
    const own = event.agent === undefined ? undefined : this.#agentStep.get(event.agent);
    const newest = this.#steps.length - 1;
    const index = span?.step ?? (parent?.kind === 'model' ? parent.step : (own ?? parent?.step ?? newest));
    const step = this.#steps[index] ?? this.#steps[newest];
    if (step === undefined) throw new StudioError('internal', 'A trajectory has no step 0.');
    return step;
  }
}
