/**
 * Renders batches as text: a table of batches, or the heading and the task × attempt grid of one batch.
 */

import { ownerText } from '../../common/ownerText.ts';
import { nounFor, oneLine, plural } from '../../common/text.ts';
import { compact, count, duration } from '../../common/units.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { heldText, holdOf } from '../../trace/holder.ts';
import { attemptCount, attemptsText } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { harmlessLine } from '../../trace/text/terminal.ts';
import { outcomeMark } from './lines.ts';
import { moment, table, wrapped } from './table.ts';

const BAR = 6;
const MAX_TASK = 32;
/** Held attempts that are listed. */
const MAX_HELD = 20;

/** Explains the marks of the grid. */
const LEGEND = [
  '● passed',
  '✗ failed',
  '◐ truncated',
  '? unscored',
  '⚠ infrastructure',
  '○ cancelled',
  '▷ running',
  '‖ held',
  '· queued',
];

export function legend(width: number): string {
  return wrapped(LEGEND, '  ', width);
}

/** Renders a table with one line per batch. */
export function batchTable(batches: readonly BatchRow[]): string {
  const lines = [
    ['batch', 'name', 'created', 'state', 'tasks x attempts', 'passed', 'failed', 'open', 'tokens'],
    ...batches.map(batchLine),
  ];
  // Only in a cluster, the users are known.
  const owned = batches.some(({ by }) => by !== undefined);
  const users = ['by', ...batches.map(ownerText)].map(harmlessLine);
  return table(owned ? lines.map((line, index) => [...line, users[index] ?? '']) : lines, [5, 6, 7, 8]);
}

function batchLine(row: BatchRow): string[] {
  const { counts } = row;
  return [
    row.batch,
    row.name,
    moment(row.created_at),
    `${row.state}${row.debug === true ? ', debug run' : ''}${row.trimmed === undefined ? '' : ', trimmed'}`,
    `${row.tasks} x ${attemptsText(row)}`,
    String(counts.passed),
    String(counts.failed),
    String(counts.running + counts.held + counts.queued),
    compact(row.input_tokens + row.output_tokens),
  ];
}

/** `rate`: ended rollouts per hour. */
export function batchHeading(batch: BatchRow, width: number, rate?: number): string {
  const { counts } = batch;
  const settled = counts.passed + counts.failed + counts.unscored;
  const parts = [
    batch.name,
    batch.batch,
    batch.debug === true ? 'debug run' : '',
    batch.released === true
      ? `${batch.state}, pods released`
      : batch.reason === undefined || batch.reason === 'done'
        ? batch.state
        : `${batch.state}: ${batch.reason}`,
    batch.trimmed === undefined ? '' : 'trajectories trimmed',
    `${plural(batch.tasks, 'task')} x ${attemptsText(batch)}`,
    `${settled}/${attemptCount(batch)} settled`,
    `${counts.passed} passed`,
    counts.running > 0 ? `${counts.running} running` : '',
    counts.held > 0 ? `${counts.held} held` : '',
    counts.queued > 0 && batch.state !== 'ended' ? `${counts.queued} queued` : '',
    `${batch.steps.toLocaleString('en-US')} ${nounFor(batch.steps, 'step')}`,
    `${compact(batch.input_tokens + batch.output_tokens)} tokens`,
    batch.side_tokens === undefined
      ? ''
      : `${compact(batch.side_tokens.input + batch.side_tokens.output)} tokens of side models`,
    rate === undefined ? '' : `${count(rate)} rollouts/h`,
    batch.by === undefined ? '' : `by ${harmlessLine(ownerText(batch))}`,
    moment(batch.created_at),
    batch.ended_at === undefined || batch.imported ? '' : duration(batch.ended_at - batch.created_at),
  ];
  return wrapped(
    parts.filter((part) => part !== ''),
    ' · ',
    width,
  );
}

/** Renders one line per task. `rows` has one row per attempt, ordered by task and attempt. */
export function batchGrid(rows: readonly RolloutRow[], width: number): string {
  const tasks = Map.groupBy(rows, (row) => row.task);
  const nameWidth = Math.min(MAX_TASK, Math.max(4, ...[...tasks.keys()].map((task) => task.length)));
  const lines: string[] = [];
  for (const [task, attempts] of tasks) {
    const scored = attempts.filter(
      (row) => row.settles && row.progress.passed !== null && row.progress.passed !== undefined,
    );
    const passed = scored.filter((row) => row.progress.passed === true).length;
    const share = scored.length === 0 ? 0 : Math.round((passed / scored.length) * BAR);
    const rate = `${'▓'.repeat(share)}${'░'.repeat(BAR - share)} ${`${passed}/${scored.length}`.padStart(7)}`;
    const name = oneLine(harmlessLine(task), nameWidth).padEnd(nameWidth);
    const room = Math.max(8, width - nameWidth - BAR - 12);
    const marks = attempts.map(outcomeMark).join(' ');
    lines.push(`${name}  ${rate}  ${marks.length > room ? `${marks.slice(0, room - 1)}…` : marks}`);
  }
  return lines.join('\n');
}

/** Lists the held attempts of a batch: who holds them, until when, and how to release them; '' if there are none. */
export function heldAttempts(rows: readonly RolloutRow[], now: number): string {
  const lines = rows.flatMap((row) => {
    const hold = holdOf(row);
    return hold === undefined ? [] : [`‖ ${row.task}/${row.attempt}: ${heldText(hold, now)} · ${row.rollout}`];
  });
  if (lines.length === 0) return '';
  const more = lines.length > MAX_HELD ? [`  and ${lines.length - MAX_HELD} more`] : [];
  return [...lines.slice(0, MAX_HELD), ...more, 'Release an attempt with rollout resume ROLLOUT.'].join('\n');
}
