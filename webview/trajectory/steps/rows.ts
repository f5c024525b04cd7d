/**
 * The rows of the step list. They are made once for each event as it comes, so a long trajectory costs as much per
 * event as a short one; a row is drawn only when it is in sight.
 */

import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';

type RowKind =
  | 'message'
  | 'step'
  | 'call'
  | 'agent'
  | 'world'
  | 'edit'
  | 'hold'
  | 'log'
  | 'score'
  | 'lease'
  | 'end'
  | 'other';

export interface Row {
  readonly kind: RowKind;
  /** What it stands for. */
  readonly seq: number;
  readonly depth: number;
  /** Of a step that made one call only: that call, which is shown with it. */
  call?: number;
}

/** What can be left out. */
export const FILTERS = ['messages', 'calls', 'errors', 'world', 'logs'] as const;
export type Filter = (typeof FILTERS)[number];

export class StepRows {
  readonly #model: TrajectoryModel;
  readonly #rows: Row[] = [];
  /** Rows by every seq they stand for. */
  readonly #bySeq = new Map<number, number>();
  #taken = 0;

  constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  /** All rows, those of new events included. */
  get all(): readonly Row[] {
    for (; this.#taken < this.#model.last; this.#taken++) {
      const event = this.#model.event(this.#taken + 1);
      if (event !== undefined) this.#take(event);
    }
    return this.#rows;
  }

  /** Index of the row that shows `seq`, or that the event belongs to; −1 before the first. */
  indexOf(seq: number): number {
    const { all } = this;
    const event = this.#model.event(seq);
    const own = this.#bySeq.get(seq) ?? (event?.span === undefined ? undefined : this.#bySeq.get(event.span));
    if (own !== undefined) return own;
    const step = this.#model.stepOf(seq)?.model?.seq;
    const ofStep = step === undefined ? undefined : this.#bySeq.get(step);
    if (ofStep !== undefined) return ofStep;
    return all.findLastIndex((row) => row.seq <= seq);
  }

  /** Where the cursor goes when a row is selected. */
  static cursorOf(row: Row): number {
    return row.call ?? row.seq;
  }

  #take(event: AnyEvent): void {
    if ('unknown' in event) {
      this.#push('other', event, 0);
      return;
    }
    const depth = depthOf(event.agent);
    switch (event.kind) {
      case 'message':
        if (event.data.origin !== 'sampled' && event.data.origin !== 'tool') this.#push('message', event, depth);
        return;
      case 'model.start': {
        const known = this.#model.step(event.data.step)?.model?.seq;
        const again = known === undefined ? undefined : this.#bySeq.get(known);
        if (again !== undefined && known !== event.seq)
          this.#bySeq.set(event.seq, again); // done again after a takeover
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
        this.#push('score', event, 0);
        return;
      case 'rollout.lease':
        if (event.data.how !== 'fresh') this.#push('lease', event, 0);
        return;
      case 'rollout.end':
        this.#push('end', event, 0);
        return;
      default:
    }
  }

  /** The first call of a step is shown with it; from the second on each has a row. */
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

/** `desk/searcher#2` is one below `desk`. */
function depthOf(agent: string | undefined): number {
  return agent === undefined ? 0 : agent.split('/').length - 1;
}

/** Whether what a row says cannot change: all it stands for has ended, and a step has another after it. */
export function isFinal(model: TrajectoryModel, row: Row): boolean {
  if (model.end !== undefined) return true;
  const span = model.span(StepRows.cursorOf(row));
  if (span === undefined) return true;
  return span.end !== undefined && span.step < model.steps.length - 1;
}

/** Whether a row is shown while some kinds are left out. `errors`: only what failed or was interrupted. */
export function isShown(model: TrajectoryModel, row: Row, only: ReadonlySet<Filter>): boolean {
  if (only.size === 0) return true;
  if (only.has('messages') && row.kind === 'message') return true;
  if (only.has('calls') && (row.kind === 'call' || row.call !== undefined)) return true;
  if (only.has('logs') && row.kind === 'log') return true;
  if (only.has('world') && (row.kind === 'world' || model.diffsOf(StepRows.cursorOf(row)).length > 0)) return true;
  return only.has('errors') && wentWrong(model, row);
}

function wentWrong(model: TrajectoryModel, { kind, seq, call = seq }: Row): boolean {
  return (
    [seq, call].some((one) => troubleOf(model.span(one)) !== undefined) ||
    (kind === 'end' && model.end?.data.error !== undefined)
  );
}
