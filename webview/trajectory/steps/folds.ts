/** Groups of rows: consecutive equal rows, folded until the user expands them, and scores with their checks. */
import { isSameJson, type Json } from '../../../src/common/json.ts';
import { textOf } from '../../../src/trace/model/messages.ts';
import type { ToolSpan } from '../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { isFinal, type Row, StepRows } from './rows.ts';

/** Minimum number of equal rows to fold. */
const FOLD_FROM = 3;

export interface Fold {
  /** Number of rows. */
  readonly count: number;
  readonly open: boolean;
}

/** Maintains the folds of a growing list. The cost of an update depends only on the number of new rows. */
export class Folds {
  readonly #model: TrajectoryModel;
  /** seqs of the first rows of groups that the user expanded or collapsed. */
  readonly #toggled: Set<number>;
  #rows: readonly Row[] = [];
  /** Whether row i equals row i − 1, for rows that no longer change. */
  readonly #same: boolean[] = [];
  #visible: Row[] = [];
  /** Index in the visible rows, by row. */
  #place: number[] = [];
  /** By the first row of the fold. */
  readonly #folds = new Map<Row, Fold>();
  /**
   * The start of the last run that may change, as indexes in all and in the visible rows. Everything before changes
   * only when a fold is expanded or collapsed.
   */
  #settled = { row: 0, shown: 0 };
  #processed = -1;
  #stable = 0;

  constructor(model: TrajectoryModel, toggled = new Set<number>()) {
    this.#model = model;
    this.#toggled = toggled;
  }

  /**
   * Returns the visible rows. `rows`: all rows, either the previous list with rows appended, or another list. The first
   * `stable` rows no longer change.
   */
  shown(rows: readonly Row[], stable = rows.length): readonly Row[] {
    this.#stable = stable;
    if (rows !== this.#rows) {
      this.#rows = rows;
      this.#same.length = 0;
      this.#restart();
    }
    if (this.#processed !== this.#model.last) {
      this.#processed = this.#model.last;
      this.#build();
    }
    return this.#visible;
  }

  /** Returns the index of row `index` in the visible rows; in a collapsed fold, that of its first row. */
  placeOf(index: number): number {
    return this.#place[index] ?? -1;
  }

  /** Returns the fold that starts with a row. */
  foldOf(row: Row): Fold | undefined {
    return this.#folds.get(row);
  }

  /** Expands or collapses the fold around row `index`. Returns whether anything changed. */
  open(index: number, open: boolean): boolean {
    const first = this.#visible[this.placeOf(this.#firstOf(index))];
    const fold = first === undefined ? undefined : this.#folds.get(first);
    if (first === undefined || fold === undefined || fold.open === open) return false;
    if (!this.#toggled.delete(first.seq)) this.#toggled.add(first.seq);
    this.#restart();
    return true;
  }

  /** Returns the index of the first row in the run of a row. */
  firstOf(index: number): number {
    return this.#firstOf(index);
  }

  #firstOf(index: number): number {
    let first = index;
    while (first > 0 && this.#isSame(first)) first -= 1;
    return first;
  }

  #restart(): void {
    this.#settled = { row: 0, shown: 0 };
    this.#folds.clear();
    this.#visible = [];
    this.#place = [];
    this.#processed = -1;
  }

  #build(): void {
    const rows = this.#rows;
    this.#visible.length = this.#settled.shown;
    this.#place.length = this.#settled.row;
    let from = this.#settled.row;
    while (from < rows.length) {
      let to = from + 1;
      while (to < rows.length && this.#isSame(to)) to += 1;
      const settled = to < rows.length && this.#same.length > to;
      this.#run(rows.slice(from, to));
      from = to;
      if (settled) this.#settled = { row: from, shown: this.#visible.length };
    }
  }

  #run(run: readonly Row[]): void {
    const [first] = run;
    if (first === undefined) return;
    const isScore = first.kind === 'score';
    const folded = run.length >= (isScore ? 2 : FOLD_FROM);
    const open = this.#toggled.has(first.seq) !== isScore;
    if (folded) this.#folds.set(first, { count: run.length, open });
    else this.#folds.delete(first);
    for (const [i, row] of run.entries()) {
      if (i === 0 || !folded || open) this.#visible.push(row);
      this.#place.push(this.#visible.length - 1);
    }
  }

  #isSame(index: number): boolean {
    const cached = this.#same[index];
    if (cached !== undefined) return cached;
    const [before, row] = [this.#rows[index - 1], this.#rows[index]];
    const same = before !== undefined && row !== undefined && isSameRow(this.#model, before, row);
    if (this.#same.length === 0) this.#same.push(false); // The first row has no previous one.
    // Remembered in order, and only if neither row can change.
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

/** Returns whether the comparison of two rows is final: because neither changes, or because they can never be equal. */
function isSettled(model: TrajectoryModel, a: Row, b: Row): boolean {
  if (a.kind !== b.kind || a.depth !== b.depth || (a.kind !== 'step' && a.kind !== 'call')) return true;
  return isFinal(model, a) && isFinal(model, b);
}

/**
 * Returns whether two rows are in one group: calls with equal outcomes, logs with equal text, a score and its checks.
 */
function isSameRow(model: TrajectoryModel, a: Row, b: Row): boolean {
  if (b.kind === 'check') return true;
  if (a.kind !== b.kind || a.depth !== b.depth || (a.call === undefined) !== (b.call === undefined)) return false;
  const [x, y] = [model.span(StepRows.cursorOf(a)), model.span(StepRows.cursorOf(b))];
  if (x?.kind === 'tool' && y?.kind === 'tool')
    return isSameCall(model, x, y) && (a.call === undefined || textWith(model, x) === textWith(model, y));
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

/** Returns the model's text next to a call that is shown in the same row. */
function textWith(model: TrajectoryModel, span: ToolSpan): string {
  const m = model.step(span.step)?.model?.end?.data.m;
  const entry = m === undefined ? undefined : model.message(m);
  return entry === undefined ? '' : textOf(entry.event.data.parts);
}
