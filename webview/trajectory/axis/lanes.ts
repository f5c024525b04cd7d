/** What stands on the time axis: items in lanes, made once for each event as it comes. */
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { Span } from '../../../src/trace/model/spans.ts';

export type LaneKind = 'model' | 'tools' | 'agent' | 'world' | 'infra';

export interface Item {
  readonly seq: number;
  /** ms since the start, or seq where there are no times. */
  readonly from: number;
  /** Absent for a moment. */
  readonly span?: Span;
  readonly label: string;
  /** Which of the rows of its lane, for calls at the same time. */
  readonly row: number;
}

export interface Lane {
  readonly kind: LaneKind;
  readonly name: string;
  readonly items: Item[];
}

const MOST_AGENTS = 6;

export class Lanes {
  readonly model: TrajectoryModel;
  readonly #lanes = new Map<string, Lane>();
  /** Starts of the steps, for the flags. */
  readonly steps: { readonly seq: number; readonly index: number; readonly from: number }[] = [];
  #taken = 0;
  #first: number | undefined;
  #end = 0;

  constructor(model: TrajectoryModel) {
    this.model = model;
    for (const [kind, name] of [['model', 'model'], ['tools', 'tools']] as const) this.#lane(kind, name);
  }

  /** Takes the events that came since. */
  advance(): void {
    for (; this.#taken < this.model.last; this.#taken++) {
      const event = this.model.event(this.#taken + 1);
      if (event !== undefined) this.#take(event);
    }
  }

  /** Top to bottom; world and infra only where they hold something. */
  get lanes(): readonly Lane[] {
    const order: readonly LaneKind[] = ['model', 'tools', 'agent', 'world', 'infra'];
    return [...this.#lanes.values()].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  }

  /** End of the last thing that happened. */
  get end(): number {
    return Math.max(1, this.#end);
  }

  /** Where an event is. */
  at(event: Pick<AnyEvent, 'at' | 'seq'>): number {
    return this.model.timed ? event.at - (this.#first ?? event.at) : event.seq;
  }

  /** Where an item ends; what has not ended goes on to the newest event. */
  endOf({ span, from }: Item): number {
    if (span === undefined) return from;
    if (span.end === undefined) return this.end;
    return Math.max(from, this.at(span.end));
  }

  /** Whether its model call or a call of it failed. */
  failed(index: number): boolean {
    const step = this.model.step(index);
    return step !== undefined && [step.model, ...step.tools].some((span) => span?.end?.data.error !== undefined);
  }

  /** Where a seq is, for the cursor: its span's time, or its own. */
  rangeOf(seq: number): { from: number; to: number } | undefined {
    const step = this.model.stepOf(seq);
    const first = step?.model?.start ?? this.model.event(seq);
    if (first === undefined) return undefined;
    const from = this.at(first);
    const ends = [step?.model, ...(step?.tools ?? [])].map((span) => (span === undefined ? from : span.end === undefined ? this.end : this.at(span.end)));
    return { from, to: Math.max(from, ...ends) };
  }

  #take(event: AnyEvent): void {
    this.#first ??= event.at;
    const at = this.at(event);
    this.#end = Math.max(this.#end, at);
    if ('unknown' in event) return;
    const span = this.model.span(event.seq);
    switch (event.kind) {
      case 'model.start': {
        const sub = isSub(event.agent);
        this.#add(sub ? this.#lane('agent', event.agent ?? '') : this.#lane('model', 'model'), { seq: event.seq, from: at, label: event.data.model ?? 'model', row: 0, ...(span === undefined ? {} : { span }) });
        const index = this.model.stepOf(event.seq)?.index ?? 0;
        if (this.steps.at(-1)?.index !== index) this.steps.push({ seq: event.seq, index, from: at });
        return;
      }
      case 'tool.start':
        this.#add(this.#lane('tools', 'tools'), { seq: event.seq, from: at, label: event.data.name, row: this.#freeRow(at), ...(span === undefined ? {} : { span }) });
        return;
      case 'world.diff':
        this.#add(this.#lane('world', 'world'), { seq: event.span ?? event.seq, from: at, label: `${event.data.changes.length} rows changed`, row: 0 });
        return;
      case 'rollout.lease':
        if (event.data.how !== 'fresh') this.#add(this.#lane('infra', 'infra'), { seq: event.seq, from: at, label: `${event.data.how} by ${event.data.worker}`, row: 0 });
        return;
      case 'hold':
        this.#add(this.#lane('infra', 'infra'), { seq: event.seq, from: at, label: `held: ${event.data.why}`, row: 0 });
        return;
      default:
    }
  }

  /** 1 while another call of the first row runs. */
  #freeRow(at: number): number {
    const last = this.#lane('tools', 'tools').items.at(-1);
    return last !== undefined && last.row === 0 && (last.span?.end === undefined || this.at(last.span.end) > at) ? 1 : 0;
  }

  #lane(kind: LaneKind, name: string): Lane {
    const key = kind === 'agent' ? `agent ${name}` : kind;
    let lane = this.#lanes.get(key);
    if (lane === undefined && kind === 'agent' && [...this.#lanes.values()].filter((other) => other.kind === 'agent').length >= MOST_AGENTS) {
      // More agents than there is room for share the last lane.
      lane = [...this.#lanes.values()].findLast((other) => other.kind === 'agent');
    }
    if (lane === undefined) this.#lanes.set(key, (lane = { kind, name, items: [] }));
    return lane;
  }

  #add(lane: Lane, item: Item): void {
    lane.items.push(item);
  }
}

function isSub(agent: string | undefined): boolean {
  return agent?.includes('/') === true;
}

/** Index of the first item that may reach into sight at `from`: items come in order of their start. */
export function firstInSight(items: readonly Item[], from: number, endOf: (item: Item) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.from ?? Infinity) < from) low = middle + 1;
    else high = middle;
  }
  // A few that began before may still go on.
  let first = low;
  for (let i = low - 1; i >= 0 && i > low - 50; i--) {
    const item = items[i];
    if (item !== undefined && endOf(item) >= from) first = i;
  }
  return first;
}

/** Index after `index` of the last item that begins before `at`: of items in order it is the one that may reach beyond. */
export function nextAfter(items: readonly Item[], index: number, at: number): number {
  let low = index + 1;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.from ?? Infinity) < at) low = middle + 1;
    else high = middle;
  }
  return Math.max(index + 1, low - 1);
}
