/** The rows, folds, and lanes of a trajectory. Updates cost only as much as the new events. */
import { callsOf } from '../../src/trace/calls.ts';
import type { TrajectoryModel } from '../../src/trace/model.ts';
import { Lanes } from './axis/lanes.ts';
import { type Fold, Folds } from './steps/folds.ts';
import { type Filter, isFinal, isShown, type Row, StepRows } from './steps/rows.ts';

/** The user's choice of rows and folds. */
export interface Choice {
  /** Kinds of visible rows; empty means all. */
  only: ReadonlySet<Filter>;
  /** Seqs of the first rows of groups that the user expanded or collapsed. */
  readonly toggled: Set<number>;
}

export class Look {
  readonly model: TrajectoryModel;
  readonly rows: StepRows;
  readonly lanes: Lanes;
  readonly #choice: Choice;
  readonly #folds: Folds;
  /** Rows of the visible kinds. Rows up to `settled` no longer change: these are the first `stable` ones. */
  #kinds:
    | { readonly only: ReadonlySet<Filter>; readonly rows: Row[]; taken: number; settled: number; stable: number }
    | undefined;

  constructor(model: TrajectoryModel, choice: Choice) {
    this.model = model;
    this.rows = new StepRows(model);
    this.lanes = new Lanes(model);
    this.#choice = choice;
    this.#folds = new Folds(model, choice.toggled);
  }

  /** Processes new events ahead of rendering. */
  advance(): void {
    this.#show();
    this.lanes.advance();
    callsOf(this.model, ''); // Builds the index.
  }

  /** Visible rows: those of the visible kinds, and only the first row of a collapsed fold. */
  get shown(): readonly Row[] {
    return this.#show();
  }

  /** Returns the index of a place in the visible rows; −1 if its row is hidden. */
  indexOf(seq: number, check?: number): number {
    const at = this.#at(seq, check);
    return at === -1 ? -1 : this.#folds.placeOf(at);
  }

  /** Returns the row that contains a place. */
  rowOf(seq: number, check?: number): Row | undefined {
    return this.rows.all[this.rows.indexOf(seq, check)];
  }

  /** Returns the fold that starts with a row. */
  foldOf(row: Row): Fold | undefined {
    return this.#folds.foldOf(row);
  }

  /** Expands or collapses the fold around a place. Returns its first row; undefined if nothing changed. */
  fold(seq: number, open: boolean): Row | undefined {
    const at = this.#at(seq);
    return at !== -1 && this.#folds.open(at, open) ? this.#ofKinds[this.#folds.firstOf(at)] : undefined;
  }

  /** Expands the fold that hides a place. */
  reveal(seq: number, check?: number): void {
    const at = this.#at(seq, check);
    if (at > 0 && at !== this.#folds.firstOf(at)) this.#folds.open(at, true);
  }

  #show(): readonly Row[] {
    const rows = this.#ofKinds;
    return this.#folds.shown(rows, this.#choice.only.size === 0 ? rows.length : this.#kinds?.stable);
  }

  /** Rows of the visible kinds, including those in folds. */
  get #ofKinds(): readonly Row[] {
    const { all } = this.rows;
    const { only } = this.#choice;
    if (only.size === 0) return all;
    if (this.#kinds?.only !== only) this.#kinds = { only, rows: [], taken: -1, settled: 0, stable: 0 };
    const kinds = this.#kinds;
    if (kinds.taken === this.model.last) return kinds.rows;
    kinds.taken = this.model.last;
    kinds.rows.length = kinds.stable;
    let settled = true;
    for (const row of all.slice(kinds.settled)) {
      if (isShown(this.model, row, only)) kinds.rows.push(row);
      settled &&= isFinal(this.model, row);
      if (!settled) continue;
      kinds.settled += 1;
      kinds.stable = kinds.rows.length;
    }
    return kinds.rows;
  }

  /** Returns the index of a place in the rows of the visible kinds. */
  #at(seq: number, check?: number): number {
    const { shown } = this; // Updates the folds.
    const at = this.rows.indexOf(seq, check);
    if (this.#choice.only.size === 0 || shown.length === 0) return at;
    const row = this.rows.all[at];
    return row === undefined ? -1 : this.#ofKinds.indexOf(row);
  }
}
