/** One trajectory as it comes: its events in a model, live text, the other attempts of its task, notes. */
import { Emitter, type Listen } from '../../src/common/emitter.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import type { RolloutInfo } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { follow } from '../../src/protocol/follow.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import type { Host } from '../host/host.ts';
import { type Extent, type Place, placeIn, readAround } from './around.ts';
import { type Definition, readDefinition } from './definition.ts';
import { Forks } from './forks.ts';
import { type Split, splitCandidates, splitFrom } from './split.ts';
import { StreamData } from './streamData.ts';

export class TrajectoryData extends StreamData {
  readonly rollout: string;
  /** All events that came, in order. */
  readonly whole = new TrajectoryModel();
  info: RolloutInfo | undefined;
  batch: BatchRow | undefined;
  definition: Definition | undefined;
  /** Newest rows of all attempts of this task, by attempt and try. */
  attempts: readonly RolloutRow[] = [];
  /** What the batch's stream tells of the machines and of people's commands, as far as it may concern this rollout. */
  readonly outside: TraceEvent[] = [];
  /** Where its calls first differ from those of an attempt that passed; looked for once it failed. */
  split: Split | undefined;
  /** Batches that go on from one of its events. */
  readonly forks: Forks;
  /** Those around a place that was asked for, until the whole has come that far. */
  #part: TrajectoryModel | undefined;
  /** The place that was asked for last, and while it is read around. */
  #sought: { readonly place: Place; reading: Promise<void> | undefined } | undefined;
  #informed: Promise<RolloutInfo> | undefined;
  readonly #took = new Emitter<undefined>();
  #splitOf = '';
  /** Live text of open model calls, by span. */
  readonly #live = new Map<number, string>();

  constructor(host: Host, rollout: string) {
    super(host);
    this.rollout = rollout;
    this.forks = new Forks(this.api, rollout, () => this.touch(), this.signal);
    void this.#load();
  }

  /** What is looked at. `skipped` of it tells when that is only a part. */
  get model(): TrajectoryModel {
    return this.#part ?? this.whole;
  }

  /** After every piece of events, at once. */
  readonly took: Listen<undefined> = (listener) => this.#took.event(listener);

  /** seq of the last event that is stored, as far as known; `whole.last` grows up to it. */
  get last(): number {
    return Math.max(this.whole.last, this.info?.row.last ?? 0);
  }

  get ended(): boolean {
    return this.whole.end !== undefined;
  }

  /** Reads around a place that the events have not come to yet, before it goes on with the rest. */
  seek(place: Place): void {
    const before = this.#sought;
    if (before?.reading !== undefined && before.place.seq === place.seq && before.place.step === place.step) return;
    const sought = { place, reading: undefined as Promise<void> | undefined };
    this.#sought = sought;
    this.#settle();
    if (this.loading !== 'loading' || placeIn(this.model, place) !== undefined) return;
    sought.reading = this.#readAround(place)
      .catch(() => undefined)
      .finally(() => (sought.reading = undefined)); // else it comes with the rest
  }

  /** Looks at the beginning again. */
  showWhole(): void {
    this.#part = undefined;
    this.#sought = undefined;
  }

  async #readAround(place: Place): Promise<void> {
    const extent = async (): Promise<Extent> => {
      const row = (await this.#informed)?.row;
      return { last: row?.last ?? 0, steps: row?.progress.step ?? row?.progress.steps ?? 0 };
    };
    const part = await readAround(this.api, this.rollout, place, extent, this.signal);
    if (part === undefined || this.#sought?.place !== place) return;
    this.#part = part;
    this.#settle();
    this.touch(true);
  }

  /** The part goes when the whole has come as far, or to the place that was asked for since. */
  #settle(): void {
    const place = this.#sought?.place;
    const { whole } = this;
    if (this.#part === undefined) return;
    if (
      this.loading !== 'loading' ||
      whole.last >= this.#part.last ||
      (place !== undefined && placeIn(this.#part, place) === undefined && placeIn(whole, place) !== undefined)
    )
      this.#part = undefined;
  }

  /** What an open model call has said so far. */
  liveText(span: number): string | undefined {
    return this.#live.get(span);
  }

  /** Sets or takes away a bookmark, or adds a note (an empty text takes the notes of that place away). */
  async note(label: 'bookmark' | 'note', seq: number, text: string): Promise<void> {
    const batch = this.info?.row.batch;
    if (batch === undefined) return;
    await this.api.commandBatch(batch, {
      command: newId('c'),
      verb: 'note',
      by: 'page',
      args: { rollout: this.rollout, seq, label, text },
    });
  }

  #load(): Promise<void> {
    return this.load(
      this.#tell(),
      follow(
        this.host.openSocket,
        { stream: this.rollout, deltas: true },
        {
          events: (events) => this.#take(events),
          head: () => {
            this.head();
            this.#settle();
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
        },
        this.signal,
      ),
    );
  }

  async #take(events: readonly TraceEvent[]): Promise<void> {
    if (this.#sought?.reading !== undefined && !this.#comesTo(events)) await this.#sought.reading;
    // What is shown already stays the very same.
    this.whole.push(events.map((event) => this.#part?.event(event.seq) ?? readEvent(event, { checked: true })));
    for (const event of events)
      if (event.kind === 'model.end' && event.span !== undefined) this.#live.delete(event.span);
    this.#took.fire(undefined);
    if (this.loading === 'head') this.#seekSplit();
    this.#settle();
    this.touch();
  }

  /** Whether the place that was asked for is among them, or before. */
  #comesTo(events: readonly TraceEvent[]): boolean {
    const { seq = Infinity, step = Infinity } = this.#sought?.place ?? {};
    return events.some((event) => event.seq >= seq || (event.kind === 'model.start' && event.data.step >= step));
  }

  /** What the page tells around the events; none of it stops the events from being shown. */
  async #tell(): Promise<void> {
    const { signal } = this;
    this.#informed = this.api.rollout(this.rollout, signal);
    this.info = await this.#informed;
    this.touch();
    if (this.#sought?.reading !== undefined) await this.#sought.reading; // what is asked for comes first
    const { batch, task } = this.info.row;
    this.batch = await this.api.batch(batch, signal);
    await Promise.all([
      readDefinition(this.blobs, this.info.submission).then((definition) => (this.definition = definition)),
      this.refreshAttempts(batch, task),
      this.#followBatch(batch, this.batch.rev),
      this.forks.load(this.batch.created_at),
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

  /** Looks for the diverges at of a failed attempt, again whenever another attempt passed. */
  #seekSplit(): void {
    const end = this.whole.end?.data;
    if (
      this.loading !== 'head' ||
      end === undefined ||
      end.passed === true ||
      end.status === 'cancelled' ||
      end.status === 'infrastructure'
    )
      return;
    const candidates = splitCandidates(this.rollout, this.attempts);
    const name = candidates.map((row) => row.rollout).join(' ');
    if (name === this.#splitOf) return;
    this.#splitOf = name;
    splitFrom(this.api, this.whole, candidates, this.signal).then(
      (split) => {
        if (name !== this.#splitOf) return; // of older candidates
        this.split = split;
        this.touch();
      },
      () => undefined,
    ); // the page was left, or the other attempt is gone: then there is nothing to compare with
  }

  /** `afterRev`: rows up to there are read by task; a large batch has many more, and this page needs none of them. */
  async #followBatch(batch: string, afterRev: number): Promise<void> {
    // The rows of the batch come along; those of this task keep the attempts up to date.
    const task = this.info?.row.task;
    await follow(
      this.host.openSocket,
      { stream: batch, afterRev },
      {
        events: (events) => {
          this.notes.add(events);
          const mine = events.filter(
            (event) =>
              (event.kind === 'infra' || event.kind === 'control') &&
              (event.data.rollout === undefined || event.data.rollout === this.rollout),
          );
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
      },
      this.signal,
    ).catch((error: unknown) => {
      if (!StudioError.is(error, 'gone')) throw error; // deleted meanwhile: the trajectory tells
    });
  }
}
