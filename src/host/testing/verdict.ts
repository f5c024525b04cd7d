/** Computes the test result of a task, which passes if at least one attempt passed. */

import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { causeOf } from '../../trace/cause.ts';
import { attemptRow, outcomeOf } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { scoreText } from '../../trace/text/score.ts';

export interface TaskVerdict {
  /**
   * `errored`: no attempt could be scored. `skipped`: cancelled before an attempt was scored.
   */
  readonly state: 'passed' | 'failed' | 'errored' | 'skipped';
  /** E.g. `5/8 passed`, and the outcomes of the others. */
  readonly text: string;
  /** The attempt to show first: a failed one for a failed task, a passed one for a passed task. */
  readonly first: RolloutRow | undefined;
  /** Total working time of its attempts. */
  readonly ms: number | undefined;
}

/** `rows` are rollouts of one task, with all or only the newest tries. `attempts` is the planned number. */
export function taskVerdict(rows: readonly RolloutRow[], attempts: number): TaskVerdict {
  const settled = settledAttempts(rows);
  const by = (outcome: ReturnType<typeof outcomeOf>): RolloutRow[] =>
    settled.filter((row) => outcomeOf(row) === outcome);
  const passed = by('passed');
  const failed = [...by('failed'), ...by('truncated')].sort((a, b) => a.attempt - b.attempt);
  const lost = by('infrastructure');
  const unscored = by('unscored');
  const others = [
    lost.length > 0 ? `${lost.length} lost to infrastructure` : '',
    unscored.length > 0 ? `${unscored.length} unscored` : '',
    by('truncated').length > 0 ? `${by('truncated').length} truncated` : '',
    by('cancelled').length > 0 ? `${by('cancelled').length} cancelled` : '',
  ].filter((part) => part !== '');
  const text = [`${passed.length}/${attempts} passed`, ...others].join(', ');
  const times = settled.flatMap(({ progress }) => progress.ms ?? []);
  const ms = times.length === 0 ? undefined : times.reduce((sum, each) => sum + each, 0);
  if (passed.length > 0) return { state: 'passed', text, first: passed[0], ms };
  if (failed.length > 0) return { state: 'failed', text, first: failed[0], ms };
  const first = lost[0] ?? unscored[0];
  return first === undefined ? { state: 'skipped', text, first: undefined, ms } : { state: 'errored', text, first, ms };
}

/**
 * Returns whether a task is complete. Attempts lost to infrastructure may be retried until the batch ends.
 */
export function isSettled(rows: readonly RolloutRow[], attempts: number): boolean {
  return (
    new Set(rows.flatMap(({ settles, state, attempt }) => (settles && state === 'ended' ? [attempt] : []))).size >=
    attempts
  );
}

/** Returns the attemptRow row of each settled attempt. */
function settledAttempts(rows: readonly RolloutRow[]): RolloutRow[] {
  return [...Map.groupBy(rows, ({ attempt }) => attempt).values()]
    .flatMap((tries) => {
      const row = attemptRow(tries);
      return row !== undefined &&
        row.state === 'ended' &&
        (row.settles || row.progress.status === 'infrastructure' || row.progress.status === 'cancelled')
        ? [row]
        : [];
    })
    .sort((a, b) => a.attempt - b.attempt);
}

/** Renders an ended attempt as one line of plain text. */
export function attemptLine(row: RolloutRow): string {
  const { progress } = row;
  const parts = [
    `${row.task}/${row.attempt}${row.try > 1 ? ` (try ${row.try})` : ''}`,
    outcomeOf(row),
    progress.reward === undefined || progress.reward === null ? '' : `score ${scoreText(progress.reward)}`,
    plural(progress.steps, 'step'),
    progress.ms === undefined ? '' : duration(progress.ms),
    causeOf(row)?.text ?? '',
  ];
  return parts.filter((part) => part !== '').join('  ');
}

/** Describes an attempt that did not pass, without its score's explanation. */
export function attemptText(row: RolloutRow): string {
  const { progress } = row;
  const lines = [attemptLine(row)];
  if (progress.error_message !== undefined) lines.push(progress.error_message);
  return lines.join('\n');
}
