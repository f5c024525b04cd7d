/** Rows that say the same one after the other are shown as one, until somebody opens it. */
import { isSameJson, type Json } from '../../../src/common/json.ts';
import { textOf } from '../../../src/trace/model/messages.ts';
import type { ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { isFinal, type Row, StepRows } from './rows.ts';

/** Fewer equal rows than these stay as they are. */
const FOLD_FROM = 3;

export interface Fold {
  /** Rows in it. */
  readonly count: number;
  readonly open: boolean;
}

/** One after another of rows that grow at their end; costs as much as came since the last time. */
export class Folds {
  readonly #model: TrajectoryModel;
  /** seqs of the first rows of folds that are open. */
  readonly #opened: Set<number>;
  #rows: readonly Row[] = [];
  /** Whether row i says the same as row i − 1, of rows that do not change any more. */
  readonly #same: boolean[] = [];
  #shown: Row[] = [];
  /** By row: where it stands among those that are shown. */
  #place: number[] = [];
  /** By first row of a fold. */
  readonly #folds = new Map<Row, Fold>();
  /** Up to here nothing changes unless a fold is opened or closed: a row that begins a run, and its place. */
  #kept = { row: 0, shown: 0 };
  #taken = -1;
  #stable = 0;

  constructor(model: TrajectoryModel, opened = new Set<number>()) {
    this.#model = model;
    this.#opened = opened;
  }

  /**
   * The rows that are shown of all rows: the list of before, grown, or another one. The first `stable` of them stay
   * where they are.
   */
  shown(rows: readonly Row[], stable = rows.length): readonly Row[] {
    this.#stable = stable;
    if (rows !== this.#rows) {
      this.#rows = rows;
      this.#same.length = 0;
      this.#restart();
    }
    if (this.#taken !== this.#model.last) {
      this.#taken = this.#model.last;
      this.#build();
    }
    return this.#shown;
  }

  /** Where row `index` of all stands among the shown; in a closed fold, where that stands. */
  placeOf(index: number): number {
    return this.#place[index] ?? -1;
  }

  /** The fold that a row is the first of. */
  foldOf(row: Row): Fold | undefined {
    return this.#folds.get(row);
  }

  /** Opens or closes the fold that row `index` of all is in. Tells whether that changed anything. */
  open(index: number, open: boolean): boolean {
    const first = this.#shown[this.placeOf(this.#firstOf(index))];
    if (first === undefined || this.#folds.get(first) === undefined || this.#opened.has(first.seq) === open)
      return false;
    if (open) this.#opened.add(first.seq);
    else this.#opened.delete(first.seq);
    this.#restart();
    return true;
  }

  /** Index of the first row of the run that a row is in. */
  firstOf(index: number): number {
    return this.#firstOf(index);
  }

  #firstOf(index: number): number {
    let first = index;
    while (first > 0 && this.#isSame(first)) first -= 1;
    return first;
  }

  #restart(): void {
    this.#kept = { row: 0, shown: 0 };
    this.#folds.clear();
    this.#shown = [];
    this.#place = [];
    this.#taken = -1;
  }

  #build(): void {
    const rows = this.#rows;
    this.#shown.length = this.#kept.shown;
    this.#place.length = this.#kept.row;
    let from = this.#kept.row;
    while (from < rows.length) {
      let to = from + 1;
      while (to < rows.length && this.#isSame(to)) to += 1;
      const settled = to < rows.length && this.#same.length > to;
      this.#run(rows.slice(from, to));
      from = to;
      if (settled) this.#kept = { row: from, shown: this.#shown.length };
    }
  }

  #run(run: readonly Row[]): void {
    const [first] = run;
    if (first === undefined) return;
    const folded = run.length >= FOLD_FROM;
    const open = this.#opened.has(first.seq);
    if (folded) this.#folds.set(first, { count: run.length, open });
    else this.#folds.delete(first);
    for (const [i, row] of run.entries()) {
      if (i === 0 || !folded || open) this.#shown.push(row);
      this.#place.push(this.#shown.length - 1);
    }
  }

  #isSame(index: number): boolean {
    const known = this.#same[index];
    if (known !== undefined) return known;
    const [before, row] = [this.#rows[index - 1], this.#rows[index]];
    const same = before !== undefined && row !== undefined && isSameRow(this.#model, before, row);
    if (this.#same.length === 0) this.#same.push(false); // nothing is before the first
    // In order: only what nothing can change any more is remembered.
    if (
      this.#same.length === index &&
      index < this.#stable &&
      before !== undefined &&
      row !== undefined &&
      isSettled(this.#model, before, row)
    )
      this.#same.push(same);
    return same;
  }
}

/** Whether two rows stay equal or different: those of different kinds do, and those that are never equal. */
function isSettled(model: TrajectoryModel, a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.depth !== b.depth || (a.kind !== 'step' && a.kind !== 'call')) return true;
  return isFinal(model, a) && isFinal(model, b);
}

/** Equal calls with equal outcomes, and logs with equal text; everything else stands for itself. */
function isSameRow(model: TrajectoryModel, a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.depth !== b.depth || (a.call === undefined) !== (b.call === undefined)) return false;
  const [x, y] = [model.span(StepRows.cursorOf(a)), model.span(StepRows.cursorOf(b))];
  if (x?.kind === 'tool' && y?.kind === 'tool')
    return isSameCall(model, x, y) && (a.call === undefined || saidWith(model, x) === saidWith(model, y));
  if (a.kind !== 'log') return false;
  const [one, other] = [model.event(a.seq), model.event(b.seq)];
  return one?.kind === 'log' && other?.kind === 'log' && isSameJson(one.data as Json, other.data as Json);
}

function isSameCall(model: TrajectoryModel, a: ToolSpan, b: ToolSpan): boolean {
  const [end, other] = [a.end?.data, b.end?.data];
  if (a.start.data.name !== b.start.data.name || a.agent !== b.agent || end === undefined || other === undefined)
    return false;
  if (
    end.status !== other.status ||
    end.error?.message !== other.error?.message ||
    model.diffsOf(a.seq).length + model.diffsOf(b.seq).length > 0
  )
    return false;
  return (
    isSameJson(model.argumentsOf(a).value, model.argumentsOf(b).value) &&
    isSameJson(model.resultOf(a)?.value, model.resultOf(b)?.value)
  );
}

/** What the model wrote beside a call that is shown with it. */
function saidWith(model: TrajectoryModel, span: ToolSpan): string {
  const m = model.step(span.step)?.model?.end?.data.m;
  const entry = m === undefined ? undefined : model.message(m);
  return entry === undefined ? '' : textOf(entry.event.data.parts);
}
