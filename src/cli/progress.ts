/**
 * Shows the progress of a batch on stderr: one line that redraws itself on a terminal, otherwise a line at intervals.
 */

import { finish } from '../common/piecewise.ts';
import { compact, duration } from '../common/units.ts';
import type { BatchRow } from '../protocol/client.ts';
import { attemptCount, countNameOf } from '../trace/outcome.ts';
import { attemptRows } from '../trace/statistics/outcomes.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { Terminal } from './context.ts';
import { redraw } from './output.ts';

const BAR = 20;
const REDRAW_MS = 100;
const LINE_INTERVAL_MS = 5_000;

export class Progress {
  readonly #terminal: Terminal;
  readonly #print: (text: string) => void;
  readonly #started = performance.now();
  #drawnAt = Number.NEGATIVE_INFINITY;
  #drawnLine = '';

  constructor(terminal: Terminal, print: (text: string) => void) {
    this.#terminal = terminal;
    this.#print = print;
  }

  /** Redraws after a change, but limits how often. */
  update(batch: BatchRow, rows: ReadonlyMap<string, RolloutRow>): void {
    const now = performance.now();
    if (now - this.#drawnAt < (this.#terminal.live ? REDRAW_MS : LINE_INTERVAL_MS)) return;
    this.#drawnAt = now;
    this.#draw(progressLine(attemptCount(batch), rows.values(), now - this.#started, this.#terminal.width));
  }

  /** Prints a permanent line above the progress line. */
  note(text: string): void {
    this.#clear();
    this.#print(text);
    this.#drawnAt = Number.NEGATIVE_INFINITY;
  }

  end(): void {
    this.#clear();
  }

  #draw(line: string): void {
    if (!this.#terminal.live) {
      if (line !== this.#drawnLine) this.#print(line);
    } else {
      redraw(line);
    }
    this.#drawnLine = line;
  }

  #clear(): void {
    if (this.#terminal.live && this.#drawnLine !== '') redraw('');
    this.#drawnLine = '';
  }
}

/**
 * Returns e.g. `▓▓▓░ 37/96  ● 12  ✗ 25  ▷ 5  3.1 steps/s  41.2k tokens  12.3 s`. `total` counts attempts.
 * `⚠ 2` counts all tries that were lost to infrastructure, also those that are retried.
 */
export function progressLine(total: number, rows: Iterable<RolloutRow>, elapsedMs: number, width: number): string {
  let passed = 0,
    failed = 0,
    other = 0,
    unretried = 0,
    running = 0,
    held = 0,
    lost = 0,
    steps = 0,
    tokens = 0;
  const all = [...rows];
  for (const row of all) {
    steps += row.progress.steps;
    if (row.progress.status === 'infrastructure') lost += 1;
    tokens += row.progress.input_tokens + row.progress.output_tokens;
  }
  for (const row of finish(attemptRows(all))) {
    const name = countNameOf(row);
    if (name === 'running') running += 1;
    else if (name === 'held') held += 1;
    else if (name === 'passed') passed += 1;
    else if (name === 'failed') failed += 1;
    else if (name === 'infrastructure') unretried += 1;
    else if (name !== 'queued') other += 1;
  }
  const settled = passed + failed + other + unretried;
  const full = total === 0 ? 0 : Math.round((settled / total) * BAR);
  const seconds = Math.max(elapsedMs / 1000, 0.001);
  const parts = [
    `${'▓'.repeat(Math.min(full, BAR))}${'░'.repeat(Math.max(BAR - full, 0))} ${settled}/${total}`,
    `● ${passed}  ✗ ${failed}`,
    other > 0 ? `○ ${other}` : '',
    lost > 0 ? `⚠ ${lost}` : '',
    running > 0 ? `▷ ${running}` : '',
    held > 0 ? `‖ ${held}` : '',
    `${(steps / seconds).toFixed(1)} steps/s`,
    `${compact(tokens)} tokens`,
    duration(elapsedMs),
  ];
  return parts
    .filter((part) => part !== '')
    .join('  ')
    .slice(0, width);
}
