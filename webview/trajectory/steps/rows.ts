/**
 * The rows of the step list, created once per event, so that the cost per event does not grow with the trajectory.
 */

import { checksOf } from '../../../src/trace/checkRows.ts';
import { askingCall, takePrompt } from '../../../src/trace/model/sideCalls.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventOf } from '../../../src/trace/schema.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { checkOrder, redMarks } from '../redMarks.ts';

type RowKind =
  | 'message'
  | 'step'
  | 'side'
  | 'call'
  | 'agent'
  | 'world'
  | 'edit'
  | 'hold'
  | 'log'
  | 'score'
  | 'check'
  | 'lease'
  | 'end'
  | 'other';

export interface Row {
  readonly kind: RowKind;
  /** seq of the event that it represents. */
  readonly seq: number;
  readonly depth: number;
  /** For a step with a single call: that call, which is shown in the same row. */
  call?: number;
  /** For a check of the score at `seq`: its index. */
  readonly check?: number;
}

/** Kinds of rows that can be shown alone. */
export const FILTERS = ['messages', 'calls', 'errors', 'world', 'logs'] as const;
export type Filter = (typeof FILTERS)[number];

export class StepRows {
  readonly #model: TrajectoryModel;
  readonly #rows: Row[] = [];
  /** Index of the row, by each seq that it represents. */
  readonly #bySeq = new Map<number, number>();
  /** seqs of messages of a side model that has not been called yet with them. */
  readonly #prompts: number[] = [];
  #processed = 0;

  constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  /** All rows, including those of new events. */
  get all(): readonly Row[] {
    for (; this.#processed < this.#model.last; this.#processed++) {
      const event = this.#model.event(this.#processed + 1);
      if (event !== undefined) this.#process(event);
    }
    return this.#rows;
  }

  /** Returns the index of the row that shows `seq` or contains the event; −1 before the first. */
  indexOf(seq: number, check?: number): number {
    const { all } = this;
    if (check !== undefined) {
      const score = this.#bySeq.get(seq) ?? -1;
      const at = all.findIndex((row, index) => index > score && row.seq === seq && row.check === check);
      return at === -1 ? score : at;
    }
    const event = this.#model.event(seq);
    const own = this.#bySeq.get(seq) ?? (event?.span === undefined ? undefined : this.#bySeq.get(event.span));
    if (own !== undefined) return own;
    const step = this.#model.stepOf(seq)?.model?.seq;
    const ofStep = step === undefined ? undefined : this.#bySeq.get(step);
    if (ofStep !== undefined) return ofStep;
    return all.findLastIndex((row) => row.seq <= seq);
  }

  /** Returns where the cursor goes when a row is selected. */
  static cursorOf(row: Row): number {
    return row.call ?? row.seq;
  }

  #process(event: AnyEvent): void {
    if ('unknown' in event) {
      this.#push('other', event, 0);
      return;
    }
    const depth = depthOf(event.agent);
    switch (event.kind) {
      case 'message':
        if (event.data.side !== undefined) this.#prompts.push(event.seq);
        else if (event.data.origin !== 'sampled' && event.data.origin !== 'tool') this.#push('message', event, depth);
        return;
      case 'model.start': {
        if (event.data.side !== undefined) {
          for (const seq of takePrompt(this.#model, this.#prompts, event.data.context))
            this.#bySeq.set(seq, this.#rows.length);
          this.#push('side', event, this.#depthOfSide(event));
          return;
        }
        const first = this.#model.step(event.data.step)?.model?.seq;
        const existing = first === undefined ? undefined : this.#bySeq.get(first);
        if (existing !== undefined && first !== event.seq)
          this.#bySeq.set(event.seq, existing); // Repeated after another worker took over.
        else this.#push('step', event, depth);
        return;
      }
      case 'tool.start':
        this.#call(event.seq, depth);
        return;
      case 'agent.start':
        this.#push('agent', event, depth);
        return;
      case 'world.open':
        this.#push('world', event, depth);
        return;
      case 'world.diff':
        if (event.span === undefined) this.#push('world', event, depth);
        return;
      case 'edit':
        this.#push('edit', event, depth);
        return;
      case 'hold':
        this.#push('hold', event, depth);
        return;
      case 'log':
        this.#push('log', event, depth + 1);
        return;
      case 'score':
        if (event.span !== undefined) return; // a mark of its call
        this.#push('score', event, 0);
        for (const check of checkOrder(checksOf(event.data)))
          this.#rows.push({ kind: 'check', seq: event.seq, depth: 1, check });
        return;
      case 'rollout.lease':
        if (event.data.how !== 'fresh') this.#push('lease', event, 0);
        return;
      case 'rollout.handover':
        this.#push('lease', event, 0);
        return;
      case 'rollout.end':
        this.#push('end', event, 0);
        return;
      default:
    }
  }

  /** A call of a side model is below the row of the tool call that asked, or else of its step. */
  #depthOfSide(event: EventOf<'model.start'>): number {
    const call = askingCall(this.#model, event);
    const at = call === undefined ? undefined : this.#bySeq.get(call.seq);
    return ((at === undefined ? undefined : this.#rows[at])?.depth ?? depthOf(event.agent)) + 1;
  }

  /** Adds a call. A single call is shown in the row of its step; from the second on, each call has its own row. */
  #call(seq: number, depth: number): void {
    const step = this.#model.stepOf(seq);
    const at = step?.model === undefined ? undefined : this.#bySeq.get(step.model.seq);
    const row = at === undefined ? undefined : this.#rows[at];
    const calls = step?.tools ?? [];
    if (row === undefined || at === undefined) {
      this.#add({ kind: 'call', seq, depth });
    } else if (calls[0]?.seq === seq) {
      row.call = seq;
      this.#bySeq.set(seq, at);
    } else {
      if (row.call !== undefined) {
        const first = row.call;
        delete row.call;
        this.#add({ kind: 'call', seq: first, depth: depth + 1 });
      }
      this.#add({ kind: 'call', seq, depth: depth + 1 });
    }
  }

  #push(kind: RowKind, event: AnyEvent, depth: number): void {
    this.#add({ kind, seq: event.seq, depth });
  }

  #add(row: Row): void {
    this.#bySeq.set(row.seq, this.#rows.length);
    this.#rows.push(row);
  }
}

/** Returns the nesting level: `desk/searcher#2` is one below `desk`. */
function depthOf(agent: string | undefined): number {
  return agent === undefined ? 0 : agent.split('/').length - 1;
}

/** Returns whether a row can no longer change: its calls have ended, and a step is followed by another. */
export function isFinal(model: TrajectoryModel, row: Row): boolean {
  if (model.end !== undefined) return true;
  const span = model.span(StepRows.cursorOf(row));
  if (span === undefined) return true;
  return span.end !== undefined && span.step < model.steps.length - 1;
}

/** Returns whether a row matches the filters. `errors`: only failed or interrupted calls. */
export function isShown(model: TrajectoryModel, row: Row, only: ReadonlySet<Filter>): boolean {
  if (only.size === 0) return true;
  if (only.has('messages') && row.kind === 'message') return true;
  if (only.has('calls') && (row.kind === 'call' || row.call !== undefined)) return true;
  if (only.has('logs') && row.kind === 'log') return true;
  if (only.has('world') && (row.kind === 'world' || model.diffsOf(StepRows.cursorOf(row)).length > 0)) return true;
  return only.has('errors') && hasTrouble(model, row);
}

function hasTrouble(model: TrajectoryModel, { kind, seq, call = seq, check }: Row): boolean {
  return (
    [seq, call].some((one) => troubleOf(model.span(one)) !== undefined) ||
    (kind === 'end' && model.end?.data.error !== undefined) ||
    ((kind === 'score' || kind === 'check') &&
      redMarks(model).some((mark) => mark.seq === seq && (check === undefined || mark.check === check)))
  );
}
