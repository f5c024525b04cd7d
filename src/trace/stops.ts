/**
 * Where a debugger stops in a trajectory, and how it steps: at input messages, model calls, tool calls, and agents.
 * Stops are nested: a tool call in the model call that requested it, the stops of a team member in its `agent.start`,
 * and that in the tool call that called the member. A reply is not a stop, but part of its call. A call of a side model
 * is nested in its tool call or in the step that contains it, so stepping over skips it; its prompt is part of it.
 */
import { countUpTo } from './model/search.ts';
import type { AnyEvent, TrajectoryModel } from './model.ts';

/** A stop and a position: the stop's own event, or the end of its span. */
export interface Place {
  /** The stop: seq of a message or a start. */
  readonly seq: number;
  /** seq of the last event that has happened. */
  readonly at: number;
}

export class Stops {
  readonly #model: TrajectoryModel;
  readonly #all: number[] = [];
  readonly #parents = new Map<number, number>();
  readonly #children = new Map<number, number[]>();
  readonly #byAgent = new Map<string, number[]>();
  #indexed = 0;

  private constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  static readonly #of = new WeakMap<TrajectoryModel, Stops>();

  /** Returns the stops of a model, from a shared index that grows with the model. */
  static of(model: TrajectoryModel): Stops {
    let stops = Stops.#of.get(model);
    if (stops === undefined) Stops.#of.set(model, (stops = new Stops(model)));
    stops.#update();
    return stops;
  }

  /** All stops, ascending. */
  get all(): readonly number[] {
    return this.#all;
  }

  /** Returns the stops of one agent instance, ascending. */
  ofAgent(path: string): readonly number[] {
    return this.#byAgent.get(path) ?? [];
  }

  /** Returns the enclosing stop; 0 if there is none; undefined if `seq` is not a stop. */
  parentOf(seq: number): number | undefined {
    return this.#parents.get(seq);
  }

  /** Returns the stops directly inside; the outermost ones for 0. */
  children(seq: number): readonly number[] {
    return this.#children.get(seq) ?? [];
  }

  get first(): Place | undefined {
    const [seq] = this.#all;
    return seq === undefined ? undefined : { seq, at: seq };
  }

  /** The last stop, when everything has happened. */
  get end(): Place | undefined {
    const seq = this.#all.at(-1);
    return seq === undefined ? undefined : { seq, at: this.#model.last };
  }

  /** Returns the place after an event: for an end, the stop that it ends; for other events, the newest stop. */
  placeOf(seq: number): Place | undefined {
    if (this.#parents.has(seq)) return { seq, at: seq };
    const span = this.#model.event(seq)?.span;
    if (span !== undefined && this.#parents.has(span)) return { seq: span, at: seq };
    const newest = this.#all[countUpTo(this.#all, seq) - 1];
    return newest === undefined ? undefined : { seq: newest, at: seq };
  }

  /** Returns the next stop in the same enclosing stop, else the next after that one. undefined: the end. */
  next(place: Place): Place | undefined {
    return this.#after(this.parentOf(place.seq), place);
  }

  /** Returns the next stop inside this one, else the same as `next`. */
  into(place: Place): Place | undefined {
    return placeAt(firstAfter(this.children(place.seq), Math.max(place.seq, place.at))) ?? this.next(place);
  }

  /** Returns the next stop after the enclosing one. undefined: the end. */
  out(place: Place): Place | undefined {
    const parent = this.parentOf(place.seq);
    return parent === undefined || parent === 0 ? undefined : this.#after(this.parentOf(parent), place);
  }

  /** Returns the previous stop in the same enclosing stop, else that one. undefined: the beginning. */
  previous(place: Place): Place | undefined {
    // From the end of a stop, goes to its start.
    if (place.at > place.seq) return { seq: place.seq, at: place.seq };
    const parent = this.parentOf(place.seq);
    if (parent === undefined) return undefined;
    const siblings = this.children(parent);
    const before = siblings[countUpTo(siblings, place.seq - 1) - 1];
    return placeAt(before ?? (parent === 0 ? undefined : parent));
  }

  /** Returns the stop and all that enclose it, from inside to outside. */
  chain(seq: number): number[] {
    const chain: number[] = [];
    for (let at: number | undefined = seq; at !== undefined && at !== 0; at = this.parentOf(at)) chain.push(at);
    return chain;
  }

  #after(level: number | undefined, place: Place): Place | undefined {
    for (let at = level; at !== undefined; at = at === 0 ? undefined : this.parentOf(at)) {
      const found = firstAfter(this.children(at), Math.max(place.seq, place.at));
      if (found !== undefined) return placeAt(found);
    }
    return undefined;
  }

  #update(): void {
    for (; this.#indexed < this.#model.last; this.#indexed++) {
      const event = this.#model.event(this.#indexed + 1);
      if (event === undefined) continue;
      const parent = this.#parent(event);
      if (parent === undefined) continue;
      this.#all.push(event.seq);
      this.#parents.set(event.seq, parent);
      push(this.#children, parent, event.seq);
      push(this.#byAgent, event.agent ?? '', event.seq);
    }
  }

  /** Returns the enclosing stop; undefined if the event is not a stop. */
  #parent(event: AnyEvent): number | undefined {
    if ('unknown' in event) return undefined;
    switch (event.kind) {
      case 'message':
        if (event.data.side !== undefined) return undefined;
        // Replies are part of their calls, and edited messages part of the originals.
        return event.data.origin === 'given' || event.data.origin === 'compacted' ? this.#enclosing(event) : undefined;
      case 'model.start':
        if (event.data.side === undefined) return this.#enclosing(event);
        return (
          this.#existing(event.parent) ??
          this.#existing(this.#model.stepOf(event.seq)?.model?.seq) ??
          this.#enclosing(event)
        );
      case 'tool.start': {
        const step = this.#model.stepOf(event.seq)?.model?.seq;
        return step === undefined || step >= event.seq ? this.#enclosing(event) : step;
      }
      case 'agent.start':
        return this.#existing(event.parent) ?? 0;
      default:
        return undefined;
    }
  }

  /** Returns the start of the event's agent; members of a team have one. */
  #enclosing(event: AnyEvent): number {
    const start = this.#model.agent(event.agent ?? '')?.span?.seq;
    return this.#existing(start) ?? this.#existing(event.parent) ?? 0;
  }

  #existing(seq: number | undefined): number | undefined {
    return seq !== undefined && this.#parents.has(seq) ? seq : undefined;
  }
}

function placeAt(seq: number | undefined): Place | undefined {
  return seq === undefined ? undefined : { seq, at: seq };
}

/** Returns the first of the ascending seqs after `seq`. */
function firstAfter(seqs: readonly number[], seq: number): number | undefined {
  return seqs[countUpTo(seqs, seq)];
}

function push<K>(lists: Map<K, number[]>, key: K, seq: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [seq]);
  else list.push(seq);
}
