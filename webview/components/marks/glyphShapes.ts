/** The shapes of outcomes in a box of 12 by 12, for SVG and canvas. */
import type { Outcome } from '../../../src/trace/outcome.ts';
import type { Trouble } from '../../../src/trace/trouble.ts';

/** SVG path data of the filled and stroked parts. */
interface Shape {
  readonly fill?: string;
  readonly line?: string;
  readonly dashed?: boolean;
}

export const LINE_WIDTH = 1.5;
const RING = 'M6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z';

export const SHAPES: Readonly<Record<Outcome, Shape>> = {
  passed: { fill: RING },
  failed: { line: 'M2.5 2.5l7 7M9.5 2.5l-7 7' },
  truncated: { fill: 'M6 2.75a3.25 3.25 0 0 0 0 6.5z', line: 'M6 2.75a3.25 3.25 0 1 1 0 6.5a3.25 3.25 0 1 1 0-6.5z' },
  infrastructure: { line: 'M6 1.8L10.8 10.2H1.2zM6 5v2.2M6 8.3v.7' },
  cancelled: { line: `${RING}M3.2 8.8l5.6-5.6` },
  unscored: { line: RING, dashed: true },
  running: { line: 'M3.5 2.2L9.5 6L3.5 9.8z' },
  held: { line: 'M4 2.5v7M8 2.5v7' },
  queued: { fill: 'M6 5a1 1 0 1 1 0 2a1 1 0 1 1 0-2z' },
};

/** The shapes of failed calls. */
export const TROUBLES: Readonly<Record<Trouble, Outcome>> = { error: 'failed', interrupted: 'infrastructure' };

const COLOURS: Readonly<Record<Outcome, string>> = {
  passed: '--outcome-passed',
  failed: '--outcome-failed',
  truncated: '--outcome-truncated',
  infrastructure: '--outcome-infrastructure',
  cancelled: '--dim',
  unscored: '--dim',
  running: '--outcome-running',
  held: '--outcome-held',
  queued: '--dim',
};

/** Returns the name of the CSS property with the color of an outcome. */
export function outcomeColour(outcome: Outcome): string {
  return COLOURS[outcome];
}
