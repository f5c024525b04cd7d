/** The cursor of one rollout in a debug session: its place, its history, and its moves. */
import { setImmediate } from 'node:timers/promises';
import { cancelled } from '../common/abort.ts';
import { BreakpointSet, type GateSide, type MatchedBreakpoint } from '../protocol/breakpointSet.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { AnyEvent, TrajectoryModel } from '../trace/model.ts';
import { environmentOf } from '../trace/query/environment.ts';
import { type Place, Stops } from '../trace/stops.ts';
import type { TaskRecord } from '../trace/task.ts';

export type Step = 'next' | 'into' | 'out';

/** Where a run through the recording stopped. `matched`: the breakpoints that match there; empty at the end. */
interface CursorRun {
  readonly place: Place;
  readonly matched: readonly MatchedBreakpoint[];
}

/** Seqs of stops with a breakpoint on their line in the trajectory's text. */
type LineStops = ReadonlySet<number>;

/** Events to check before yielding to other work. */
const SLICE = 2_000;

export class RolloutCursor {
  readonly #model: TrajectoryModel;
  readonly #task: TaskRecord;
  #place: Place;
  /** Earlier places, oldest first. */
  readonly #visited: Place[] = [];

  constructor(model: TrajectoryModel, task: TaskRecord, place: Place) {
    this.#model = model;
    this.#task = task;
    this.#place = place;
  }

  get place(): Place {
    return this.#place;
  }

  get stops(): Stops {
    return Stops.of(this.#model);
  }

  /** Goes to a place; `back` returns from it. */
  goto(place: Place): void {
    if (place.seq === this.#place.seq && place.at === this.#place.at) return;
    this.#visited.push(this.#place);
    this.#place = place;
  }

  /** Makes one step through the recording; returns false at its end, without moving. */
  step(how: Step): boolean {
    const place = this.stops[how](this.#place);
    if (place === undefined) return false;
    this.goto(place);
    return true;
  }

  /** Returns to the place before the last move, or else to the previous stop. Returns false at the beginning. */
  back(): boolean {
    const place = this.#visited.pop() ?? this.stops.previous(this.#place);
    if (place === undefined) return false;
    this.#place = place;
    return true;
  }

  /**
   * Runs through the recording to the next match, or else to the end (`until`: the last event to check); with
   * `backward`, to the previous match, or else to the beginning. `onLog` gets the logpoints of a forward run. Rejects
   * when `signal` aborts.
   */
  async run(
    direction: 'forward' | 'backward',
    breakpoints: readonly Breakpoint[],
    lines: LineStops,
    onLog: (text: string, place: Place) => void,
    signal: AbortSignal,
    until = this.#model.last,
  ): Promise<CursorRun> {
    const set = new BreakpointSet();
    set.set(breakpoints);
    const found =
      direction === 'forward'
        ? await this.#forward(set, lines, onLog, signal, until)
        : await this.#backward(set, lines, signal);
    this.goto(found.place);
    return found;
  }

  /** Returns what would stop a run at an event. */
  at(seq: number, breakpoints: readonly Breakpoint[]): CursorRun {
    const set = new BreakpointSet();
    set.set(breakpoints);
    return { place: this.#placeOf(seq), matched: this.#matches(set, seq).filter(({ text }) => text === undefined) };
  }

  async #forward(
    set: BreakpointSet,
    lines: LineStops,
    onLog: (text: string, place: Place) => void,
    signal: AbortSignal,
    until: number,
  ): Promise<CursorRun> {
    // Hit conditions count from the beginning, whatever the cursor's place.
    for (let seq = set.counts ? 1 : this.#place.at + 1; seq <= until; seq++) {
      if (seq % SLICE === 0) await pause(signal);
      const matched = this.#matches(set, seq);
      if (seq <= this.#place.at) continue;
      const place = this.#placeOf(seq);
      for (const { text } of matched) if (text !== undefined) onLog(text, place);
      const holding = matched.filter(({ text }) => text === undefined);
      if (holding.length > 0 || lines.has(seq)) return { place, matched: holding };
    }
    return { place: { seq: this.#placeOf(until).seq, at: until }, matched: [] };
  }

  async #backward(set: BreakpointSet, lines: LineStops, signal: AbortSignal): Promise<CursorRun> {
    let last: CursorRun | undefined;
    // Hits can only be counted forward, so find the last match before the place.
    for (let step = 1; step < this.#place.at; step++) {
      if (step % SLICE === 0) await pause(signal);
      const seq = set.counts ? step : this.#place.at - step;
      const matched = this.#matches(set, seq).filter(({ text }) => text === undefined);
      if (matched.length === 0 && !lines.has(seq)) continue;
      last = { place: this.#placeOf(seq), matched };
      if (!set.counts) break;
    }
    return last ?? { place: this.stops.first ?? this.#place, matched: [] };
  }

  #matches(set: BreakpointSet, seq: number): MatchedBreakpoint[] {
    const event = this.#model.event(seq);
    const gate = event === undefined ? undefined : gateOf(this.#model, event);
    return gate === undefined ? [] : set.matches(gate, () => environmentOf(this.#model, seq, this.#task));
  }

  #placeOf(seq: number): Place {
    return this.stops.placeOf(seq) ?? { seq, at: seq };
  }
}

/** Returns the gate of an event; undefined if it is not at a gate. */
function gateOf(model: TrajectoryModel, event: AnyEvent): GateSide | undefined {
  if ('unknown' in event) return undefined;
  switch (event.kind) {
    case 'model.start':
      return { side: 'before', kind: 'model', name: event.data.model ?? '', sideModel: event.data.side };
    case 'tool.start':
      return { side: 'before', kind: 'tool', name: event.data.name };
    case 'model.end':
      return { side: 'after', kind: 'model', name: '', sideModel: model.sideOf(event) };
    case 'tool.end': {
      const span = event.span === undefined ? undefined : model.span(event.span);
      return { side: 'after', kind: 'tool', name: span?.kind === 'tool' ? span.start.data.name : '' };
    }
    // Conditions on `reward` are evaluated here.
    case 'score':
      return { side: 'after', kind: 'score', name: event.data.scorer };
    default:
      return undefined;
  }
}

/** Yields to other work. Rejects when `signal` aborts. */
async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  if (signal.aborted) throw cancelled(signal);
}
