/**
 * Loads the tasks and attempts of a batch page by page and keeps them up to date with live rows.
 */
import type { RolloutPage } from '../../../protocol/client.ts';
import type { RolloutRow } from '../../../trace/summary.ts';
import { scenarioOfTask, type TaskRecord } from '../../../trace/task.ts';

/** The required part of `Api`. */
export interface ContentSource {
  tasks(
    batch: string,
    page: { after?: number; limit?: number },
    signal?: AbortSignal,
  ): Promise<{ tasks: TaskRecord[]; next?: number | undefined }>;
  rollouts(
    batch: string,
    page: { after?: string; limit?: number; task?: string },
    signal?: AbortSignal,
  ): Promise<RolloutPage>;
}

export interface TaskEntry {
  readonly task: string;
  readonly question: string;
  readonly level: string | number | undefined;
  /** Of its world, if that has many. */
  readonly scenario: string | undefined;
  /** The newest existing try of each attempt. */
  readonly rows: Map<number, RolloutRow>;
  /** Whether all attempts were loaded. */
  complete: boolean;
  /** Cursor of the task's own pages, after it was opened. */
  next: string | undefined;
}

const TASKS_PER_PAGE = 100;
const ROWS_PER_CALL = 1000;
/** Maximum requests for the attempts of one page of tasks. The rest is loaded when a task is opened. */
const CALLS_PER_PAGE = 5;
const ATTEMPTS_PER_PAGE = 200;

export class BatchContents {
  readonly tasks: TaskEntry[] = [];
  readonly #batch: string;
  readonly #byTask = new Map<string, TaskEntry>();
  /** Loaded rows, including those of tasks that are not listed yet. */
  readonly #rows = new Map<string, Map<number, RolloutRow>>();
  /** Index of the task up to which rows were loaded (exclusive). */
  #loadedTo = 0;
  #nextTasks: number | undefined = undefined;
  #nextRows: string | undefined = undefined;
  #started = false;
  #loading: Promise<void> | undefined = undefined;

  constructor(batch: string) {
    this.#batch = batch;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Whether there are more tasks to load. */
  get more(): boolean {
    return !this.#started || this.#nextTasks !== undefined;
  }

  entry(task: string): TaskEntry | undefined {
    return this.#byTask.get(task);
  }

  /** Loads the next page of tasks with their attempts. Concurrent calls share one page. */
  loadMore(source: ContentSource, signal?: AbortSignal): Promise<void> {
    this.#loading ??= this.#load(source, signal).finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load(source: ContentSource, signal: AbortSignal | undefined): Promise<void> {
    if (!this.more) return;
    const page = await source.tasks(
      this.#batch,
      { limit: TASKS_PER_PAGE, ...(this.#nextTasks === undefined ? {} : { after: this.#nextTasks }) },
      signal,
    );
    for (const task of page.tasks) {
      const { id, question, level } = task;
      const entry: TaskEntry = {
        ...{ task: id, question, level, scenario: scenarioOfTask(task), rows: this.#rowsOf(id) },
        complete: false,
        next: undefined,
      };
      this.#byTask.set(id, entry);
      this.tasks.push(entry);
    }
    this.#nextTasks = page.next;
    this.#started = true;
    await this.#loadRows(source, signal);
  }

  /** Loads rows, which are ordered by task, up to the listed tasks. */
  async #loadRows(source: ContentSource, signal: AbortSignal | undefined): Promise<void> {
    for (let calls = 0; calls < CALLS_PER_PAGE && this.#loadedTo < this.tasks.length; calls++) {
      const page = await source.rollouts(
        this.#batch,
        { limit: ROWS_PER_CALL, ...(this.#nextRows === undefined ? {} : { after: this.#nextRows }) },
        signal,
      );
      this.#nextRows = page.next;
      this.#loadedTo = page.next === undefined ? Infinity : (page.rollouts.at(-1)?.task_index ?? this.#loadedTo);
      this.apply(page.rollouts);
    }
    for (const entry of this.tasks.slice(0, this.#loadedTo)) entry.complete = true;
  }

  /**
   * Loads the attempts of a task in separate pages, if necessary. `more` loads the next page. Returns whether there are
   * others.
   */
  async loadTask(source: ContentSource, task: string, more = false, signal?: AbortSignal): Promise<boolean> {
    const entry = this.#byTask.get(task);
    if (entry === undefined || entry.complete) return false;
    if (entry.next !== undefined && !more) return true;
    const page = await source.rollouts(
      this.#batch,
      { task, limit: ATTEMPTS_PER_PAGE, ...(entry.next === undefined ? {} : { after: entry.next }) },
      signal,
    );
    this.apply(page.rollouts);
    entry.next = page.next;
    entry.complete = page.next === undefined;
    return !entry.complete;
  }

  /** Applies newer rows and returns the listed tasks that changed. Rows of other tasks wait for their page. */
  apply(rows: readonly RolloutRow[]): Set<string> {
    const changed = new Set<string>();
    for (const row of rows) {
      const listed = this.#byTask.has(row.task);
      // The batch is still being submitted, so there are more tasks now.
      if (!listed && this.#started && row.task_index >= this.tasks.length) this.#nextTasks ??= this.tasks.length - 1;
      if (!listed && row.task_index > this.#loadedTo) continue;
      const existing = this.#rowsOf(row.task).get(row.attempt);
      if (existing !== undefined && (existing.try > row.try || (existing.try === row.try && existing.rev > row.rev)))
        continue;
      this.#rowsOf(row.task).set(row.attempt, row);
      if (listed) changed.add(row.task);
    }
    return changed;
  }

  #rowsOf(task: string): Map<number, RolloutRow> {
    let rows = this.#rows.get(task);
    if (rows === undefined) this.#rows.set(task, (rows = new Map<number, RolloutRow>()));
    return rows;
  }

  rollout(task: string, rollout: string): RolloutRow | undefined {
    for (const row of this.#rows.get(task)?.values() ?? []) if (row.rollout === rollout) return row;
    return undefined;
  }
}

/** Returns the attempts of a task in order. */
export function attemptsOf(entry: TaskEntry): RolloutRow[] {
  return [...entry.rows.values()].sort((a, b) => a.attempt - b.attempt);
}
