/** What the parts of the batch page share: the order of the rows, the filter, the cursor, and counts of what is shown. */
import { z } from 'zod';
import { Emitter, type Listen } from '../../src/common/emitter.ts';
import { errorText } from '../../src/common/errors.ts';
import type { Outcome } from '../../src/trace/outcome.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { BatchData } from '../data/batchData.ts';
import { recall, remember } from '../host/memory.ts';
import { celTest } from './celTest.ts';
import { arrange, GROUPS, SORTS, type GridRow, type Group, type Sort } from './model/arrange.ts';
import { parseFilter, type FilterPart, type RowTest } from './model/filter.ts';
import { Matches } from './model/matches.ts';
import { sameCursor, type Cursor } from './model/move.ts';
import { noCounts, outcomeAt, taskFacts, type TaskFacts } from './model/taskFacts.ts';

/** One attempt of one task: position of the task, number of the attempt. */
export interface CellAt {
  readonly index: number;
  readonly attempt: number;
}

const choices = z.object({ sort: z.enum(SORTS), group: z.enum(GROUPS) });
/** A running batch is put in order anew at most so often, and not while someone works in the grid. */
const REORDER_MS = 2000;
const BUSY_MS = 5000;
/** Counting may take at most this share of the time. */
const COUNT_SHARE = 10;

export class BatchView {
  readonly data: BatchData;
  filter = '';
  /** Parts of the filter, when it is made of parts. */
  parts: readonly FilterPart[] = [];
  /** What is wrong with the filter. */
  problem: string | undefined;
  readonly hidden = new Set<Outcome>();
  readonly folded = new Set<string>();
  sort: Sort = 'task';
  group: Group = 'none';
  rows: readonly GridRow[] = [];
  /** All attempts by outcome, filtered or not. */
  counts = noCounts();
  /** Attempts that the filter and the outcomes leave. */
  left = 0;
  cursor: Cursor | undefined;
  hover: CellAt | undefined;
  /** Letters of the longest name of a task. */
  longest = 0;
  /** Counts up when the filter or the outcomes change what is left. */
  asked = 0;
  /** An attempt that stays in the detail pane whatever the pointer is over. */
  kept: CellAt | undefined;
  readonly #changed = new Emitter<undefined>();
  readonly #pointed = new Emitter<undefined>();
  readonly #listening: { dispose(): void };
  #facts: { readonly stamp: number; readonly facts: TaskFacts }[] = [];
  #matches: Matches | undefined;
  #filtering: AbortController | undefined;
  #seen = -1;
  #counted = { at: -Infinity, cost: 0 };
  #ordered = { at: -Infinity, cost: 0, tasks: -1 };
  #recordsAsked = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
  #pointerIn = false;
  #keyAt = -Infinity;
  #remembered = false;

  constructor(data: BatchData) {
    this.data = data;
    this.#listening = data.changed(() => this.#dataChanged());
  }

  /** After the rows, their order or the filter changed; at most about a dozen times a second. */
  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);
  /** After the cursor moved, the pointer came to another attempt, or one was kept. */
  readonly pointed: Listen<undefined> = (listener) => this.#pointed.event(listener);

  get tasks(): number {
    return Math.max(this.data.row?.tasks ?? 0, this.data.tasks.length, this.data.records.length);
  }

  /** Columns. */
  get width(): number {
    return this.data.width;
  }

  get attempts(): number {
    return this.tasks * this.width;
  }

  get filtered(): boolean {
    return this.#matches !== undefined || this.hidden.size > 0;
  }

  row(index: number, attempt: number): RolloutRow | undefined {
    return this.data.tasks[index]?.attempts[attempt - 1];
  }

  taskName(index: number): string {
    return this.data.tasks[index]?.task ?? this.data.records[index]?.id ?? `task ${index + 1}`;
  }

  level(index: number): string | undefined {
    const level = this.data.records[index]?.level;
    return level === undefined ? undefined : String(level);
  }

  get hasLevels(): boolean {
    return this.data.records.some((record) => record.level !== undefined);
  }

  /** Changes whenever a row of the task does. */
  stamp(index: number): number {
    return this.#facts[index]?.stamp ?? 0;
  }

  facts(index: number): TaskFacts {
    return (this.#facts[index] ?? this.#factsOf(index)).facts;
  }

  /** Whether the filter and the outcomes leave this attempt. */
  shows(row: RolloutRow | undefined): boolean {
    if (this.hidden.has(outcomeAt(row))) return false;
    return this.#matches === undefined || (row !== undefined && this.#matches.has(row));
  }

  /** What the detail pane tells of. */
  get shown(): CellAt | undefined {
    return this.kept ?? this.hover ?? (this.cursor?.on === 'cell' ? this.cursor : undefined);
  }

  /** How many attempts each part of the filter leaves alone, and all others without it. */
  partCounts(): { readonly alone: readonly number[]; readonly without: readonly number[] } {
    const alone = this.parts.map(() => 0);
    const without = this.parts.map(() => 0);
    for (const row of this.data.rows()) {
      const holds = this.parts.map(({ test }) => test(row, this.data.records[row.task_index]));
      const misses = holds.filter((held) => !held).length;
      holds.forEach((held, i) => {
        if (held) alone[i] = (alone[i] ?? 0) + 1;
        if (misses === (held ? 0 : 1)) without[i] = (without[i] ?? 0) + 1;
      });
    }
    return { alone, without };
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

  /** Only this outcome; all again when it was alone already. */
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

  /** Keeps an attempt in the detail pane; the same once more lets it go. */
  keep(cell: CellAt | undefined): void {
    const same = cell !== undefined && this.kept?.index === cell.index && this.kept.attempt === cell.attempt;
    this.kept = same ? undefined : cell;
    this.#pointed.fire(undefined);
  }

  /** Rows do not move under a pointer. */
  pointer(inside: boolean): void {
    if (this.#pointerIn === inside) return;
    this.#pointerIn = inside;
    if (!inside) this.#dataChanged();
  }

  /** Nor right after a key; and what the keys come to is what is told of, until the pointer moves again. */
  keyed(): void {
    this.#keyAt = performance.now();
    this.hover = undefined;
  }

  close(): void {
    this.#listening.dispose();
    this.#filtering?.abort();
    clearTimeout(this.#later);
    this.data.close();
  }

  async #filterBy(text: string, signal: AbortSignal): Promise<void> {
    const stopped = (): boolean => signal.aborted;
    const parsed = parseFilter(text);
    let test: RowTest | undefined;
    try {
      if (parsed.kind === 'cel') test = await celTest(parsed.text);
      else if (parsed.parts.length > 0) test = (row, task) => parsed.parts.every((part) => part.test(row, task));
    } catch (error) {
      if (stopped()) return;
      this.problem = errorText(error); // what was shown before stays
      this.#changed.fire(undefined);
      return;
    }
    this.#recordsAsked = this.data.records.length;
    const matches = test === undefined ? undefined : new Matches(test, (index) => this.data.records[index]);
    await matches?.warm(this.data.rows(), signal);
    if (stopped()) return;
    this.problem = undefined;
    this.parts = parsed.kind === 'parts' ? parsed.parts : [];
    this.#matches = matches;
    this.#order();
  }

  #dataChanged(): void {
    this.#recall();
    const now = performance.now();
    this.#askAgain();
    if (this.data.version !== this.#seen || this.tasks !== this.#ordered.tasks) {
      const wait = this.#counted.at + this.#counted.cost * COUNT_SHARE - now;
      if (wait > 0) this.#again(wait);
      else this.#count(now);
    }
    this.#reorder(now);
  }

  #reorder(now: number): void {
    // While a batch is read, and when tasks were added, there is nothing yet that could move away.
    const filling = this.data.loading === 'loading' || this.tasks !== this.#ordered.tasks;
    const busy = !filling && (this.#pointerIn || now - this.#keyAt < BUSY_MS);
    const wait = this.#ordered.at + Math.max(filling ? 0 : REORDER_MS, this.#ordered.cost * COUNT_SHARE) - now;
    const old = this.#ordered.at < this.#counted.at || filling;
    if (old && !busy && wait <= 0) {
      this.#order();
      return;
    }
    if (old && !this.#pointerIn) this.#again(Math.max(wait, busy ? this.#keyAt + BUSY_MS - now : 0, 50));
    this.#changed.fire(undefined);
  }

  /** Questions and levels come after the rows: a filter that may ask for them looks again once all are there. */
  #askAgain(): void {
    const { length } = this.data.records;
    if (this.#matches === undefined || length === this.#recordsAsked || length < this.tasks) return;
    this.#recordsAsked = length;
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

  #count(now: number): void {
    this.#seen = this.data.version;
    const counts = noCounts();
    const outcomes = Object.keys(counts) as Outcome[];
    for (let index = 0; index < this.tasks; index++) {
      const { facts } = (this.#facts[index] = this.#factsOf(index));
      for (const outcome of outcomes) counts[outcome] += facts.counts[outcome];
    }
    for (let index = 0; index < this.tasks; index++) this.longest = Math.max(this.longest, this.taskName(index).length);
    this.counts = counts;
    const done = performance.now();
    this.#counted = { at: done, cost: done - now };
  }

  /** A row's revision only grows, so that their sum tells whether any row changed. */
  #factsOf(index: number): { readonly stamp: number; readonly facts: TaskFacts } {
    const task = this.data.tasks[index];
    let stamp = this.width;
    for (const row of task?.attempts ?? []) if (row !== undefined) stamp += row.rev + 1;
    const known = this.#facts[index];
    return known?.stamp === stamp ? known : { stamp, facts: taskFacts(task, this.width) };
  }

  #order(): void {
    const began = performance.now();
    if (this.data.version !== this.#seen && this.#facts.length === 0) this.#count(performance.now());
    this.left = 0;
    this.asked += 1;
    const showsAny = (index: number): boolean => {
      let any = 0;
      for (let attempt = 1; attempt <= this.width; attempt++) if (this.shows(this.row(index, attempt))) any += 1;
      this.left += any;
      return any > 0;
    };
    this.rows = arrange({
      tasks: this.tasks, facts: (index) => this.facts(index), level: (index) => this.level(index),
      ...(this.filtered ? { shown: showsAny } : {}), sort: this.sort, group: this.group, folded: this.folded,
    });
    if (!this.filtered) this.left = this.attempts;
    const done = performance.now();
    this.#ordered = { at: done, cost: done - began, tasks: this.tasks };
    this.#changed.fire(undefined);
  }

  /** What was chosen for batches of this name before. */
  #recall(): void {
    if (this.#remembered || this.data.row === undefined) return;
    this.#remembered = true;
    const kept = recall(`batch.${this.data.row.name}`, choices);
    if (kept === undefined) return;
    this.sort = kept.sort;
    this.group = kept.group;
  }
}
