/** One batch as it runs: its row, its tasks, the newest row of every attempt, its stream, its statistics. */
import { newId } from '../../src/common/ids.ts';
import { errorText } from '../../src/common/errors.ts';
import type { Listen } from '../../src/common/emitter.ts';
import { Api } from '../../src/protocol/api.ts';
import type { BatchRow, ServerInfo } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import { report } from '../../src/trace/statistics.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { Host } from '../host/host.ts';
import { Blobs } from './blobs.ts';
import { readDefinition, type Definition } from './definition.ts';
import { NoteBook } from './notes.ts';
import { Pace } from './pace.ts';
import type { Loading } from './trajectoryData.ts';

/** What one task has: the row that counts for each attempt, and older tries apart. */
export interface TaskRows {
  readonly task: string;
  readonly index: number;
  /** By attempt number − 1; undefined where nothing is known of the attempt. */
  readonly attempts: (RolloutRow | undefined)[];
}

const TASKS_AT_ONCE = 1000;
const REPORT_EVERY_MS = 500;
/** Reports may take one part in so many of the time. */
const REPORT_SHARE = 20;
const ROW_EVERY_MS = 500;
const SERVER_EVERY_MS = 2000;

export class BatchData {
  readonly batch: string;
  readonly host: Host;
  readonly api: Api;
  readonly blobs: Blobs;
  readonly notes: NoteBook;
  row: BatchRow | undefined;
  definition: Definition | undefined;
  server: ServerInfo | undefined;
  loading: Loading = 'loading';
  problem: string | undefined;
  lost = false;
  /** By `task_index`; a hole where no row came yet. */
  readonly tasks: (TaskRows | undefined)[] = [];
  /** Tries that do not count for their attempt. */
  readonly otherTries = new Map<string, RolloutRow>();
  /** The batch's own stream: control, infra, notes, its start and end. */
  readonly events: TraceEvent[] = [];
  /** Task records, by index, as far as they were read; questions and levels are in them. */
  readonly records: TaskRecord[] = [];
  readonly #pace = new Pace();
  readonly #ended = new AbortController();
  #rowsSeen = 0;
  #report: { readonly at: number; readonly wait: number; readonly seen: number; readonly report: Report } | undefined;
  #rowTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host, batch: string) {
    this.host = host;
    this.batch = batch;
    this.api = new Api(host.transport);
    this.blobs = new Blobs(this.api);
    this.notes = new NoteBook(() => this.#pace.touch());
    void this.#load();
  }

  /** After changes, at most about a dozen times a second. */
  get changed(): Listen<undefined> {
    return this.#pace.changed;
  }

  /** Counts up with every row that came: what is made of the rows is made anew when it changed. */
  get version(): number {
    return this.#rowsSeen;
  }

  get ended(): boolean {
    return this.row?.state === 'ended';
  }

  /** Attempts per task. */
  get width(): number {
    return this.row?.attempts ?? 0;
  }

  /** All rows that count, in order of task and attempt. */
  *rows(): Generator<RolloutRow> {
    for (const task of this.tasks) {
      if (task === undefined) continue;
      for (const row of task.attempts) if (row !== undefined) yield row;
    }
  }

  /** Of the rows so far; made anew at most twice a second, of a large batch as seldom as keeps the page quick, and not while it is read. */
  report(): Report {
    const now = performance.now();
    if (this.#report !== undefined && (this.loading === 'loading' || this.#report.seen === this.#rowsSeen || now - this.#report.at < this.#report.wait)) return this.#report.report;
    const made = report({
      batch: this.batch, rows: [...this.rows(), ...this.otherTries.values()],
      ...(this.row === undefined ? {} : { attempts: this.row.attempts, tasks: this.row.tasks }),
      ...(this.definition?.passesPerTask === undefined ? {} : { passesPerTask: this.definition.passesPerTask }),
    });
    const done = performance.now();
    const wait = Math.max(REPORT_EVERY_MS, (done - now) * REPORT_SHARE);
    this.#report = { at: done, wait, seen: this.#rowsSeen, report: made };
    setTimeout(() => this.#pace.touch(), wait); // rows that came meanwhile are counted then
    return made;
  }

  async note(rollout: string, label: 'bookmark' | 'note', text: string): Promise<void> {
    await this.api.commandBatch(this.batch, { command: newId('c'), verb: 'note', by: 'page', args: { rollout, label, text } });
  }

  close(): void {
    this.#ended.abort();
    this.#pace.stop();
    clearTimeout(this.#rowTimer);
  }

  async #load(): Promise<void> {
    const { signal } = this.#ended;
    try {
      await Promise.all([this.#readRow(), this.#readTasks(), this.#watchServer(), follow(this.host.openSocket, { stream: this.batch }, {
        events: (events) => {
          this.events.push(...events);
          this.notes.add(events);
          this.#changedRow();
        },
        rows: (rows) => {
          for (const row of rows) this.#take(row);
          this.#rowsSeen += rows.length;
          this.#changedRow();
        },
        head: () => {
          this.loading = 'head';
          this.#pace.touch();
        },
        lost: (lost) => {
          this.lost = lost;
          this.#pace.touch();
        },
      }, signal)]);
    } catch (error) {
      if (signal.aborted) return;
      this.loading = 'failed';
      this.problem = errorText(error);
      this.#pace.touch();
    }
  }

  #take(row: RolloutRow): void {
    let task = this.tasks[row.task_index];
    if (task === undefined) this.tasks[row.task_index] = task = { task: row.task, index: row.task_index, attempts: [] };
    const place = row.attempt - 1;
    const shown = task.attempts[place];
    if (shown === undefined || shown.rollout === row.rollout || (!shown.settles && (row.settles || row.try > shown.try))) {
      if (shown !== undefined && shown.rollout !== row.rollout) this.otherTries.set(shown.rollout, shown);
      this.otherTries.delete(row.rollout);
      task.attempts[place] = row;
    } else {
      this.otherTries.set(row.rollout, row);
    }
  }

  async #readRow(): Promise<void> {
    this.row = await this.api.batch(this.batch, this.#ended.signal);
    this.#pace.touch();
    this.definition ??= await readDefinition(this.blobs, this.row.submission);
    this.#pace.touch();
  }

  /** The batch's row follows its rollouts' at a distance. */
  #changedRow(): void {
    this.#pace.touch();
    if (this.loading === 'loading') return;
    this.#rowTimer ??= setTimeout(() => {
      this.#rowTimer = undefined;
      this.#readRow().catch(() => undefined); // the subscription tells of a server that is gone
    }, ROW_EVERY_MS);
  }

  async #readTasks(): Promise<void> {
    let after: number | undefined;
    for (;;) {
      const page = await this.api.tasks(this.batch, { limit: TASKS_AT_ONCE, ...(after === undefined ? {} : { after }) }, this.#ended.signal);
      this.records.push(...page.tasks);
      this.#pace.touch();
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /** Queue and endpoints, while the batch runs. */
  async #watchServer(): Promise<void> {
    while (!this.#ended.signal.aborted && !this.ended) {
      const asked = this.api.server(this.#ended.signal).then((info) => {
        this.server = info;
        this.#pace.touch();
      });
      await asked.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, SERVER_EVERY_MS));
    }
  }
}
