/** Builds the items of the Batches view: batches, tasks, and attempts. */

import { ownerText } from '../../../common/ownerText.ts';
import { nounFor, plural } from '../../../common/text.ts';
import { trimmedText } from '../../../common/trimmed.ts';
import { compact, duration } from '../../../common/units.ts';
import { ordinal, waitingText } from '../../../common/waitingText.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { WaitingBatch } from '../../../protocol/shares.ts';
import { causeOf } from '../../../trace/cause.ts';
import { heldText, holdOf } from '../../../trace/holder.ts';
import { attemptCount, attemptsText, outcomeOf } from '../../../trace/outcome.ts';
import type { HoldSummary, RolloutRow } from '../../../trace/summary.ts';
import { taskName } from '../../../trace/task.ts';
import { scoreText } from '../../../trace/text/score.ts';
import { batchProgress, heldSuffix } from '../../batches/batchText.ts';
import { type Icon, type ItemContent, OUTCOME_ICONS, outcomeCounts } from '../itemContent.ts';
import type { TaskEntry } from './batchContents.ts';
import type { AnyPodNode, PodsNode } from './podNodes.ts';

/** Longer names of tasks are cut; the tooltip has the whole text. */
const MAX_LABEL = 80;

/** Menus pass these to commands, which read `batch` or `rollout`. */
export interface BatchNode {
  readonly kind: 'batch';
  readonly batch: string;
  readonly reference: string;
}
export interface TaskNode {
  readonly kind: 'task';
  readonly batch: string;
  readonly task: string;
  readonly reference: string;
}
export interface AttemptNode {
  readonly kind: 'attempt';
  readonly batch: string;
  readonly task: string;
  readonly rollout: string;
  readonly reference: string;
}
/** A “Load more…” item for batches, tasks, or attempts. */
export interface MoreNode {
  readonly kind: 'more';
  readonly of: BatchNode | TaskNode | undefined;
}
/** An item for content that could not be loaded. */
export interface ErrorNode {
  readonly kind: 'error';
  readonly of: BatchNode | TaskNode | PodsNode | undefined;
  readonly text: string;
}
/** The group of the batches that debuggers launched, and of their forks. */
export interface DebugRunsNode {
  readonly kind: 'debugRuns';
}
export type Node = BatchNode | TaskNode | AttemptNode | MoreNode | ErrorNode | DebugRunsNode | AnyPodNode;

export function isPodNode(node: Node): node is AnyPodNode {
  return ['pods', 'pod', 'container', 'podRollout', 'podText'].includes(node.kind);
}

export function debugRunsItem(rows: readonly BatchRow[]): ItemContent {
  const running = rows.filter(({ state }) => state !== 'ended').length;
  const held = rows.reduce((sum, { counts }) => sum + counts.held, 0);
  const parts = [
    String(rows.length),
    running > 0 ? `${running} running` : '',
    held > 0 ? `${plural(held, 'attempt')} held` : '',
  ];
  const description = parts.filter((part) => part !== '').join(' · ');
  return {
    label: 'Debug Runs',
    description,
    tooltip: 'Batches that a debugger launched, and their forks. Statistics and commands do not use them by default.',
    icon: { id: 'debug-alt' },
    context: 'debugRuns',
    ariaLabel: `Debug runs, ${description}`,
  };
}

/** `waiting`: why it does not run as much as it could. */
export function batchItem(row: BatchRow, now: number, waiting?: WaitingBatch): ItemContent {
  const { counts } = row;
  const { done, all } = batchProgress(row);
  const rate = passRateText(row);
  const parts = [
    // What nothing runs of waits as a whole.
    waiting === undefined || counts.running > 0 ? '' : `Waiting: ${waitingText(waiting)}`,
    row.state === 'ended' ? '' : `${done}/${all}${heldSuffix(counts.held)}`,
    row.state !== 'paused' ? '' : row.released === true ? 'paused, pods released' : 'paused',
    rate,
    row.imported ? 'imported' : '',
    row.trimmed === undefined ? '' : 'trimmed',
    agoText(now - row.created_at),
  ];
  const description = parts.filter((part) => part !== '').join(' · ');
  const tooltip = [
    row.name,
    row.batch,
    row.reason === undefined || row.reason === 'done' ? row.state : `${row.state}: ${row.reason}`,
    `${plural(row.tasks, 'task')} x ${attemptsText(row)} ${nounFor(row.attempts, 'attempt')}`,
    waiting === undefined ? '' : `Waiting, ${ordinal(waiting.position)} of ${waiting.of}: ${waiting.text}`,
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${count} ${name}`)
      .join(', '),
    `${row.steps.toLocaleString('en-US')} ${nounFor(row.steps, 'step')}, ` +
      `${compact(row.input_tokens + row.output_tokens)} tokens`,
    new Date(row.created_at).toLocaleString(),
    row.by === undefined ? '' : `by ${ownerText(row)}`,
    row.ended_at === undefined || row.imported ? '' : `took ${duration(row.ended_at - row.created_at)}`,
    row.trimmed === undefined ? '' : `${trimmedText(row.trimmed)} The results stay.`,
  ]
    .filter((line) => line !== '')
    .join('\n');
  return {
    label: row.name,
    description,
    tooltip,
    icon: waiting !== undefined && counts.running === 0 ? WAITING_ICON : batchIcon(row),
    context: `batch.${row.state}${row.trimmed === undefined ? '' : '.trimmed'}`,
    ariaLabel: `Batch ${row.name}, ${row.state}, ${description}`,
  };
}

/**
 * Returns pass@1 if all attempts were scored, because it is a mean over tasks. Otherwise, returns the share of scored
 * attempts that passed.
 */
export function passRateText({ counts }: BatchRow): string {
  const scored = counts.passed + counts.failed;
  if (scored === 0) return '';
  return scored === attemptCount({ counts })
    ? `pass@1 ${(counts.passed / scored).toFixed(2)}`
    : `${Math.round((100 * counts.passed) / scored)}% of ${scored} passed`;
}

const WAITING_ICON: Icon = { id: 'watch', color: 'charts.yellow' };

function batchIcon(row: BatchRow): Icon {
  const color = row.state === 'ended' ? 'testing.iconUnset' : 'charts.blue';
  if (row.state === 'paused') return { id: 'debug-pause', color: 'charts.purple' };
  // Nothing moves before somebody releases what is held.
  if (row.counts.held > 0 && row.counts.running === 0) return OUTCOME_ICONS.held;
  if (row.state !== 'ended') return { id: 'loading~spin', color };
  if (row.reason === 'cancelled') return { id: 'circle-slash', color: 'testing.iconSkipped' };
  return row.counts.infrastructure > 0 ? { id: 'warning', color: 'charts.orange' } : { id: 'table', color };
}

/** Returns e.g. `just now`, `5 min ago`, `3 h ago`, or `12 days ago`. */
export function agoText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  return `${plural(Math.floor(hours / 24), 'day')} ago`;
}

/** @param batch `attempts`: the planned number per task. */
export function taskItem(
  entry: TaskEntry,
  { attempts, imported = false }: { readonly attempts: number; readonly imported?: boolean },
): ItemContent {
  const counts = outcomeCounts(entry.rows.values());
  const of = (...outcomes: Parameters<typeof counts.get>[0][]): number =>
    outcomes.reduce((sum, outcome) => sum + (counts.get(outcome) ?? 0), 0);
  const passed = of('passed');
  const running = of('running');
  const held = of('held');
  const settled = of('passed', 'failed', 'truncated', 'unscored', 'cancelled', 'infrastructure');
  const label = taskName({ id: entry.task, question: entry.question }, imported, MAX_LABEL);
  // Several tasks of a recording may have the same text.
  const id = label === entry.task ? '' : entry.task;
  // The tasks of published scenarios are mostly named after theirs.
  const scenario = entry.scenario === undefined || entry.task.startsWith(entry.scenario) ? '' : entry.scenario;
  // A task with very many attempts loads the rest when it is opened.
  const description = !entry.complete
    ? [id, scenario].filter((part) => part !== '').join(' · ')
    : [
        id,
        scenario,
        `${passed}/${attempts} passed`,
        running > 0 ? `${running} running` : '',
        held > 0 ? `${held} held` : '',
        of('infrastructure') > 0 ? `${of('infrastructure')} lost` : '',
      ]
        .filter((part) => part !== '')
        .join(' · ');
  const icon = !entry.complete
    ? { id: 'list-flat' }
    : running > 0
      ? OUTCOME_ICONS.running
      : held > 0
        ? OUTCOME_ICONS.held
        : settled === 0
          ? OUTCOME_ICONS.queued
          : passed > 0
            ? { ...OUTCOME_ICONS.passed, id: passed >= attempts ? 'pass-filled' : 'pass' }
            : of('failed') > 0
              ? OUTCOME_ICONS.failed
              : of('truncated') > 0
                ? OUTCOME_ICONS.truncated
                : of('infrastructure') > 0
                  ? OUTCOME_ICONS.infrastructure
                  : of('cancelled') > 0
                    ? OUTCOME_ICONS.cancelled
                    : OUTCOME_ICONS.unscored;
  const tooltip = [
    id,
    entry.question,
    entry.level === undefined ? '' : `level ${entry.level}`,
    entry.scenario === undefined ? '' : `scenario ${entry.scenario}`,
  ];
  return {
    label,
    description,
    icon,
    context: 'task',
    tooltip: tooltip.filter((line) => line !== '').join('\n'),
    ariaLabel: `Task ${label}${description === '' ? '' : `, ${description}`}`,
  };
}

export function attemptItem(row: RolloutRow, now: number): ItemContent {
  const { progress } = row;
  const outcome = outcomeOf(row);
  const hold = holdOf(row);
  const description = [
    hold === undefined ? outcome : heldText(hold, now),
    row.try > 1 ? `try ${row.try}` : '',
    row.state === 'queued' ? '' : plural(progress.steps, 'step'),
    progress.ms === undefined ? '' : duration(progress.ms),
    causeOf(row)?.text ?? '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
  const tooltip = [
    `${row.task} / attempt ${row.attempt}`,
    row.rollout,
    outcome,
    progress.reward === undefined || progress.reward === null ? '' : `score ${scoreText(progress.reward)}`,
    hold === undefined ? '' : heldText(hold, now),
    `${plural(progress.steps, 'step')}, ${plural(progress.tool_calls, 'tool call')}, ` +
      `${compact(progress.input_tokens + progress.output_tokens)} tokens`,
    progress.error_message ?? '',
    row.duplicate_of === undefined ? '' : 'Same trajectory as an earlier attempt',
  ]
    .filter((line) => line !== '')
    .join('\n');
  return {
    label: `Attempt ${row.attempt}`,
    description,
    tooltip,
    icon: OUTCOME_ICONS[outcome],
    context: attemptContext(row, hold),
    ariaLabel: `Attempt ${row.attempt}, ${description}`,
  };
}

/** `attempt.held`: Release can end the hold. `attempt.trimmed`: only the results are left. */
function attemptContext(row: RolloutRow, hold: HoldSummary | undefined): string {
  if (row.trimmed === true) return 'attempt.trimmed';
  if (hold === undefined) return row.state === 'running' ? 'attempt.running' : 'attempt';
  return hold.why === 'input' || hold.why === 'lost_server' ? 'attempt.waiting' : 'attempt.held';
}
