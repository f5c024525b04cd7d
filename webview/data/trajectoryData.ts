/** One trajectory as it comes: its events in a model, live text, the other attempts of its task, notes. */
import { newId } from '../../src/common/ids.ts';
import { StudioError } from '../../src/common/errors.ts';
import type { RolloutInfo } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import type { Host } from '../host/host.ts';
import { readDefinition, type Definition } from './definition.ts';
import { splitCandidates, splitFrom, type Split } from './split.ts';
import { StreamData } from './streamData.ts';

export class TrajectoryData extends StreamData {
  readonly rollout: string;
  readonly model = new TrajectoryModel();
  info: RolloutInfo | undefined;
  batch: BatchRow | undefined;
  definition: Definition | undefined;
  /** Newest rows of all attempts of this task, by attempt and try. */
  attempts: readonly RolloutRow[] = [];
  /** What the batch's stream tells of the machines and of people's commands, as far as it may concern this rollout. */
  readonly outside: TraceEvent[] = [];
  /** Where its calls first differ from those of an attempt that passed; looked for once it failed. */
  split: Split | undefined;
  #splitOf = '';
  /** Live text of open model calls, by span. */
  readonly #live = new Map<number, string>();

  constructor(host: Host, rollout: string) {
    super(host);
    this.rollout = rollout;
    void this.#load();
  }

  /** seq of the last event that is stored, as far as known; `model.last` grows up to it. */
  get last(): number {
    return Math.max(this.model.last, this.info?.row.last ?? 0);
  }

  get ended(): boolean {
    return this.model.end !== undefined;
  }

  /** What an open model call has said so far. */
  liveText(span: number): string | undefined {
    return this.#live.get(span);
  }

  /** Sets or takes away a bookmark, or adds a note (an empty text takes the notes of that place away). */
  async note(label: 'bookmark' | 'note', seq: number, text: string): Promise<void> {
    const batch = this.info?.row.batch;
    if (batch === undefined) return;
    await this.api.commandBatch(batch, { command: newId('c'), verb: 'note', by: 'page', args: { rollout: this.rollout, seq, label, text } });
  }

  #load(): Promise<void> {
    return this.load(this.#tell(), follow(this.host.openSocket, { stream: this.rollout, deltas: true }, {
      events: (events) => {
        this.model.push(events.map((event) => readEvent(event, { checked: true })));
        for (const event of events) if (event.kind === 'model.end' && event.span !== undefined) this.#live.delete(event.span);
        if (this.loading === 'head') this.#seekSplit();
        this.touch();
      },
      head: () => {
        this.head();
        this.#seekSplit();
      },
      open: (spans) => {
        this.#live.clear();
        for (const { span, text } of spans) this.#live.set(span, text);
        this.touch();
      },
      delta: (span, offset, text) => {
        const before = this.#live.get(span) ?? '';
        this.#live.set(span, before.slice(0, offset) + text);
        this.touch();
      },
      lost: (lost) => this.lose(lost),
    }, this.signal));
  }

  /** What the page tells around the events; none of it stops the events from being shown. */
  async #tell(): Promise<void> {
    const { signal } = this;
    this.info = await this.api.rollout(this.rollout, signal);
    this.touch();
    const { batch, task } = this.info.row;
    this.batch = await this.api.batch(batch, signal);
    await Promise.all([
      readDefinition(this.blobs, this.info.submission).then((definition) => (this.definition = definition)),
      this.refreshAttempts(batch, task),
      this.#followBatch(batch, this.batch.rev),
    ]);
  }

  /** Reads the rows of this task's attempts anew. */
  async refreshAttempts(batch = this.info?.row.batch, task = this.info?.row.task): Promise<void> {
    if (batch === undefined || task === undefined) return;
    const rows: RolloutRow[] = [];
    for await (const row of this.api.allRollouts(batch, { task }, this.signal)) rows.push(row);
    this.#setAttempts(rows);
  }

  #setAttempts(rows: readonly RolloutRow[]): void {
    this.attempts = rows;
    this.#seekSplit();
    this.touch();
  }

  /** Looks for the first split of a failed attempt, again whenever another attempt passed. */
  #seekSplit(): void {
    const end = this.model.end?.data;
    if (this.loading !== 'head' || end === undefined || end.passed === true || end.status === 'cancelled' || end.status === 'infrastructure') return;
    const candidates = splitCandidates(this.rollout, this.attempts);
    const name = candidates.map((row) => row.rollout).join(' ');
    if (name === this.#splitOf) return;
    this.#splitOf = name;
    splitFrom(this.api, this.model, candidates, this.signal).then((split) => {
      if (name !== this.#splitOf) return; // of older candidates
      this.split = split;
      this.touch();
    }, () => undefined); // the page was left, or the other attempt is gone: then there is nothing to compare with
  }

  /** `afterRev`: rows up to there are read by task; a large batch has many more, and this page needs none of them. */
  async #followBatch(batch: string, afterRev: number): Promise<void> {
    // The rows of the batch come along; those of this task keep the attempts up to date.
    const task = this.info?.row.task;
    await follow(this.host.openSocket, { stream: batch, afterRev }, {
      events: (events) => {
        this.notes.add(events);
        const mine = events.filter((event) => (event.kind === 'infra' || event.kind === 'control') && (event.data.rollout === undefined || event.data.rollout === this.rollout));
        if (mine.length === 0) return;
        this.outside.push(...mine);
        this.touch();
      },
      rows: (rows) => {
        const mine = rows.filter((row) => row.task === task);
        if (mine.length === 0) return;
        const known = new Map(this.attempts.map((row) => [row.rollout, row]));
        for (const row of mine) known.set(row.rollout, row);
        this.#setAttempts([...known.values()].sort((a, b) => a.attempt - b.attempt || a.try - b.try));
      },
    }, this.signal).catch((error: unknown) => {
      if (!StudioError.is(error, 'gone')) throw error; // deleted meanwhile: the trajectory tells
    });
  }
}
