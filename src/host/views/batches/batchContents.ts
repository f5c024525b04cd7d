/**
 * Tasks and attempts of one batch, read page by page as far as somebody looks, and kept up to date by rows that come
 * live.
 */
import type { RolloutPage } from '../../../protocol/client.ts';
import type { RolloutRow } from '../../../trace/summary.ts';
import type { TaskRecord } from '../../../trace/task.ts';

/** Where pages come from: the server, as `Api` has it. */
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
  /** The newest try of each attempt that is known. */
  readonly rows: Map<number, RolloutRow>;
  /** Whether all its attempts are known. */
  complete: boolean;
  /** Cursor of its own pages, once it was opened. */
  next: string | undefined;
}

const TASKS_PER_PAGE = 100;
const ROWS_PER_CALL = 1000;
/** Calls for the attempts of one page of tasks; what lies beyond is read when a task is opened. */
const CALLS_PER_PAGE = 5;
const ATTEMPTS_PER_PAGE = 200;

export class BatchContents {
  readonly tasks: TaskEntry[] = [];
  readonly #batch: string;
  readonly #byTask = new Map<string, TaskEntry>();
  /** Rows that were read, also those of tasks whose page was not. */
  readonly #rows = new Map<string, Map<number, RolloutRow>>();
  /** Position of the task up to whose beginning rows were read. */
  #rowsThrough = 0;
  #nextTasks: number | undefined = undefined;
  #nextRows: string | undefined = undefined;
  #begun = false;
  #loading: Promise<void> | undefined = undefined;

  constructor(batch: string) {
    this.#batch = batch;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** Whether there are tasks that were not read. */
  get more(): boolean {
    return !this.#begun || this.#nextTasks !== undefined;
  }

  entry(task: string): TaskEntry | undefined {
    return this.#byTask.get(task);
  }

  /** The next page of tasks with their attempts. Two who ask at once get the same page. */
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
    for (const { id, question, level } of page.tasks) {
      const entry: TaskEntry = { task: id, question, level, rows: this.#rowsOf(id), complete: false, next: undefined };
      this.#byTask.set(id, entry);
      this.tasks.push(entry);
    }
    this.#nextTasks = page.next;
    this.#begun = true;
    await this.#loadRows(source, signal);
  }

  /** Rows come in the order of tasks: they are read on to where the tasks are. */
  async #loadRows(source: ContentSource, signal: AbortSignal | undefined): Promise<void> {
    for (let calls = 0; calls < CALLS_PER_PAGE && this.#rowsThrough < this.tasks.length; calls++) {
      const page = await source.rollouts(
        this.#batch,
        { limit: ROWS_PER_CALL, ...(this.#nextRows === undefined ? {} : { after: this.#nextRows }) },
        signal,
      );
      this.#nextRows = page.next;
      this.#rowsThrough = page.next === undefined ? Infinity : (page.rollouts.at(-1)?.task_index ?? this.#rowsThrough);
      this.apply(page.rollouts);
    }
    for (const entry of this.tasks.slice(0, this.#rowsThrough)) entry.complete = true;
  }

  /**
   * A task's attempts, by pages of its own, where they are not known yet; `more`: the next page. Gives whether there
   * are others.
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

  /** Puts newer rows in; gives the listed tasks that changed. What no page has come to yet is left for its page. */
  apply(rows: readonly RolloutRow[]): Set<string> {
    const changed = new Set<string>();
    for (const row of rows) {
      const listed = this.#byTask.has(row.task);
      // A batch that is still being sent: there are tasks behind those that were its last.
      if (!listed && this.#begun && row.task_index >= this.tasks.length) this.#nextTasks ??= this.tasks.length - 1;
      if (!listed && row.task_index > this.#rowsThrough) continue;
      const known = this.#rowsOf(row.task).get(row.attempt);
      if (known !== undefined && (known.try > row.try || (known.try === row.try && known.rev > row.rev))) continue;
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

/** A task's attempts in their order. */
export function attemptsOf(entry: TaskEntry): RolloutRow[] {
  return [...entry.rows.values()].sort((a, b) => a.attempt - b.attempt);
}
