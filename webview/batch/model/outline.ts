/** Summarizes an attempt from its first and last events: its steps, one line each, its times, and its score. */

import type { AnyEvent } from '../../../src/trace/model.ts';
import type { EventData, TraceError } from '../../../src/trace/schema.ts';
import { troubleIn } from '../../../src/trace/trouble.ts';

export interface OutlineStep {
  readonly kind: 'step';
  readonly step: number;
  /** State of the step's model call. */
  readonly seq: number;
  /** Called tools, in order of first use. */
  readonly calls: readonly { readonly name: string; readonly times: number }[];
  /** Steps of sub-agents during this step. */
  readonly within: number;
  /** Error of the first failed call, or else an infrastructure interruption. */
  readonly error: TraceError | undefined;
  readonly state: 'done' | 'open' | 'held';
  /** Duration of its calls, as far as recorded. */
  readonly ms: number | undefined;
}

/** A gap of events that were not loaded. */
export interface OutlineGap {
  readonly kind: 'gap';
}

/** A call in the time bar; `gap`: events that were not loaded. */
export interface OutlineCall {
  readonly kind: 'model' | 'tool' | 'gap';
  readonly ms: number;
  readonly failed: boolean;
}

interface Entry {
  readonly step: number;
  readonly seq: number;
  readonly depth: number;
  readonly calls: Map<string, number>;
  readonly open: Set<number>;
  within: number;
  error: TraceError | undefined;
  held: boolean;
  ms: number | undefined;
}

export class Outline {
  /** seq of the newest event. */
  last = 0;
  /** Data of the newest score, and of the end. */
  score: EventData['score'] | undefined;
  end: EventData['rollout.end'] | undefined;
  /** Calls that have ended and took time. */
  readonly calls: OutlineCall[] = [];
  readonly #entries: (Entry | 'gap')[] = [];
  readonly #bySpan = new Map<number, Entry>();

  get ended(): boolean {
    return this.end !== undefined;
  }

  get steps(): readonly (OutlineStep | OutlineGap)[] {
    return this.#entries.map((entry) => {
      if (entry === 'gap') return { kind: 'gap' };
      const { step, seq, within, error, ms } = entry;
      const state = this.ended || entry.open.size === 0 ? 'done' : entry.held ? 'held' : 'open';
      return {
        kind: 'step',
        step,
        seq,
        within,
        error,
        ms,
        state,
        calls: [...entry.calls].map(([name, times]) => ({ name, times })),
      };
    });
  }

  /** The steps in order of seq, with gaps where some were not loaded. */
  push(events: readonly AnyEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.last) continue;
      if (event.seq > this.last + 1 && this.#entries.length > 0) {
        this.#entries.push('gap');
        this.calls.push({ kind: 'gap', ms: 0, failed: false });
      }
      this.last = event.seq;
      if (!('unknown' in event)) this.#process(event);
    }
  }

  #process(event: Exclude<AnyEvent, { readonly unknown: true }>): void {
    const depth = event.agent === undefined ? 0 : event.agent.split('/').length - 1;
    const newest = this.#entries.at(-1);
    const current = newest === 'gap' ? undefined : newest;
    switch (event.kind) {
      case 'model.start': {
        if (event.data.side !== undefined) return; // not a step
        if (current !== undefined && depth > current.depth) {
          // A sub-agent's step.
          current.within += 1;
          return;
        }
        if (current?.step === event.data.step) this.#entries.pop(); // Repeated after another worker took over.
        const entry: Entry = {
          step: event.data.step,
          seq: event.seq,
          depth,
          calls: new Map(),
          open: new Set([event.seq]),
          within: 0,
          error: undefined,
          held: false,
          ms: undefined,
        };
        this.#entries.push(entry);
        this.#bySpan.set(event.seq, entry);
        return;
      }
      case 'tool.start':
        if (current === undefined || depth > current.depth) return;
        current.calls.set(event.data.name, (current.calls.get(event.data.name) ?? 0) + 1);
        current.open.add(event.seq);
        this.#bySpan.set(event.seq, current);
        return;
      case 'model.end':
      case 'tool.end': {
        const entry = event.span === undefined ? undefined : this.#bySpan.get(event.span);
        if (entry === undefined || event.span === undefined) return;
        entry.open.delete(event.span);
        if (entry.error === undefined || troubleIn(entry.error) === 'interrupted')
          entry.error = event.data.error ?? entry.error;
        const { ms, error } = event.data;
        if (ms === undefined) return;
        entry.ms = (entry.ms ?? 0) + ms;
        const kind = event.kind === 'model.end' ? 'model' : 'tool';
        if (ms > 0) this.calls.push({ kind, ms, failed: error !== undefined && troubleIn(error) === 'error' });
        return;
      }
      case 'hold':
      case 'release':
        if (current !== undefined) current.held = event.kind === 'hold';
        return;
      case 'rollout.end':
        this.end = event.data;
        return;
      case 'score':
        this.score = event.data;
        return;
      default:
    }
  }
}
