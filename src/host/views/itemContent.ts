/** Describes the appearance of a tree item, without VS Code so that it can be tested. */
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';

export interface Icon {
  /** A codicon. */
  readonly id: string;
  /** A theme color. The shape alone is sufficient. */
  readonly color?: string;
}

export interface ItemContent {
  readonly label: string;
  readonly description?: string;
  /** Plain text, never Markdown, because parts come from trajectories. */
  readonly tooltip?: string;
  readonly icon?: Icon;
  /** Context value for menus. */
  readonly context?: string;
  /** Label for screen readers. */
  readonly ariaLabel: string;
}

/** Icons differ in shape, so that outcomes do not depend on color. They match the marks ● ✗ ◐ ⚠ ○ ? ▷ ‖ · elsewhere. */
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

/** Summarizes how many attempts had each outcome. */
export function outcomeCounts(rows: Iterable<RolloutRow>): Map<Outcome, number> {
  const counts = new Map<Outcome, number>();
  for (const row of rows) {
    const outcome = outcomeOf(row);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}
