/** The rows of a transcript, created once per event: what was said, in order, and the sub-agents that it belongs to. */
import { askingCall, takePrompt } from '../../../src/trace/model/sideCalls.ts';
import type { AnyEvent, TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventOf } from '../../../src/trace/schema.ts';

export interface TranscriptRow {
  /** `turn`: what a model said in a step, and its calls. `side`: a call of a side model. */
  readonly kind: 'message' | 'turn' | 'side' | 'call' | 'agent' | 'score' | 'end';
  /** seq of the event that it represents. */
  readonly seq: number;
  /** Number of sub-agents around it. */
  readonly depth: number;
  /** seq of the row of the innermost sub-agent around it; 0 for none. */
  readonly inside: number;
}

export class TranscriptRows {
  readonly #model: TrajectoryModel;
  /** In order of seq. */
  readonly #rows: TranscriptRow[] = [];
  /** seq of the row, by the seq of another start that it shows. */
  readonly #owners = new Map<number, number>();
  /** seq of the row, by step. */
  readonly #turns = new Map<number, number>();
  /** seqs of messages of a side model that has not been called yet with them. */
  readonly #prompts: number[] = [];
  /** seq of the newest row of a sub-agent, by its path. */
  readonly #agents = new Map<string, number>();
  /** Rows outside closed sub-agents: the first `taken` rows were considered. */
  #open: { readonly closed: ReadonlySet<number>; readonly rows: TranscriptRow[]; taken: number } | undefined;
  #processed = 0;

  constructor(model: TrajectoryModel) {
    this.#model = model;
  }

  /** All rows, including those of new events. */
  get all(): readonly TranscriptRow[] {
    for (; this.#processed < this.#model.last; this.#processed++) {
      const event = this.#model.event(this.#processed + 1);
      if (event !== undefined && !('unknown' in event)) this.#process(event);
    }
    return this.#rows;
  }

  /** Returns the rows that are not inside a closed sub-agent. Pass another set after a change. */
  shown(closed: ReadonlySet<number>): readonly TranscriptRow[] {
    const { all } = this;
    if (closed.size === 0) return all;
    if (this.#open?.closed !== closed) this.#open = { closed, rows: [], taken: 0 };
    const open = this.#open;
    for (; open.taken < all.length; open.taken++) {
      const row = all[open.taken];
      if (row !== undefined && this.around(row).every((seq) => !closed.has(seq))) open.rows.push(row);
    }
    return open.rows;
  }

  /** Returns the sub-agents around a row, innermost first, by the seqs of their rows. */
  around({ inside }: TranscriptRow): number[] {
    const seqs: number[] = [];
    for (let seq = inside; seq !== 0; seq = this.#rows[placeOf(this.#rows, seq)]?.inside ?? 0) seqs.push(seq);
    return seqs;
  }

  /** Returns the row that shows `seq`: the last one that starts before it if none does. */
  rowOf(seq: number): TranscriptRow | undefined {
    const { all } = this;
    const event = this.#model.event(seq);
    const span = event?.span ?? seq;
    const own = all[placeOf(all, seq)];
    if (own?.seq === seq) return own;
    return all[placeOf(all, this.#owners.get(seq) ?? this.#owners.get(span) ?? span)] ?? all[0];
  }

  #process(event: Exclude<AnyEvent, { unknown: unknown }>): void {
    switch (event.kind) {
      case 'message':
        if (event.data.side !== undefined) this.#prompts.push(event.seq);
        else if (this.#isAlone(event)) this.#add('message', event.seq, event.agent);
        return;
      case 'model.start': {
        if (event.data.side !== undefined) {
          for (const seq of takePrompt(this.#model, this.#prompts, event.data.context))
            this.#owners.set(seq, event.seq);
          this.#add('side', event.seq, askingCall(this.#model, event)?.agent ?? event.agent);
          return;
        }
        const known = this.#turns.get(event.data.step);
        if (known !== undefined) {
          this.#owners.set(event.seq, known); // Repeated after another worker took over.
          return;
        }
        this.#turns.set(event.data.step, event.seq);
        this.#add('turn', event.seq, event.agent);
        return;
      }
      case 'tool.start': {
        const step = this.#model.stepOf(event.seq);
        const turn = step?.model === undefined ? undefined : this.#turns.get(step.index);
        if (turn === undefined) this.#add('call', event.seq, event.agent);
        else this.#owners.set(event.seq, turn);
        return;
      }
      case 'agent.start':
        if (event.agent?.includes('/') !== true) return;
        this.#add('agent', event.seq, event.agent.slice(0, event.agent.lastIndexOf('/')));
        this.#agents.set(event.agent, event.seq);
        return;
      case 'score':
        if (event.span === undefined) this.#add('score', event.seq, undefined);
        return;
      case 'rollout.end':
        if (event.data.error !== undefined) this.#add('end', event.seq, undefined);
        return;
      default:
    }
  }

  /** Returns whether a message has its own row: turns and calls show the others. */
  #isAlone({ seq, span, data }: EventOf<'message'>): boolean {
    if (data.origin === 'edited' && this.#model.message(data.m)?.editOf !== undefined) return false;
    if (data.origin === 'sampled') return this.#model.span(span ?? seq)?.kind !== 'model';
    if (data.origin !== 'tool') return true;
    return !data.parts.some((part) => part.type === 'tool_call_response' && this.#model.call(part.id) !== undefined);
  }

  #add(kind: TranscriptRow['kind'], seq: number, path: string | undefined): void {
    const inside = this.#inside(path ?? '');
    const depth = inside === 0 ? 0 : (this.#rows[placeOf(this.#rows, inside)]?.depth ?? 0) + 1;
    this.#rows.push({ kind, seq, depth, inside });
  }

  #inside(path: string): number {
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const seq = this.#agents.get(path.slice(0, end));
      if (seq !== undefined) return seq;
    }
    return 0;
  }
}

/** Returns the index of the last row that does not start after `seq`; −1 if all do. */
export function placeOf(rows: readonly { readonly seq: number; readonly at?: number }[], seq: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if ((row?.at ?? row?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
