/** Updates the figures of a batch in time slices, so that the page stays responsive. */
import { StudioError } from '../../../src/common/errors.ts';
import { inSlices } from '../../../src/common/piecewise.ts';
import type { BatchData } from '../../data/batchData.ts';
import type { Counts } from '../model/taskFacts.ts';
import { type Figures, figuresOf } from './figures.ts';

/** A frame has 16 ms. */
const SLICE_MS = 8;
const EVERY_MS = 500;
/** While nothing changes, the rate of a running batch falls. */
const IDLE_MS = 10_000;
/** Figures may take at most one part in this many of the time. */
const SHARE = 5;

export class FiguresTask {
  /** The latest figures; undefined while rows are loaded for the first time. */
  latest: Figures | undefined;
  readonly #data: BatchData;
  readonly #counts: () => Counts;
  readonly #changed: () => void;
  readonly #ended = new AbortController();
  #seen = '';
  #busy = false;
  #nextAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** `counts` returns the current number of attempts by outcome. */
  constructor(data: BatchData, counts: () => Counts, changed: () => void) {
    this.#data = data;
    this.#counts = counts;
    this.#changed = changed;
  }

  /**
   * Schedules an update after a change: once everything is loaded, then at most twice a second, and less often for a
   * large batch.
   */
  look(): void {
    const stamp = this.#stamp();
    if (
      this.#data.loading === 'loading' ||
      stamp === this.#seen ||
      this.#busy ||
      this.#timer !== undefined ||
      this.#ended.signal.aborted
    )
      return;
    const wait = this.#nextAt - performance.now();
    if (wait > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.look();
      }, wait);
      return;
    }
    void this.#figure(stamp);
  }

  close(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#idle);
  }

  async #figure(stamp: string): Promise<void> {
    this.#busy = true;
    const began = performance.now();
    try {
      this.latest = await inSlices(figuresOf(this.#data, this.#counts(), Date.now()), SLICE_MS, this.#ended.signal);
    } catch (error) {
      if (StudioError.is(error, 'cancelled')) return;
      throw error;
    } finally {
      this.#busy = false;
    }
    this.#seen = stamp;
    const done = performance.now();
    this.#nextAt = done + Math.max(EVERY_MS, (done - began) * SHARE);
    this.#changed();
    this.look(); // rows that arrived in the meantime
    clearTimeout(this.#idle);
    if (this.#data.row?.state === 'ended' || this.#ended.signal.aborted) return;
    this.#idle = setTimeout(() => {
      this.#seen = '';
      this.look();
    }, IDLE_MS);
  }

  /** Returns a key of the inputs of the figures. */
  #stamp(): string {
    const { version, row, definition, records, events } = this.#data;
    const { outside, moves } = row?.curriculum ?? {};
    const ofRow = [row?.tasks, row?.attempts, row?.ended_at, outside, moves, row?.repeated?.requests];
    return [version, records.length, events.length, ...ofRow, definition?.passesPerTask].join(' ');
  }
}
