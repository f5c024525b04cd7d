/** The visible range of the axis, and positions in it. Values are milliseconds since the start, or seqs. */

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Minimum length of the visible range: 1 ms, or one event. */
const SHORTEST = 1;

export function xOf(value: number, { from, to }: Range, width: number): number {
  return ((value - from) / Math.max(SHORTEST, to - from)) * width;
}

export function valueAt(x: number, { from, to }: Range, width: number): number {
  return from + (x / Math.max(1, width)) * (to - from);
}

/** Zooms by `factor` (below 1 = closer) so that `at` stays where it is. */
export function zoomed(range: Range, at: number, factor: number, whole: Range): Range {
  const span = Math.min(Math.max((range.to - range.from) * factor, SHORTEST), whole.to - whole.from);
  const share = (at - range.from) / Math.max(SHORTEST, range.to - range.from);
  return within({ from: at - share * span, to: at + (1 - share) * span }, whole);
}

export function panned(range: Range, by: number, whole: Range): Range {
  return within({ from: range.from + by, to: range.to + by }, whole);
}

/** Moves a range inside the whole, and shortens it if it is longer. */
export function within(range: Range, whole: Range): Range {
  const span = Math.min(Math.max(range.to - range.from, SHORTEST), Math.max(SHORTEST, whole.to - whole.from));
  const from = Math.max(whole.from, Math.min(range.from, whole.to - span));
  return { from, to: from + span };
}

/** Returns the step of an axis' labels: 1, 2, or 5 times a power of ten, or minutes, at least `least` pixels apart. */
export function ticks(range: Range, width: number, least: number, timed: boolean): number[] {
  const per = ((range.to - range.from) / Math.max(1, width)) * least;
  const steps = timed
    ? [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5, 72e5, 216e5,
        432e5, 864e5,
      ]
    : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];
  const step = steps.find((candidate) => candidate >= per) ?? steps.at(-1) ?? 1;
  const found: number[] = [];
  for (let at = Math.ceil(range.from / step) * step; at <= range.to; at += step) found.push(at);
  return found;
}
