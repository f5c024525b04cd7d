/**
 * The progress display of a running batch on stderr: one line that redraws itself on a terminal, else a line now and
 * then.
 */

import { compact, duration } from '../common/units.ts';
import type { BatchRow } from '../protocol/client.ts';
import type { RolloutRow } from '../trace/summary.ts';
import type { Terminal } from './context.ts';

const BAR = 20;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;

export class Progress {
  readonly #terminal: Terminal;
  readonly #tell: (text: string) => void;
  readonly #started = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;
  #shown = '';

  constructor(terminal: Terminal, tell: (text: string) => void) {
    this.#terminal = terminal;
    this.#tell = tell;
  }

  /** Called at every change; draws as often as is pleasant. */
  update(batch: BatchRow, rows: ReadonlyMap<string, RolloutRow>): void {
    const now = performance.now();
    if (now - this.#shownAt < (this.#terminal.live ? REDRAW_MS : LINE_EVERY_MS)) return;
    this.#shownAt = now;
    this.#draw(progressLine(batch.tasks * batch.attempts, rows.values(), now - this.#started, this.#terminal.width));
  }

  /** A line above the display that stays. */
  note(text: string): void {
    this.#clear();
    this.#tell(text);
    this.#shownAt = Number.NEGATIVE_INFINITY;
  }

  end(): void {
    this.#clear();
  }

  #draw(line: string): void {
    if (!this.#terminal.live) {
      if (line !== this.#shown) this.#tell(line);
    } else {
      process.stderr.write(`\r\x1b[2K${line}`);
    }
    this.#shown = line;
  }

  #clear(): void {
    if (this.#terminal.live && this.#shown !== '') process.stderr.write('\r\x1b[2K');
    this.#shown = '';
  }
}

/** `▓▓▓░ 37/96  ● 12  ✗ 25  ▷ 5  · 54   3.1 steps/s  41.2k tokens  12.3 s`; `total` in attempts. */
export function progressLine(total: number, rows: Iterable<RolloutRow>, elapsedMs: number, width: number): string {
  let passed = 0,
    failed = 0,
    other = 0,
    running = 0,
    held = 0,
    steps = 0,
    tokens = 0;
  for (const row of rows) {
    steps += row.progress.steps;
    tokens += row.progress.input_tokens + row.progress.output_tokens;
    if (row.state === 'running') running += 1;
    else if (row.state === 'held') held += 1;
    else if (row.settles && row.progress.passed === true) passed += 1;
    else if (row.settles && row.progress.passed === false) failed += 1;
    else if (row.state === 'ended' && (row.settles || row.progress.status === 'cancelled')) other += 1;
  }
  const settled = passed + failed + other;
  const full = total === 0 ? 0 : Math.round((settled / total) * BAR);
  const seconds = Math.max(elapsedMs / 1000, 0.001);
  const parts = [
    `${'▓'.repeat(Math.min(full, BAR))}${'░'.repeat(Math.max(BAR - full, 0))} ${settled}/${total}`,
    `● ${passed}  ✗ ${failed}`,
    other > 0 ? `○ ${other}` : '',
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
