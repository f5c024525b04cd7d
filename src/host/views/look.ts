/** How an item of a tree looks, told without VS Code so that it can be tested. */
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';

export interface Icon {
  /** Of the codicons. */
  readonly id: string;
  /** A theme colour. The shape alone tells as much. */
  readonly color?: string;
}

export interface Look {
  readonly label: string;
  readonly description?: string;
  /** Plain text, never Markdown: parts of it come from trajectories. */
  readonly tooltip?: string;
  readonly icon?: Icon;
  /** What menus go by. */
  readonly context?: string;
  /** For a screen reader, which sees no icon. */
  readonly spoken: string;
}

/** Different shapes, so that an outcome does not hang on colour; the same as the marks ● ✗ ◐ ⚠ ○ ? ▷ ‖ · elsewhere. */
export const OUTCOME_ICONS: Readonly<Record<Outcome, Icon>> = {
  passed: { id: 'pass-filled', color: 'testing.iconPassed' },
  failed: { id: 'close', color: 'testing.iconFailed' },
  truncated: { id: 'color-mode', color: 'charts.yellow' },
  infrastructure: { id: 'warning', color: 'charts.orange' },
  cancelled: { id: 'circle-slash', color: 'testing.iconSkipped' },
  unscored: { id: 'question', color: 'testing.iconUnset' },
  running: { id: 'loading~spin', color: 'charts.blue' },
  held: { id: 'debug-pause', color: 'charts.purple' },
  queued: { id: 'circle-outline', color: 'testing.iconQueued' },
};

/** How many attempts ended in each way. */
export function outcomeCounts(rows: Iterable<RolloutRow>): Map<Outcome, number> {
  const counts = new Map<Outcome, number>();
  for (const row of rows) {
    const outcome = outcomeOf(row);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}
