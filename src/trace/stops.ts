/**
 * Where a debugger stops in a trajectory, and how it steps: messages that were given, model calls, tool calls and
 * agents.
 * Each lies inside another: a tool call in the model call that asked for it, what a member of a team does in its
 * `agent.start`, that in the tool call that called it. A reply is no stop: it is part of its call.
 */
import { countUpTo } from './model/search.ts';
import type { AnyEvent, TrajectoryModel } from './model.ts';

/** A stop, and how far the rollout has come there: the stop's own event, or the end of what it started. */
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
  #taken = 0;

  private constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  static readonly #of = new WeakMap<TrajectoryModel, Stops>();

  /** The stops of a model; one index for all who ask, kept up to date as the model grows. */
  static of(model: TrajectoryModel): Stops {
    let stops = Stops.#of.get(model);
    if (stops === undefined) Stops.#of.set(model, (stops = new Stops(model)));
    stops.#take();
    return stops;
  }

  /** Ascending. */
  get all(): readonly number[] {
    return this.#all;
  }

  /** Stops of one agent instance, ascending. */
  ofAgent(path: string): readonly number[] {
    return this.#byAgent.get(path) ?? [];
  }

  /** The stop around this one; 0 = none; undefined = it is no stop. */
  parentOf(seq: number): number | undefined {
    return this.#parents.get(seq);
  }

  /** Stops directly inside; outermost ones with 0. */
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

  /**
   * Where one stands when an event has just happened: of an end, at what it ends; of other events, at the newest stop.
   */
  placeOf(seq: number): Place | undefined {
    if (this.#parents.has(seq)) return { seq, at: seq };
    const span = this.#model.event(seq)?.span;
    if (span !== undefined && this.#parents.has(span)) return { seq: span, at: seq };
    const newest = this.#all[countUpTo(this.#all, seq) - 1];
    return newest === undefined ? undefined : { seq: newest, at: seq };
  }

  /** The next stop inside the same one; where there is none, the next after what encloses it. undefined = the end. */
  next(place: Place): Place | undefined {
    return this.#after(this.parentOf(place.seq), place);
  }

  /** The first stop inside that has not been passed; else as `next`. */
  into(place: Place): Place | undefined {
    return placed(firstAfter(this.children(place.seq), Math.max(place.seq, place.at))) ?? this.next(place);
  }

  /** The next stop after what encloses this one. undefined = the end. */
  out(place: Place): Place | undefined {
    const parent = this.parentOf(place.seq);
    return parent === undefined || parent === 0 ? undefined : this.#after(this.parentOf(parent), place);
  }

  /** The stop before it inside the same one, else the one around it. undefined = the beginning. */
  previous(place: Place): Place | undefined {
    // What ended here began first.
    if (place.at > place.seq) return { seq: place.seq, at: place.seq };
    const parent = this.parentOf(place.seq);
    if (parent === undefined) return undefined;
    const siblings = this.children(parent);
    const before = siblings[countUpTo(siblings, place.seq - 1) - 1];
    return placed(before ?? (parent === 0 ? undefined : parent));
  }

  /** From inside to outside: the stop itself, what encloses it, and so on. */
  chain(seq: number): number[] {
    const chain: number[] = [];
    for (let at: number | undefined = seq; at !== undefined && at !== 0; at = this.parentOf(at)) chain.push(at);
    return chain;
  }

  #after(level: number | undefined, place: Place): Place | undefined {
    for (let at = level; at !== undefined; at = at === 0 ? undefined : this.parentOf(at)) {
      const found = firstAfter(this.children(at), Math.max(place.seq, place.at));
      if (found !== undefined) return placed(found);
    }
    return undefined;
  }

  #take(): void {
    for (; this.#taken < this.#model.last; this.#taken++) {
      const event = this.#model.event(this.#taken + 1);
      if (event === undefined) continue;
      const parent = this.#parent(event);
      if (parent === undefined) continue;
      this.#all.push(event.seq);
      this.#parents.set(event.seq, parent);
      push(this.#children, parent, event.seq);
      push(this.#byAgent, event.agent ?? '', event.seq);
    }
  }

  /** undefined = no stop. */
  #parent(event: AnyEvent): number | undefined {
    if ('unknown' in event) return undefined;
    switch (event.kind) {
      case 'message':
        // Replies are part of their calls, edited forms of what they stand for.
        return event.data.origin === 'given' || event.data.origin === 'compacted' ? this.#around(event) : undefined;
      case 'model.start':
        return this.#around(event);
      case 'tool.start': {
        const step = this.#model.stepOf(event.seq)?.model?.seq;
        return step === undefined || step >= event.seq ? this.#around(event) : step;
      }
      case 'agent.start':
        return this.#existing(event.parent) ?? 0;
      default:
        return undefined;
    }
  }

  /** The agent that an event of its work lies in: a member of a team has a start. */
  #around(event: AnyEvent): number {
    const start = this.#model.agent(event.agent ?? '')?.span?.seq;
    return this.#existing(start) ?? this.#existing(event.parent) ?? 0;
  }

  #existing(seq: number | undefined): number | undefined {
    return seq !== undefined && this.#parents.has(seq) ? seq : undefined;
  }
}

function placed(seq: number | undefined): Place | undefined {
  return seq === undefined ? undefined : { seq, at: seq };
}

/** The first of the ascending seqs behind `seq`. */
function firstAfter(seqs: readonly number[], seq: number): number | undefined {
  return seqs[countUpTo(seqs, seq)];
}

function push<K>(lists: Map<K, number[]>, key: K, seq: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [seq]);
  else list.push(seq);
}
