/** The items and lanes of the time axis, updated incrementally with each event. */
import { startedAtOf, type Wait, waitsOf } from '../../../src/trace/callTimes.ts';
import type { Hold } from '../../../src/trace/model/holds.ts';
import type { Span } from '../../../src/trace/model/spans.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventOf, TraceEvent } from '../../../src/trace/schema.ts';
import { sideLabel } from '../../../src/trace/text/labels.ts';
import { type Trouble, troubleIn, worse } from '../../../src/trace/trouble.ts';
import { outsideItem } from './outside.ts';

export type LaneKind = 'model' | 'tools' | 'agent' | 'world' | 'infra';
/** Determines how an item is drawn. */
type Form = 'model' | 'tool' | 'agent' | 'world' | 'hold' | 'lease' | 'infra' | 'control';

export interface Item {
  readonly form: Form;
  /** The target of a click. */
  readonly seq: number;
  /** Milliseconds since the start, or seq without timings. */
  readonly from: number;
  /** undefined for a point in time, or if `span` or `hold` has the end. */
  readonly to?: number;
  readonly span?: Span;
  readonly hold?: Hold;
  readonly label: string;
  /** More text for the tooltip. */
  readonly text?: string;
  /** Row in its lane, for concurrent calls. */
  readonly row: number;
}

export interface Lane {
  readonly kind: LaneKind;
  readonly name: string;
  /** In order of their starts. */
  readonly items: Item[];
  /** Frames of sub-agents, from start to end, behind the items. */
  readonly frames: Item[];
}

const MAX_AGENTS = 6;
const ORDER: readonly LaneKind[] = ['model', 'tools', 'agent', 'world', 'infra'];

export class Lanes {
  readonly model: TrajectoryModel;
  readonly #lanes = new Map<string, Lane>();
  #sorted: readonly Lane[] | undefined;
  /** Starts of steps, for the flags. */
  readonly steps: { readonly seq: number; readonly index: number; readonly from: number }[] = [];
  /** By index of the step. */
  readonly #troubles = new Map<number, Trouble>();
  #interrupted = false;
  #processed = 0;
  #outsideProcessed = 0;
  #first: number | undefined;
  #end = 0;

  constructor(model: TrajectoryModel) {
    this.model = model;
    for (const [kind, name] of [
      ['model', 'model'],
      ['tools', 'tools'],
    ] as const)
      this.#lane(kind, name);
  }

  /** Changes with every processed event: the same version is drawn the same. */
  get version(): number {
    return this.#processed + this.#outsideProcessed;
  }

  /** Processes new events. */
  advance(): void {
    for (; this.#processed < this.model.last; this.#processed++) {
      const event = this.model.event(this.#processed + 1);
      if (event !== undefined) this.#process(event);
    }
  }

  /**
   * Adds relevant events of the batch's stream. Call this once all events of the rollout are loaded: they determine
   * relevance.
   */
  advanceOutside(events: readonly TraceEvent[]): void {
    for (; this.#outsideProcessed < events.length; this.#outsideProcessed++) {
      const event = events[this.#outsideProcessed];
      const item = event === undefined ? undefined : outsideItem(this.model, event);
      if (item === undefined) continue;
      const { kind, label, text, at, ms } = item;
      const to = at - (this.#first ?? at);
      this.#end = Math.max(this.#end, to);
      this.#add(this.#lane('infra', 'infra'), {
        form: kind,
        seq: this.#eventAt(at),
        from: to - ms,
        to,
        label,
        text,
        row: 0,
      });
    }
  }

  /** Lanes from top to bottom, without empty ones except for model and tools. */
  get lanes(): readonly Lane[] {
    return (this.#sorted ??= [...this.#lanes.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)));
  }

  /** End of the last item. */
  get end(): number {
    return Math.max(1, this.#end);
  }

  /** Returns the position of an event. */
  at(event: Pick<AnyEvent, 'at' | 'seq'>): number {
    return this.model.timed ? event.at - (this.#first ?? event.at) : event.seq;
  }

  /** Returns the end of an item; an open one extends to the newest event. */
  endOf({ span, hold, from, to = from }: Item): number {
    if (hold !== undefined)
      return hold.release === undefined
        ? this.#isCurrent(hold)
          ? this.end
          : from
        : Math.max(from, this.at(hold.release));
    if (span === undefined) return to;
    if (span.end === undefined) return this.end;
    return Math.max(from, this.at(span.end));
  }

  /** Whether an item has not ended. */
  isOpen({ span, hold }: Pick<Item, 'span' | 'hold'>): boolean {
    return hold !== undefined
      ? this.#isCurrent(hold)
      : span !== undefined && span.end === undefined && this.model.end === undefined;
  }

  /**
   * Returns where the call of an item started after its waits; undefined if it never did or has not yet. For other
   * items, returns their start.
   */
  startOf({ span, from }: Pick<Item, 'span' | 'from'>): number | undefined {
    if (!this.model.timed || (span?.kind !== 'model' && span?.kind !== 'tool')) return from;
    const at = startedAtOf(this.model, span);
    return at === undefined ? undefined : from + at - span.start.at;
  }

  /** Returns the waits of an item's call before it started. */
  waitsOf({ span, from }: Pick<Item, 'span' | 'from'>): Wait[] {
    if (!this.model.timed || (span?.kind !== 'model' && span?.kind !== 'tool')) return [];
    const shift = from - span.start.at;
    return waitsOf(this.model, span, this.end - shift).map((wait) => ({
      ...wait,
      from: wait.from + shift,
      to: wait.to + shift,
    }));
  }

  /** Returns the trouble in a step: of its model call, including retries, or of its tool calls. */
  troubleIn(index: number): Trouble | undefined {
    return this.#troubles.get(index);
  }

  /** Whether infrastructure ended a call. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** Returns the range of the step of an event, or else of the event itself, for the cursor. */
  rangeOf(seq: number): { from: number; to: number } | undefined {
    const step = this.model.stepOf(seq);
    const first = step?.model?.start ?? this.model.event(seq);
    if (first === undefined) return undefined;
    const event = this.model.event(seq) ?? first;
    const from = Math.min(this.at(event), this.at(first)); // A repeated step includes its lost first run.
    const ends = [step?.model, ...(step?.tools ?? [])].map((span) =>
      span === undefined ? from : span.end === undefined ? this.end : this.at(span.end),
    );
    return { from, to: Math.max(from, ...ends) };
  }

  #isCurrent(hold: Hold): boolean {
    return hold.release === undefined && this.model.holdsAt().includes(hold);
  }

  /** Returns the seq of the last event at a position. */
  seqAt(position: number): number {
    return this.model.timed
      ? this.#eventAt(position + (this.#first ?? 0))
      : Math.max(1, Math.min(this.model.last, Math.round(position)));
  }

  /** Returns the seq of the last event at a time. */
  #eventAt(at: number): number {
    const { events } = this.model;
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((events[middle]?.at ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return events[low - 1]?.seq ?? 1;
  }

  #process(event: AnyEvent): void {
    this.#first ??= event.at;
    const at = this.at(event);
    this.#end = Math.max(this.#end, at);
    if ('unknown' in event) return;
    switch (event.kind) {
      case 'model.start': {
        this.#add(this.#laneOf(event.agent, 'model'), {
          form: 'model',
          ...this.#spanned(event, at),
          label: event.data.side === undefined ? (event.data.model ?? 'model') : sideLabel(event.data.side),
          row: 0,
        });
        if (event.data.side !== undefined) return; // not a step
        const index = this.model.stepOf(event.seq)?.index ?? 0;
        if (this.steps.at(-1)?.index !== index) this.steps.push({ seq: event.seq, index, from: at });
        return;
      }
      case 'tool.start': {
        const lane = this.#laneOf(event.agent, 'tools');
        this.#add(lane, {
          form: 'tool',
          ...this.#spanned(event, at),
          label: event.data.name,
          row: lane.kind === 'tools' ? this.#freeRow(lane, at) : 0,
        });
        return;
      }
      case 'model.end':
      case 'tool.end':
        if (event.data.error !== undefined) this.#trouble(event.seq, troubleIn(event.data.error));
        return;
      case 'agent.start':
        if (isSub(event.agent))
          this.#lane('agent', event.agent).frames.push({
            form: 'agent',
            ...this.#spanned(event, at),
            label: event.agent,
            text: event.data.how,
            row: 0,
          });
        return;
      case 'world.diff': {
        const rows = event.data.changes.length;
        this.#add(this.#lane('world', 'world'), {
          form: 'world',
          seq: event.span ?? event.seq,
          from: at,
          label: `${rows} ${rows === 1 ? 'row' : 'rows'} changed`,
          row: 0,
        });
        return;
      }
      case 'rollout.lease':
        this.#lease(event, at);
        return;
      case 'rollout.handover':
        this.#add(this.#lane('infra', 'infra'), {
          form: 'lease',
          seq: event.seq,
          from: at,
          label: 'handed over',
          text: `by ${event.data.worker}`,
          row: 0,
        });
        return;
      case 'hold': {
        const hold = this.model.hold(event.seq);
        this.#add(this.#lane('infra', 'infra'), {
          form: 'hold',
          seq: event.seq,
          from: at,
          label: 'held',
          text: event.data.why,
          row: 0,
          ...(hold === undefined ? {} : { hold }),
        });
        return;
      }
      default:
    }
  }

  #trouble(seq: number, trouble: Trouble): void {
    if (trouble === 'interrupted') this.#interrupted = true;
    const index = this.model.stepOf(seq)?.index ?? 0;
    this.#troubles.set(index, worse(trouble, this.#troubles.get(index)) ?? trouble);
  }

  #spanned({ seq }: AnyEvent, from: number): Pick<Item, 'seq' | 'from' | 'span'> {
    const span = this.model.span(seq);
    return span === undefined ? { seq, from } : { seq, from, span };
  }

  /** Marks a lease only if another worker took over the rollout. */
  #lease(event: EventOf<'rollout.lease'>, at: number): void {
    const { how, worker } = event.data;
    if (how !== 'fresh')
      this.#add(this.#lane('infra', 'infra'), {
        form: 'lease',
        seq: event.seq,
        from: at,
        label: how,
        text: `by ${worker}`,
        row: 0,
      });
  }

  /** Returns row 1 while another call runs in row 0. */
  #freeRow({ items }: Lane, at: number): number {
    const last = items.at(-1);
    return last !== undefined && last.row === 0 && (last.span?.end === undefined || this.at(last.span.end) > at)
      ? 1
      : 0;
  }

  /** Calls of sub-agents have their own lanes. */
  #laneOf(agent: string | undefined, kind: 'model' | 'tools'): Lane {
    return isSub(agent) ? this.#lane('agent', agent) : this.#lane(kind, kind);
  }

  #lane(kind: LaneKind, name: string): Lane {
    // All instances of an agent share a lane: `searcher#1`, `searcher#2`.
    const label = kind === 'agent' ? (name.split('/').at(-1) ?? name).replace(/#\d+$/, '') : name;
    const key = kind === 'agent' ? `agent ${label}` : kind;
    let lane = this.#lanes.get(key);
    if (lane === undefined && kind === 'agent') {
      const agents = [...this.#lanes.values()].filter((other) => other.kind === 'agent');
      if (agents.length >= MAX_AGENTS) lane = agents.at(-1); // Agents beyond the limit share the last lane.
    }
    if (lane === undefined) {
      this.#lanes.set(key, (lane = { kind, name: label, items: [], frames: [] }));
      this.#sorted = undefined;
    }
    return lane;
  }

  /** Inserts an item in order: the batch's stream can contain old events. */
  #add({ items }: Lane, item: Item): void {
    let at = items.length;
    while (at > 0 && (items[at - 1]?.from ?? 0) > item.from) at -= 1;
    if (at === items.length) items.push(item);
    else items.splice(at, 0, item);
  }
}

function isSub(agent: string | undefined): agent is string {
  return agent?.includes('/') === true;
}

/**
 * Returns the index of the first item at or after `index` that starts at `at` or later. Items are in order of their
 * starts. Searches nearby first.
 */
export function firstFrom(items: readonly { readonly from: number }[], at: number, index = 0): number {
  let low = index;
  let high = index;
  for (let far = 1; high < items.length && (items[high]?.from ?? Infinity) < at; far *= 2) {
    low = high + 1;
    high += far;
  }
  high = Math.min(high, items.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.from ?? Infinity) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the first item that may extend into view at `from`. */
export function firstInSight(items: readonly Item[], from: number, endOf: (item: Item) => number): number {
  const low = firstFrom(items, from);
  // A few earlier items may extend into view.
  let first = low;
  for (let i = low - 1; i >= 0 && i > low - 50; i--) {
    const item = items[i];
    if (item !== undefined && endOf(item) >= from) first = i;
  }
  return first;
}

/** Returns the index, after `index`, of the last item that starts before `at`: only that one may extend beyond it. */
export function nextAfter(items: readonly Item[], index: number, at: number): number {
  return Math.max(index + 1, firstFrom(items, at, index + 1) - 1);
}
