/** The shapes of outcomes in a box of 12 by 12, for SVG and canvas alike. */
import type { Outcome } from '../../../src/trace/outcome.ts';

export interface Shape {
  /** SVG path data. */
  readonly path: string;
  readonly fill: boolean;
  readonly dashed?: boolean;
}

export const SHAPES: Readonly<Record<Outcome, Shape>> = {
  passed: { path: 'M6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z', fill: true },
  failed: { path: 'M2.5 2.5l7 7M9.5 2.5l-7 7', fill: false },
  truncated: { path: 'M6 2a4 4 0 0 0 0 8z', fill: true },
  infrastructure: { path: 'M6 1.8L10.8 10.2H1.2zM6 5v2.2M6 8.3v.7', fill: false },
  cancelled: { path: 'M6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8zM3.2 8.8l5.6-5.6', fill: false },
  unscored: { path: 'M6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z', fill: false, dashed: true },
  running: { path: 'M3.5 2.2L9.5 6L3.5 9.8z', fill: false },
  held: { path: 'M4 2.5v7M8 2.5v7', fill: false },
  queued: { path: 'M6 5a1 1 0 1 1 0 2a1 1 0 1 1 0-2z', fill: true },
};

const COLOURS: Readonly<Record<Outcome, string>> = {
  passed: '--outcome-passed', failed: '--outcome-failed', truncated: '--outcome-truncated', infrastructure: '--outcome-infrastructure',
  cancelled: '--dim', unscored: '--dim', running: '--outcome-running', held: '--outcome-held', queued: '--dim',
};

/** Name of the custom property that holds the colour of an outcome. */
export function outcomeColour(outcome: Outcome): string {
  return COLOURS[outcome];
}
