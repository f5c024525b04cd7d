/** The attempts of a batch with the texts that their rows do not have: the question, and both answers. */
import type { Json } from '../../common/json.ts';
import type { Api } from '../../protocol/api.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { unspill } from '../../trace/spill.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { scenarioOfTask, type TaskRecord } from '../../trace/task.ts';

export interface ExportedAttempt {
  readonly row: RolloutRow;
  /** Its place among the exported attempts of its task in its batch. */
  readonly member?: ExportedMember;
  readonly question?: string;
  /** Of the world of its task, if that has many. */
  readonly scenario?: string;
  /** Undefined before the attempt ends, and without one. */
  readonly answer?: Json;
  readonly expected?: Json;
}

export interface ExportedMember {
  /** As in rows for trainers. */
  readonly group: string;
  /** As ms-swift and TRL compute it; null without a reward that counts. */
  readonly advantage: number | null;
  /** Why it does not count in its group. Absent while it is open. */
  readonly why?: string;
}

/** The end is among the last events; a score or a note may follow it. */
const TAIL = 16;
const TASKS = 1_000;

export class ExportedAttempts {
  readonly #api: Api;
  readonly #batch: string;
  readonly #signal: AbortSignal;
  readonly #tasks: TaskRecord[] = [];
  #reading: Promise<void> = Promise.resolve();
  /** Where the next page of tasks begins. */
  #next: { readonly after?: number } | undefined = {};

  constructor(api: Api, batch: string, signal: AbortSignal) {
    this.#api = api;
    this.#batch = batch;
    this.#signal = signal;
  }

  rows(): AsyncIterable<RolloutRow> {
    return this.#api.allRollouts(this.#batch, {}, this.#signal);
  }

  /** Reads what the row does not have. */
  async complete(row: RolloutRow): Promise<ExportedAttempt> {
    const [task, answer] = await Promise.all([this.#task(row.task_index), this.#answer(row)]);
    const scenario = scenarioOfTask(task);
    return {
      row,
      ...(task === undefined ? {} : { question: task.question }),
      ...(scenario === undefined ? {} : { scenario }),
      ...(task?.answer === undefined ? {} : { expected: task.answer }),
      ...(answer === undefined ? {} : { answer }),
    };
  }

  /** Returns a task once it is read; the attempts before it may be reading the same page. */
  async #task(index: number): Promise<TaskRecord | undefined> {
    this.#reading = this.#reading.then(() => this.#readUpTo(index));
    await this.#reading;
    return this.#tasks[index];
  }

  async #readUpTo(index: number): Promise<void> {
    while (this.#next !== undefined && this.#tasks.length <= index) {
      const { tasks, next } = await this.#api.tasks(this.#batch, { limit: TASKS, ...this.#next }, this.#signal);
      this.#tasks.push(...tasks);
      this.#next = next === undefined ? undefined : { after: next };
    }
  }

  async #answer(row: RolloutRow): Promise<Json | undefined> {
    if (row.state !== 'ended' || row.last === 0) return undefined;
    const end = await this.#end(row);
    if (end === undefined) return undefined;
    const read = ({ $blob }: { readonly $blob: string }): Promise<Uint8Array> => this.#api.getBlob($blob, this.#signal);
    const whole = await unspill(end, read);
    return whole.kind === 'rollout.end' ? whole.data.answer : undefined;
  }

  async #end({ rollout, last, trimmed }: RolloutRow): Promise<TraceEvent | undefined> {
    if (trimmed === true) return endIn((await this.#api.rollout(rollout, this.#signal)).trimmed?.events ?? []);
    const after = Math.max(0, last - TAIL);
    return endIn((await this.#api.events(rollout, { after }, this.#signal)).events) ?? (await this.#anyEnd(rollout));
  }

  async #anyEnd(rollout: string): Promise<TraceEvent | undefined> {
    for await (const page of this.#api.allEvents(rollout, this.#signal)) {
      const end = endIn(page);
      if (end !== undefined) return end;
    }
    return undefined;
  }
}

function endIn(events: readonly TraceEvent[]): TraceEvent | undefined {
  return events.findLast(({ kind }) => kind === 'rollout.end');
}
