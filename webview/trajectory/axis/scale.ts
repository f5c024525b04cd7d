/**
 * Converts between time and pixels on the axis. Idle intervals are collapsed: each takes the same short width. Values
 * and ranges are milliseconds since the start, or seqs.
 */

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Minimum length of the visible range: 1 ms, or one event. */
const SHORTEST = 1;
/** Pixels of a collapsed interval while the whole time is visible, and the most of the axis that all of them take. */
const CUT_PX = 44;
const MAX_SHARE = 0.3;
/** Shorter intervals are not worth a mark. */
const MIN_CUT_MS = 1_000;

export class TimeScale<T extends Range = Range> {
  /** Collapsed intervals in order. */
  readonly cuts: readonly T[];
  /** Where the cuts start and how long each is, in ms of a time without the cuts’ excess. */
  readonly #starts: readonly number[];
  readonly #length: number;

  /** @param cuts Disjoint and in order. */
  constructor(cuts: readonly T[], length: number) {
    this.cuts = cuts;
    this.#length = length;
    let excess = 0;
    this.#starts = cuts.map(({ from, to }) => {
      const start = from - excess;
      excess += to - from - length;
      return start;
    });
  }

  x(value: number, range: Range, width: number): number {
    const from = this.#drawn(range.from);
    return ((this.#drawn(value) - from) / Math.max(SHORTEST, this.#drawn(range.to) - from)) * width;
  }

  valueAt(x: number, range: Range, width: number): number {
    const from = this.#drawn(range.from);
    return this.#real(from + (x / Math.max(1, width)) * (this.#drawn(range.to) - from));
  }

  /** Zooms by `factor` (below 1 = closer) so that `at` stays where it is. */
  zoomed(range: Range, at: number, factor: number, whole: Range): Range {
    const { from, to } = this.#all(range);
    const all = this.#all(whole);
    const span = Math.min(Math.max((to - from) * factor, SHORTEST), all.to - all.from);
    const fixed = this.#drawn(at);
    const share = (fixed - from) / Math.max(SHORTEST, to - from);
    return this.#back(inside({ from: fixed - share * span, to: fixed + (1 - share) * span }, all));
  }

  /** Moves a range by a share of its length. */
  panned(range: Range, share: number, whole: Range): Range {
    const { from, to } = this.#all(range);
    const by = (to - from) * share;
    return this.#back(inside({ from: from + by, to: to + by }, this.#all(whole)));
  }

  /** Moves a range so that a value is in its middle. */
  centered(range: Range, at: number, whole: Range): Range {
    const { from, to } = this.#all(range);
    const by = this.#drawn(at) - (from + to) / 2;
    return this.#back(inside({ from: from + by, to: to + by }, this.#all(whole)));
  }

  /** Moves a range inside the whole, and shortens it if it is longer. */
  within(range: Range, whole: Range): Range {
    return this.#back(inside(this.#all(range), this.#all(whole)));
  }

  /** Returns the value that is a share of the whole after another one, to leave room there. */
  after(value: number, share: number): number {
    return this.#real(this.#drawn(value) * (1 + share));
  }

  /**
   * Returns the values of labels: multiples of 1, 2, or 5 times a power of ten, or of minutes, at least `least` pixels
   * apart. None is inside a cut.
   */
  ticks(range: Range, width: number, least: number, timed: boolean): number[] {
    const { from, to } = this.#all(range);
    const per = ((to - from) / Math.max(1, width)) * least;
    const steps = timed ? TIME_STEPS : SEQ_STEPS;
    const step = steps.find((candidate) => candidate >= per) ?? steps.at(-1) ?? 1;
    const found: number[] = [];
    for (let at = Math.ceil(range.from / step) * step; at <= range.to; at += step) {
      const cut = this.cutAt(at);
      if (cut === undefined || at === cut.from) found.push(at);
      else at = Math.max(at, Math.ceil(cut.to / step) * step - step);
    }
    return found;
  }

  /** Returns the cut that contains a value. */
  cutAt(value: number): T | undefined {
    const cut = this.cuts[lastFrom(this.cuts.length, (index) => (this.cuts[index]?.from ?? 0) <= value)];
    return cut !== undefined && value < cut.to ? cut : undefined;
  }

  #all({ from, to }: Range): Range {
    return { from: this.#drawn(from), to: this.#drawn(to) };
  }

  #back({ from, to }: Range): Range {
    return { from: this.#real(from), to: this.#real(to) };
  }

  #drawn(value: number): number {
    const at = lastFrom(this.cuts.length, (index) => (this.cuts[index]?.from ?? 0) <= value);
    const cut = this.cuts[at];
    if (cut === undefined) return value;
    const start = this.#starts[at] ?? 0;
    if (value >= cut.to) return start + this.#length + value - cut.to;
    return start + ((value - cut.from) / (cut.to - cut.from)) * this.#length;
  }

  #real(drawn: number): number {
    const at = lastFrom(this.#starts.length, (index) => (this.#starts[index] ?? 0) <= drawn);
    const cut = this.cuts[at];
    if (cut === undefined) return drawn;
    const after = drawn - (this.#starts[at] ?? 0);
    if (after >= this.#length) return cut.to + after - this.#length;
    return cut.from + (after / this.#length) * (cut.to - cut.from);
  }
}

/** Nothing is collapsed. */
export const LINEAR = new TimeScale<never>([], 0);

/** Returns a scale that collapses those of some idle intervals that would take more room than their mark. */
export function collapsing<T extends Range>(idle: readonly T[], end: number, width: number): TimeScale<T> {
  let cuts = idle.filter(({ from, to }) => to - from >= MIN_CUT_MS);
  for (;;) {
    const share = Math.min(CUT_PX / Math.max(1, width), MAX_SHARE / Math.max(1, cuts.length));
    const rest = end - cuts.reduce((sum, { from, to }) => sum + to - from, 0);
    const length = Math.max(SHORTEST, (rest * share) / (1 - cuts.length * share));
    const worth = cuts.filter(({ from, to }) => to - from > length * 2);
    if (worth.length === cuts.length) return cuts.length === 0 ? LINEAR : new TimeScale(cuts, length);
    cuts = worth;
  }
}

const TIME_STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5, 72e5, 216e5, 432e5,
  864e5,
];
const SEQ_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];

function inside(range: Range, whole: Range): Range {
  const span = Math.min(Math.max(range.to - range.from, SHORTEST), Math.max(SHORTEST, whole.to - whole.from));
  const from = Math.max(whole.from, Math.min(range.from, whole.to - span));
  return { from, to: from + span };
}

/** Returns the last index for which `isAtOrAfter` holds, or −1. It holds for all before one for which it holds. */
function lastFrom(length: number, isAtOrAfter: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAtOrAfter(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
