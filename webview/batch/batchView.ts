/**
 * The shared state of the batch page: the order of the rows, the filter, the cursor, and the counts.
 */
import { z } from 'zod';
import { Emitter, type Listen } from '../../src/common/emitter.ts';
import { errorText, StudioError } from '../../src/common/errors.ts';
import { inSlices } from '../../src/common/piecewise.ts';
import { causeOf } from '../../src/trace/cause.ts';
import { attemptCount, type Outcome } from '../../src/trace/outcome.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { scenarioOfTask } from '../../src/trace/task.ts';
import type { BatchData } from '../data/batchData.ts';
import { inWorkspace, recall, recallUnchecked, remember } from '../host/memory.ts';
import { AttemptRecords } from './attempt/record/attemptRecords.ts';
import { celTest } from './celTest.ts';
import type { Figures } from './figures/figures.ts';
import { FiguresTask } from './figures/figuresTask.ts';
import { GroupsModel } from './groups/groupsModel.ts';
import { arrange, GROUPS, type GridRow, type Group, SORTS, type Sort } from './model/arrange.ts';
import { COLUMNS_KEY, type ColumnChoice, type ColumnId, columnChoice } from './model/columns.ts';
import { type FilterPart, parseFilter, type RowTest } from './model/filter.ts';
import { Matches } from './model/matches.ts';
import { type Cursor, sameCursor } from './model/move.ts';
import { absentColumns } from './model/rowTexts.ts';
import { TaskBook } from './model/taskBook.ts';
import { type Counts, doneOf, noCounts, outcomeAt, sureAttempts, type TaskFacts } from './model/taskFacts.ts';

/** One attempt of one task: position of the task, number of the attempt. */
export interface CellAt {
  readonly index: number;
  readonly attempt: number;
}

const choices = z.object({ sort: z.enum(SORTS), group: z.enum(GROUPS) });
/** Minimum interval for reordering a running batch. It is not reordered while the user works in the grid. */
const REORDER_MS = 2000;
const BUSY_MS = 5000;
/** Reordering may take at most one part in this many of the time. */
const ORDER_SHARE = 10;
/** Time slice for filtering many rows: a frame has 16 ms. */
const SLICE_MS = 8;

export class BatchView {
  readonly data: BatchData;
  filter = '';
  /** Parts of the filter, if it consists of parts. */
  parts: readonly FilterPart[] = [];
  /** The error in the filter. */
  problem: string | undefined;
  readonly hidden = new Set<Outcome>();
  readonly folded = new Set<string>();
  /** The columns after the cells. */
  columns: ColumnChoice = columnChoice(recallUnchecked(inWorkspace(COLUMNS_KEY)));
  sort: Sort = 'task';
  group: Group = 'none';
  rows: readonly GridRow[] = [];
  /** Number of attempts that match the filter and the outcomes. */
  left = 0;
  cursor: Cursor | undefined;
  hover: CellAt | undefined;
  /** The cause that the pointer rests on: attempts with another one fade. */
  causeHover: string | undefined;
  /** Length of the longest task name. */
  longest = 0;
  /** Increases when the filter or the outcomes change the matching attempts. */
  filterVersion = 0;
  /** An attempt pinned in the detail pane, whatever the pointer is over. */
  kept: CellAt | undefined;
  /** The events of the attempts that were shown last. */
  readonly attemptRecords = new AttemptRecords();
  readonly groups = new GroupsModel(this, () => this.#changed.fire(undefined));
  readonly #changed = new Emitter<undefined>();
  readonly #pointed = new Emitter<undefined>();
  readonly #listening: { dispose(): void };
  readonly #book = new TaskBook();
  readonly #figuring: FiguresTask;
  #counts: Counts = noCounts();
  #matches: Matches | undefined;
  #filtering: AbortController | undefined;
  #seen = -1;
  #countedAt = -Infinity;
  #named = 0;
  #ordered = { at: -Infinity, cost: 0, tasks: -1 };
  #recordsTested = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
  #pointerIn = false;
  #keyAt = -Infinity;
  #remembered = false;

  constructor(data: BatchData) {
    this.data = data;
    this.#figuring = new FiguresTask(
      data,
      () => this.#counts,
      () => this.#changed.fire(undefined),
    );
    this.#listening = data.changed(() => this.#dataChanged());
  }

  /** Fired after the rows, their order, or the filter changed; at most about a dozen times a second. */
  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);
  /** Fired after the cursor moved, the pointer entered another attempt, or an attempt was pinned. */
  readonly pointed: Listen<undefined> = (listener) => this.#pointed.event(listener);

  /** Figures over all rows, updated with a delay; undefined while rows are loaded for the first time. */
  get figures(): Figures | undefined {
    return this.#figuring.latest;
  }

  /**
   * Counts of all attempts by outcome, ignoring the filter: of the same moment as the figures, so that a page never
   * shows two moments at once.
   */
  get counts(): Counts {
    return this.figures?.counts ?? this.#counts;
  }

  get tasks(): number {
    return Math.max(this.data.row?.tasks ?? 0, this.data.tasks.length, this.data.records.length);
  }

  get width(): number {
    return this.data.width;
  }

  get attempts(): number {
    const { row } = this.data;
    // A batch that rescores a part of another one has not every attempt of its tasks, and groups differ in size.
    const isFixed = row?.rescores === undefined && row?.groups === undefined && row?.adaptive === undefined;
    return isFixed ? this.tasks * this.width : attemptCount(row);
  }

  get filtered(): boolean {
    return this.#matches !== undefined || this.hidden.size > 0;
  }

  /** Whether a task has this attempt: with `attempts.until`, it gets those after the first only if it needs them. */
  has(index: number, attempt: number): boolean {
    const { row } = this.data;
    return row?.adaptive === undefined || attempt <= sureAttempts(row) || this.row(index, attempt) !== undefined;
  }

  row(index: number, attempt: number): RolloutRow | undefined {
    return this.data.tasks[index]?.attempts[attempt - 1];
  }

  taskName(index: number): string {
    return this.data.tasks[index]?.task ?? this.data.records[index]?.id ?? `task ${index + 1}`;
  }

  /** Columns that would be empty in every row. */
  get absentColumns(): ReadonlySet<ColumnId> {
    const { row } = this.data;
    const absent = absentColumns(this.data, this.tasks);
    if (row?.imported === true && this.figures?.report.ms === null) absent.add('time');
    return absent;
  }

  arrangeColumns(choice: ColumnChoice): void {
    this.columns = choice;
    remember(inWorkspace(COLUMNS_KEY), choice);
    this.#changed.fire(undefined);
  }

  level(index: number): string | undefined {
    const level = this.data.records[index]?.level;
    return level === undefined ? undefined : String(level);
  }

  scenario(index: number): string | undefined {
    return scenarioOfTask(this.data.records[index]);
  }

  /** Returns a number that changes with every row of the task. */
  stamp(index: number): number {
    return this.facts(index).stamp;
  }

  facts(index: number): TaskFacts {
    return this.#book.of(index);
  }

  /** Returns whether this attempt matches the filter and the outcomes. */
  shows(row: RolloutRow | undefined): boolean {
    if (this.hidden.has(outcomeAt(row))) return false;
    return this.#matches === undefined || (row !== undefined && this.#matches.has(row));
  }

  /** The attempt in the detail pane. */
  get shown(): CellAt | undefined {
    return this.kept ?? this.hover ?? (this.cursor?.on === 'cell' ? this.cursor : undefined);
  }

  setFilter(text: string): void {
    if (text === this.filter) return;
    this.filter = text;
    this.#filtering?.abort();
    const ended = (this.#filtering = new AbortController());
    void this.#filterBy(text, ended.signal);
    this.#changed.fire(undefined);
  }

  toggleOutcome(outcome: Outcome): void {
    if (!this.hidden.delete(outcome)) this.hidden.add(outcome);
    this.#order();
  }

  /** Shows only this outcome, or all outcomes if it is already the only one. */
  onlyOutcome(outcome: Outcome, all: readonly Outcome[]): void {
    const others = all.filter((other) => other !== outcome);
    const alone = !this.hidden.has(outcome) && others.every((other) => this.hidden.has(other));
    this.hidden.clear();
    if (!alone) for (const other of others) this.hidden.add(other);
    this.#order();
  }

  showAll(): void {
    this.hidden.clear();
    this.setFilter('');
    this.#order();
  }

  arrangeBy(choice: { readonly sort?: Sort; readonly group?: Group }): void {
    this.sort = choice.sort ?? this.sort;
    this.group = choice.group ?? this.group;
    if (this.data.row !== undefined) remember(`batch.${this.data.row.name}`, { sort: this.sort, group: this.group });
    this.#order();
  }

  /** Shows the verdicts of a scorer instead of the rewards. */
  judgeBy(scorer: string): void {
    this.data.judgeBy(scorer);
    this.#order();
  }

  fold(key: string, folded = !this.folded.has(key)): void {
    if (folded) this.folded.add(key);
    else this.folded.delete(key);
    this.#order();
  }

  moveTo(cursor: Cursor | undefined): void {
    if (sameCursor(cursor, this.cursor)) return;
    this.cursor = cursor;
    this.#pointed.fire(undefined);
  }

  pointAt(cell: CellAt | undefined): void {
    if (cell?.index === this.hover?.index && cell?.attempt === this.hover?.attempt) return;
    this.hover = cell;
    this.#pointed.fire(undefined);
  }

  pointCause(text: string | undefined): void {
    if (text === this.causeHover) return;
    this.causeHover = text;
    this.#pointed.fire(undefined);
  }

  /** Returns whether the pointer rests on another cause than that of this attempt. */
  fades(row: RolloutRow | undefined): boolean {
    return this.causeHover !== undefined && (row === undefined || causeOf(row)?.text !== this.causeHover);
  }

  /** Pins an attempt in the detail pane, or unpins it. */
  keep(cell: CellAt | undefined): void {
    const same = cell !== undefined && this.kept?.index === cell.index && this.kept.attempt === cell.attempt;
    this.kept = same ? undefined : cell;
    this.#pointed.fire(undefined);
  }

  /** Prevents reordering while the pointer is over the grid. */
  pointer(inside: boolean): void {
    if (this.#pointerIn === inside) return;
    this.#pointerIn = inside;
    if (!inside) this.#dataChanged();
  }

  /** Prevents reordering after a key, and shows the cursor's attempt until the pointer moves again. */
  keyed(): void {
    this.#keyAt = performance.now();
    this.hover = undefined;
  }

  close(): void {
    this.#listening.dispose();
    this.#filtering?.abort();
    this.#figuring.close();
    clearTimeout(this.#later);
    this.data.close();
  }

  async #filterBy(text: string, signal: AbortSignal): Promise<void> {
    const stopped = (): boolean => signal.aborted;
    const parsed = parseFilter(text);
    let test: RowTest | undefined;
    try {
      if (parsed.kind === 'problem') throw new StudioError('usage', `${parsed.text}.`);
      if (parsed.kind === 'cel') test = await celTest(parsed.text);
      else if (parsed.parts.length > 0) test = (row, task) => parsed.parts.every((part) => part.test(row, task));
    } catch (error) {
      if (stopped()) return;
      this.problem = error instanceof Error ? error.message : errorText(error); // keep the previous result
      this.#changed.fire(undefined);
      return;
    }
    this.#recordsTested = this.data.records.length;
    const matches = test === undefined ? undefined : new Matches(test, (index) => this.data.records[index], this.width);
    try {
      if (matches !== undefined) await inSlices(matches.warm(this.data.rows()), SLICE_MS, signal);
    } catch (error) {
      if (StudioError.is(error, 'cancelled')) return;
      throw error;
    }
    this.problem = undefined;
    this.parts = parsed.kind === 'parts' ? parsed.parts : [];
    this.#matches = matches;
    this.#order();
  }

  #dataChanged(): void {
    this.#recall();
    const now = performance.now();
    this.#testAgain();
    if (this.data.version !== this.#seen || this.tasks !== this.#ordered.tasks) this.#count(now);
    this.#figuring.look();
    this.#reorder(now);
  }

  #reorder(now: number): void {
    // While a batch is loading, and when tasks were added, reordering does not disturb.
    const filling = this.data.loading === 'loading' || this.tasks !== this.#ordered.tasks;
    const busy = !filling && (this.#pointerIn || now - this.#keyAt < BUSY_MS);
    const wait = this.#ordered.at + Math.max(filling ? 0 : REORDER_MS, this.#ordered.cost * ORDER_SHARE) - now;
    const old = this.#ordered.at < this.#countedAt || filling;
    if (old && !busy && wait <= 0) {
      this.#order();
      return;
    }
    if (old && !this.#pointerIn) this.#again(Math.max(wait, busy ? this.#keyAt + BUSY_MS - now : 0, 50));
    this.#changed.fire(undefined);
  }

  /** Reapplies the filter once questions and levels are loaded: they arrive after the rows. */
  #testAgain(): void {
    const { length } = this.data.records;
    if (this.#matches === undefined || length === this.#recordsTested || length < this.tasks) return;
    this.#recordsTested = length;
    this.#filtering?.abort();
    const ended = (this.#filtering = new AbortController());
    void this.#filterBy(this.filter, ended.signal);
  }

  #again(wait: number): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#dataChanged();
    }, wait);
  }

  /** Number of ended attempts; 0 until the first rows were counted. */
  get done(): number {
    return doneOf(this.counts);
  }

  #count(now: number): void {
    const { data } = this;
    this.#seen = data.version;
    this.#countedAt = now;
    this.#book.update(
      data.changedTasks,
      data.tasks,
      data.row?.adaptive === undefined ? this.width : sureAttempts(data.row),
    );
    for (const index of data.changedTasks) this.longest = Math.max(this.longest, this.taskName(index).length);
    data.changedTasks.clear();
    for (; this.#named < data.records.length; this.#named++)
      this.longest = Math.max(this.longest, this.taskName(this.#named).length);
    const { counts } = this.#book;
    const counted = Object.values(counts).reduce((sum, count) => sum + count, 0);
    this.#counts = { ...counts, queued: counts.queued + Math.max(0, this.attempts - counted) };
  }

  #order(): void {
    const began = performance.now();
    if (this.data.version !== this.#seen) this.#count(began);
    this.left = 0;
    this.filterVersion += 1;
    const showsAny = (index: number): boolean => {
      let any = 0;
      for (let attempt = 1; attempt <= this.width; attempt++)
        if (this.has(index, attempt) && this.shows(this.row(index, attempt))) any += 1;
      this.left += any;
      return any > 0;
    };
    this.rows = arrange({
      tasks: this.tasks,
      facts: (index) => this.facts(index),
      level: (index) => this.level(index),
      scenario: (index) => this.scenario(index),
      spread: (index) => this.groups.of(index).spread,
      ...(this.filtered ? { shown: showsAny } : {}),
      sort: this.sort,
      group: this.group,
      folded: this.folded,
    });
    if (!this.filtered) this.left = this.attempts;
    const done = performance.now();
    this.#ordered = { at: done, cost: done - began, tasks: this.tasks };
    this.#changed.fire(undefined);
  }

  /** Restores the choices for batches of this name. */
  #recall(): void {
    if (this.#remembered || this.data.row === undefined) return;
    this.#remembered = true;
    this.groups.recall(this.data.row.name);
    const kept = recall(`batch.${this.data.row.name}`, choices);
    if (kept !== undefined) ({ sort: this.sort, group: this.group } = kept);
  }
}
