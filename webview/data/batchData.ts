/** One batch as it runs: its row, its tasks, the newest row of every attempt, its stream. */
import { newId } from '../../src/common/ids.ts';
import type { BatchRow, ServerInfo } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import type { Host } from '../host/host.ts';
import { type Definition, readDefinition } from './definition.ts';
import { StreamData } from './streamData.ts';

/** What one task has: the row that counts for each attempt, and older tries apart. */
interface TaskRows {
  readonly task: string;
  readonly index: number;
  /** By attempt number − 1; undefined where nothing is known of the attempt. */
  readonly attempts: (RolloutRow | undefined)[];
}

const TASKS_AT_ONCE = 1000;
const ROW_EVERY_MS = 500;
const SERVER_EVERY_MS = 2000;

export class BatchData extends StreamData {
  readonly batch: string;
  row: BatchRow | undefined;
  definition: Definition | undefined;
  server: ServerInfo | undefined;
  /** By `task_index`; a hole where no row came yet. */
  readonly tasks: (TaskRows | undefined)[] = [];
  /** Positions of tasks whose rows changed; whoever counts them takes them out. */
  readonly touched = new Set<number>();
  /** Tries that do not count for their attempt. */
  readonly otherTries = new Map<string, RolloutRow>();
  /** The batch's own stream: control, infra, notes, its start and end. */
  readonly events: TraceEvent[] = [];
  /** Task records, by index, as far as they were read; questions and levels are in them. */
  readonly records: TaskRecord[] = [];
  hasLevels = false;
  #rowsSeen = 0;
  #rowTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: Host, batch: string) {
    super(host);
    this.batch = batch;
    void this.#load();
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
            this.#changedRow();
          },
          rows: (rows) => {
            for (const row of rows) this.#take(row);
            this.#rowsSeen += rows.length;
            this.#changedRow();
          },
          head: () => this.head(),
          lost: (lost) => this.lose(lost),
        },
        this.signal,
      ),
    );
  }

  #take(row: RolloutRow): void {
    let task = this.tasks[row.task_index];
    if (task === undefined) this.tasks[row.task_index] = task = { task: row.task, index: row.task_index, attempts: [] };
    this.touched.add(row.task_index);
    const place = row.attempt - 1;
    const shown = task.attempts[place];
    if (
      shown === undefined ||
      shown.rollout === row.rollout ||
      (!shown.settles && (row.settles || row.try > shown.try))
    ) {
      if (shown !== undefined && shown.rollout !== row.rollout) this.otherTries.set(shown.rollout, shown);
      this.otherTries.delete(row.rollout);
      task.attempts[place] = row;
    } else {
      this.otherTries.set(row.rollout, row);
    }
  }

  async #readRow(): Promise<void> {
    this.row = await this.api.batch(this.batch, this.signal);
    this.touch();
    this.definition ??= await readDefinition(this.blobs, this.row.submission);
    this.touch();
  }

  /** The batch's row follows its rollouts' at a distance. */
  #changedRow(): void {
    this.touch();
    if (this.loading === 'loading') return;
    this.#rowTimer ??= setTimeout(() => {
      this.#rowTimer = undefined;
      this.#readRow().catch(() => undefined); // the subscription tells of a server that is gone
    }, ROW_EVERY_MS);
  }

  async #readTasks(): Promise<void> {
    let after: number | undefined;
    for (;;) {
      const page = await this.api.tasks(
        this.batch,
        { limit: TASKS_AT_ONCE, ...(after === undefined ? {} : { after }) },
        this.signal,
      );
      this.records.push(...page.tasks);
      this.hasLevels ||= page.tasks.some(({ level }) => level !== undefined);
      this.touch();
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /** Queue and endpoints, while the batch runs. */
  async #watchServer(): Promise<void> {
    while (!this.signal.aborted && !this.ended) {
      const asked = this.api.server(this.signal).then((info) => {
        this.server = info;
        this.touch();
      });
      await asked.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, SERVER_EVERY_MS));
    }
  }
}
