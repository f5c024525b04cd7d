/** One trajectory as it comes: its events in a model, live text, the other attempts of its task, notes. */
import { newId } from '../../src/common/ids.ts';
import { errorText, StudioError } from '../../src/common/errors.ts';
import type { Listen } from '../../src/common/emitter.ts';
import { Api, type RolloutInfo } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import type { Host } from '../host/host.ts';
import { Blobs } from './blobs.ts';
import { readDefinition, type Definition } from './definition.ts';
import { NoteBook } from './notes.ts';
import { Pace } from './pace.ts';

/** `loading`: catching up with what is stored; `head`: all that is there is here; `failed`: see `problem`. */
export type Loading = 'loading' | 'head' | 'failed';

export class TrajectoryData {
  readonly rollout: string;
  readonly host: Host;
  readonly api: Api;
  readonly blobs: Blobs;
  readonly model = new TrajectoryModel();
  readonly notes: NoteBook;
  info: RolloutInfo | undefined;
  batch: BatchRow | undefined;
  definition: Definition | undefined;
  /** Newest rows of all attempts of this task, by attempt and try. */
  attempts: readonly RolloutRow[] = [];
  loading: Loading = 'loading';
  problem: string | undefined;
  /** The connection is lost; what is shown is as old as `model.last`. */
  lost = false;
  readonly #pace = new Pace();
  readonly #ended = new AbortController();
  /** Live text of open model calls, by span. */
  readonly #live = new Map<number, string>();

  constructor(host: Host, rollout: string) {
    this.host = host;
    this.rollout = rollout;
    this.api = new Api(host.transport);
    this.blobs = new Blobs(this.api);
    this.notes = new NoteBook(() => this.#pace.touch());
    void this.#load();
  }

  /** After changes, at most about a dozen times a second. */
  get changed(): Listen<undefined> {
    return this.#pace.changed;
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

  close(): void {
    this.#ended.abort();
    this.#pace.stop();
  }

  async #load(): Promise<void> {
    const { signal } = this.#ended;
    const told = this.#tell();
    try {
      await Promise.all([told, follow(this.host.openSocket, { stream: this.rollout, deltas: true }, {
        events: (events) => {
          this.model.push(events.map((event) => readEvent(event, { checked: true })));
          for (const event of events) if (event.kind === 'model.end' && event.span !== undefined) this.#live.delete(event.span);
          this.#pace.touch();
        },
        head: () => {
          this.loading = 'head';
          this.#pace.touch();
        },
        open: (spans) => {
          this.#live.clear();
          for (const { span, text } of spans) this.#live.set(span, text);
          this.#pace.touch();
        },
        delta: (span, offset, text) => {
          const before = this.#live.get(span) ?? '';
          this.#live.set(span, before.slice(0, offset) + text);
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

  /** What the page tells around the events; none of it stops the events from being shown. */
  async #tell(): Promise<void> {
    const { signal } = this.#ended;
    this.info = await this.api.rollout(this.rollout, signal);
    this.#pace.touch();
    const { batch, task } = this.info.row;
    this.batch = await this.api.batch(batch, signal);
    await Promise.all([
      readDefinition(this.blobs, this.info.submission).then((definition) => (this.definition = definition)),
      this.refreshAttempts(batch, task),
      this.#followNotes(batch, this.batch.rev),
    ]);
  }

  /** Reads the rows of this task's attempts anew. */
  async refreshAttempts(batch = this.info?.row.batch, task = this.info?.row.task): Promise<void> {
    if (batch === undefined || task === undefined) return;
    const rows: RolloutRow[] = [];
    for await (const row of this.api.allRollouts(batch, { task }, this.#ended.signal)) rows.push(row);
    this.attempts = rows;
    this.#pace.touch();
  }

  /** `afterRev`: rows up to there are read by task; a large batch has many more, and this page needs none of them. */
  async #followNotes(batch: string, afterRev: number): Promise<void> {
    // The rows of the batch come along; those of this task keep the attempts up to date.
    const task = this.info?.row.task;
    await follow(this.host.openSocket, { stream: batch, afterRev }, {
      events: (events) => this.notes.add(events),
      rows: (rows) => {
        const mine = rows.filter((row) => row.task === task);
        if (mine.length === 0) return;
        const known = new Map(this.attempts.map((row) => [row.rollout, row]));
        for (const row of mine) known.set(row.rollout, row);
        this.attempts = [...known.values()].sort((a, b) => a.attempt - b.attempt || a.try - b.try);
        this.#pace.touch();
      },
    }, this.#ended.signal).catch((error: unknown) => {
      if (!StudioError.is(error, 'gone')) throw error; // deleted meanwhile: the trajectory tells
    });
  }
}
