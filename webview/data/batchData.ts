/** Live data of a batch: its row, its tasks, the newest row of every attempt, and its stream. */

import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { waitingOf } from '../../src/common/waitingText.ts';
import type { BatchRow, ServerInfo } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import type { WaitingBatch } from '../../src/protocol/shares.ts';
import { EXCERPT } from '../../src/protocol/taskExcerpt.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { scenarioOfTask, type TaskRecord } from '../../src/trace/task.ts';
import { REWARD, scorersOf } from '../../src/trace/verdicts.ts';
import type { Host } from '../host/host.ts';
import { type Definition, readDefinition } from './definition.ts';
import { judgedRow, recordedRow } from './judged.ts';
import { StreamData } from './streamData.ts';

/** The rows that count for the attempts of one task. */
interface TaskRows {
  readonly task: string;
  readonly index: number;
  /** Rows by attempt number − 1; undefined before the first row of an attempt arrives. */
  readonly attempts: (RolloutRow | undefined)[];
}

const TASKS_PAGE = 1000;
const ROW_INTERVAL_MS = 500;
const SERVER_INTERVAL_MS = 2000;

export class BatchData extends StreamData {
  readonly batch: string;
  row: BatchRow | undefined;
  definition: Definition | undefined;
  server: ServerInfo | undefined;
  /** Why the batch, or a part of it, waits; undefined if it does not, or if the server does not say. */
  waiting: WaitingBatch | undefined;
  /** Tasks by `task_index`; undefined before their first row arrives. */
  readonly tasks: (TaskRows | undefined)[] = [];
  /** Indexes of tasks whose rows have changed. The view clears it after updating its counts. */
  readonly changedTasks = new Set<number>();
  /** Tries that do not count for their attempt. */
  readonly otherTries = new Map<string, RolloutRow>();
  /** Events of the batch's stream: control, infra, notes, its start and end. */
  readonly events: TraceEvent[] = [];
  /** Task records by index, as far as they were read, with the beginnings of their texts. */
  readonly records: TaskRecord[] = [];
  /** The scorers with later verdicts. */
  scorers: readonly string[] = [];
  hasLevels = false;
  hasScenarios = false;
  hasQuestions = false;
  hasAnswers = false;
  #scorer = REWARD;
  #hasShares = true;
  #rowsSeen = 0;
  #rowTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host, batch: string) {
    super(host);
    this.batch = batch;
    void this.#load();
  }

  /** The number of rows received. Anything computed from rows is valid for one version. */
  get version(): number {
    return this.#rowsSeen;
  }

  /** The scorer whose verdicts the rows show instead of their rewards. */
  get scorer(): string {
    return this.#scorer;
  }

  judgeBy(scorer: string): void {
    if (scorer === this.#scorer) return;
    this.#scorer = scorer;
    for (const task of this.tasks) {
      if (task === undefined) continue;
      for (const [at, row] of task.attempts.entries())
        if (row !== undefined) task.attempts[at] = judgedRow(recordedRow(row), scorer);
      this.changedTasks.add(task.index);
    }
    this.#rowsSeen += 1;
    this.touch(true);
  }

  get ended(): boolean {
    return this.row?.state === 'ended';
  }

  /** Attempts per task. */
  get width(): number {
    return this.row?.attempts ?? 0;
  }

  /** Yields all rows that count, in order of task and attempt. */
  *rows(): Generator<RolloutRow> {
    for (const task of this.tasks) {
      if (task === undefined) continue;
      for (const row of task.attempts) if (row !== undefined) yield row;
    }
  }

  async note(rollout: string, label: 'bookmark' | 'note', text: string): Promise<void> {
    await this.api.commandBatch(this.batch, {
      command: newId('c'),
      verb: 'note',
      by: 'page',
      args: { rollout, label, text },
    });
  }

  override close(): void {
    super.close();
    clearTimeout(this.#rowTimer);
  }

  #load(): Promise<void> {
    return this.load(
      this.#readRow(),
      this.#readTasks(),
      this.#watchServer(),
      follow(
        this.host.openSocket,
        { stream: this.batch },
        {
          events: (events) => {
            this.events.push(...events);
            this.notes.add(events);
            this.#onChange();
          },
          rows: (rows) => {
            for (const row of rows) this.#addRow(row);
            this.#addScorers(rows);
            this.#rowsSeen += rows.length;
            this.#onChange();
          },
          head: () => this.head(),
          you: (you) => this.setYou(you),
          lost: (lost) => this.setLost(lost),
        },
        this.signal,
      ),
    );
  }

  #addRow(row: RolloutRow): void {
    let task = this.tasks[row.task_index];
    if (task === undefined) this.tasks[row.task_index] = task = { task: row.task, index: row.task_index, attempts: [] };
    this.changedTasks.add(row.task_index);
    const index = row.attempt - 1;
    const current = task.attempts[index];
    if (
      current === undefined ||
      current.rollout === row.rollout ||
      (!current.settles && (row.settles || row.try > current.try))
    ) {
      if (current !== undefined && current.rollout !== row.rollout)
        this.otherTries.set(current.rollout, recordedRow(current));
      this.otherTries.delete(row.rollout);
      task.attempts[index] = judgedRow(row, this.#scorer);
    } else {
      this.otherTries.set(row.rollout, row);
    }
  }

  #addScorers(rows: readonly RolloutRow[]): void {
    const names = scorersOf(rows);
    if (names.every((name) => this.scorers.includes(name))) return;
    this.scorers = scorersOf(this.rows());
  }

  async #readRow(): Promise<void> {
    this.row = await this.api.batch(this.batch, this.signal);
    this.touch();
    this.definition ??= await readDefinition(this.blobs, this.row.submission);
    this.touch();
  }

  /** Reads the batch's row again, at a limited rate. */
  #onChange(): void {
    this.touch();
    if (this.loading === 'loading') return;
    this.#rowTimer ??= setTimeout(() => {
      this.#rowTimer = undefined;
      this.#readRow().catch(() => undefined); // the subscription reports a lost server
    }, ROW_INTERVAL_MS);
  }

  async #readTasks(): Promise<void> {
    let after: number | undefined;
    for (;;) {
      const page = await this.api.tasks(
        this.batch,
        { limit: TASKS_PAGE, excerpt: EXCERPT, ...(after === undefined ? {} : { after }) },
        this.signal,
      );
      this.records.push(...page.tasks);
      this.hasLevels ||= page.tasks.some(({ level }) => level !== undefined);
      this.hasScenarios ||= page.tasks.some((task) => scenarioOfTask(task) !== undefined);
      this.hasQuestions ||= page.tasks.some(({ question }) => question.trim() !== '');
      this.hasAnswers ||= page.tasks.some(({ answer }) => answer !== undefined && answer !== null);
      this.touch();
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  async #readWaiting(): Promise<void> {
    if (!this.#hasShares || (this.row?.counts.queued ?? 0) === 0) {
      this.waiting = undefined;
      return;
    }
    try {
      this.waiting = waitingOf(await this.api.shares(this.signal), this.batch);
      this.touch();
    } catch (error) {
      this.waiting = undefined;
      // A server that is too old to say.
      if (StudioError.is(error, 'not_found')) this.#hasShares = false;
    }
  }

  /** Polls the server for its queue and endpoints while the batch runs. */
  async #watchServer(): Promise<void> {
    while (!this.signal.aborted && !this.ended) {
      const request = this.api.server(this.signal).then((info) => {
        this.server = info;
        this.touch();
      });
      await Promise.all([request.catch(() => undefined), this.#readWaiting()]);
      await new Promise((resolve) => setTimeout(resolve, SERVER_INTERVAL_MS));
    }
  }
}
