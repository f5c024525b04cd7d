/** Live data of a trajectory: a model of its events, live text, the attempts of its task, notes, and forks. */
import { Emitter, type Listen } from '../../src/common/emitter.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import type { Trimmed } from '../../src/common/trimmed.ts';
import type { RolloutInfo } from '../../src/protocol/api.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { Extent } from '../../src/protocol/findStep.ts';
import { follow } from '../../src/protocol/follow.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import type { Host } from '../host/host.ts';
import { type Place, placeIn, readAround } from './around.ts';
import { type Definition, readDefinition } from './definition.ts';
import { Forks } from './forks.ts';
import { type Split, splitCandidates, splitFrom } from './split.ts';
import { StreamData } from './streamData.ts';

export class TrajectoryData extends StreamData {
  readonly rollout: string;
  /** All events received so far. */
  readonly whole = new TrajectoryModel();
  info: RolloutInfo | undefined;
  batch: BatchRow | undefined;
  definition: Definition | undefined;
  /** Newest rows of all attempts of this task, by attempt and try. */
  attempts: readonly RolloutRow[] = [];
  /** Events of the batch's stream about infrastructure and commands that may concern this rollout. */
  readonly outside: TraceEvent[] = [];
  /** Where a failed rollout first diverges from a passed attempt. */
  split: Split | undefined;
  readonly forks: Forks;
  /** The events around the target, until `whole` reaches them. */
  #part: TrajectoryModel | undefined;
  /** The last place to show, and the pending read around it. */
  #target: { readonly place: Place; reading: Promise<void> | undefined } | undefined;
  #infoRequest: Promise<RolloutInfo> | undefined;
  readonly #events = new Emitter<undefined>();
  /** IDs of the candidates that `split` was computed from. */
  #splitCandidates = '';
  /** Live text of open model calls, by span. */
  readonly #live = new Map<number, string>();

  constructor(host: Host, rollout: string) {
    super(host);
    this.rollout = rollout;
    this.forks = new Forks(this.api, rollout, () => this.touch(), this.signal);
    void this.#load();
  }

  /** The model to show. `skipped` is set if it is only a part. */
  get model(): TrajectoryModel {
    return this.#part ?? this.whole;
  }

  /** Fires immediately after each chunk of events. */
  readonly onEvents: Listen<undefined> = (listener) => this.#events.event(listener);

  /** seq of the last stored event that is known. `whole.last` grows up to it. */
  get last(): number {
    return Math.max(this.whole.last, this.info?.row.last ?? 0);
  }

  /** When and why its events were dropped. */
  get trimmed(): Trimmed | undefined {
    return this.info?.trimmed;
  }

  get ended(): boolean {
    return this.whole.end !== undefined;
  }

  /** Shows a place. If its events were not received yet, reads them before continuing with the rest. */
  seek(place: Place): void {
    const last = this.#target;
    if (last?.reading !== undefined && last.place.seq === place.seq && last.place.step === place.step) return;
    const target = { place, reading: undefined as Promise<void> | undefined };
    this.#target = target;
    this.#dropPart();
    if (this.loading !== 'loading' || placeIn(this.model, place) !== undefined) return;
    target.reading = this.#readAround(place)
      .catch(() => undefined)
      .finally(() => (target.reading = undefined)); // after a failure, it arrives with the rest
  }

  /** Shows the trajectory from its beginning. */
  showWhole(): void {
    this.#part = undefined;
    this.#target = undefined;
  }

  async #readAround(place: Place): Promise<void> {
    const extent = async (): Promise<Extent> => {
      const row = (await this.#infoRequest)?.row;
      return { last: row?.last ?? 0, steps: row?.progress.step ?? row?.progress.steps ?? 0 };
    };
    const part = await readAround(this.api, this.rollout, place, extent, this.signal);
    if (part === undefined || this.#target?.place !== place) return;
    this.#part = part;
    this.#dropPart();
    this.touch(true);
  }

  /** Drops the part once the whole trajectory reaches as far, or contains a newer target. */
  #dropPart(): void {
    const place = this.#target?.place;
    const { whole } = this;
    if (this.#part === undefined) return;
    if (
      this.loading !== 'loading' ||
      whole.last >= this.#part.last ||
      (place !== undefined && placeIn(this.#part, place) === undefined && placeIn(whole, place) !== undefined)
    )
      this.#part = undefined;
  }

  /** Returns the text so far of an open model call. */
  liveText(span: number): string | undefined {
    return this.#live.get(span);
  }

  /** Sets a bookmark or adds a note. An empty text removes the bookmark or the notes of that event. */
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
      this.#readContext(),
      follow(
        this.host.openSocket,
        { stream: this.rollout, deltas: true },
        {
          events: (events) => this.#addEvents(events),
          head: () => {
            this.head();
            this.#dropPart();
            this.#findSplit();
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
          you: (you) => this.setYou(you),
          lost: (lost) => this.setLost(lost),
        },
        this.signal,
      ).catch((error: unknown) => this.#showKept(error)),
    );
  }

  /** Shows what is left of a trajectory that was trimmed: its scores, and its end. */
  async #showKept(error: unknown): Promise<void> {
    const kept = StudioError.is(error, 'gone') ? (await this.#infoRequest)?.trimmed : undefined;
    if (kept === undefined) throw error;
    const results = kept.events.filter(
      ({ kind, span }) => (kind === 'score' && span === undefined) || kind === 'rollout.end',
    );
    // Nothing refers to their numbers any more.
    this.whole.push(results.map((event, index) => readEvent({ ...event, seq: index + 1 })));
    this.head();
  }

  async #addEvents(events: readonly TraceEvent[]): Promise<void> {
    if (this.#target?.reading !== undefined && !this.#reachesTarget(events)) await this.#target.reading;
    // Events that are already shown keep their identity.
    this.whole.push(events.map((event) => this.#part?.event(event.seq) ?? readEvent(event, { checked: true })));
    for (const event of events)
      if (event.kind === 'model.end' && event.span !== undefined) this.#live.delete(event.span);
    this.#events.fire(undefined);
    if (this.loading === 'head') this.#findSplit();
    this.#dropPart();
    this.touch();
  }

  /** Whether the target is in these events or before. */
  #reachesTarget(events: readonly TraceEvent[]): boolean {
    const { seq = Infinity, step = Infinity } = this.#target?.place ?? {};
    return events.some(
      (event) =>
        event.seq >= seq || (event.kind === 'model.start' && event.data.side === undefined && event.data.step >= step),
    );
  }

  /** Reads the data around the events. The events are shown without waiting for it. */
  async #readContext(): Promise<void> {
    const { signal } = this;
    this.#infoRequest = this.api.rollout(this.rollout, signal);
    this.info = await this.#infoRequest;
    this.touch();
    if (this.#target?.reading !== undefined) await this.#target.reading; // the target comes first
    const { batch, task } = this.info.row;
    this.batch = await this.api.batch(batch, signal);
    await Promise.all([
      readDefinition(this.blobs, this.info.submission).then((definition) => (this.definition = definition)),
      this.refreshAttempts(batch, task),
      this.#followBatch(batch, this.batch.rev),
      this.forks.load(this.batch.created_at),
    ]);
  }

  /** Reads the rows of this task's attempts again. */
  async refreshAttempts(batch = this.info?.row.batch, task = this.info?.row.task): Promise<void> {
    if (batch === undefined || task === undefined) return;
    const rows: RolloutRow[] = [];
    for await (const row of this.api.allRollouts(batch, { task }, this.signal)) rows.push(row);
    this.#setAttempts(rows);
  }

  #setAttempts(rows: readonly RolloutRow[]): void {
    this.attempts = rows;
    this.#findSplit();
    this.touch();
  }

  /** Finds where a failed rollout diverges, again whenever another attempt passes. */
  #findSplit(): void {
    const end = this.whole.end?.data;
    if (
      this.loading !== 'head' ||
      this.trimmed !== undefined ||
      end === undefined ||
      end.passed === true ||
      end.status === 'cancelled' ||
      end.status === 'infrastructure'
    )
      return;
    const candidates = splitCandidates(this.rollout, this.attempts);
    const ids = candidates.map((row) => row.rollout).join(' ');
    if (ids === this.#splitCandidates) return;
    this.#splitCandidates = ids;
    splitFrom(this.api, this.whole, candidates, this.signal).then(
      (split) => {
        if (ids !== this.#splitCandidates) return; // outdated
        this.split = split;
        this.touch();
      },
      () => undefined,
    ); // the page was closed, or the other attempt was deleted
  }

  /** Follows the batch's stream. `afterRev`: earlier rows of this task are read separately, not those of all tasks. */
  async #followBatch(batch: string, afterRev: number): Promise<void> {
    // The stream contains rows of the whole batch. Those of this task update `attempts`.
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
          const byRollout = new Map(this.attempts.map((row) => [row.rollout, row]));
          for (const row of mine) byRollout.set(row.rollout, row);
          this.#setAttempts([...byRollout.values()].sort((a, b) => a.attempt - b.attempt || a.try - b.try));
        },
      },
      this.signal,
    ).catch((error: unknown) => {
      if (!StudioError.is(error, 'gone')) throw error; // the batch was deleted; the trajectory reports it
    });
  }
}
