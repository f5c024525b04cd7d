/** The figures of a task that the grid shows and sorts by, computed from the rows of its attempts. */

import type { BatchRow } from '../../../src/protocol/client.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import { type Outcome, outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';

/** The newest row of each attempt, by attempt number − 1. */
export interface AttemptRows {
  readonly attempts: readonly (RolloutRow | undefined)[];
}

export type Counts = Readonly<Record<Outcome, number>>;

export interface TaskFacts {
  readonly counts: Counts;
  /** Number of scored attempts, and how many of them passed. */
  readonly scored: number;
  readonly passed: number;
  /** Revision of the batch when one of its rows last changed. */
  readonly newest: number;
  /** Changes with every row: the sum of the rows' revisions, which only grow. */
  readonly stamp: number;
  readonly tokens: number;
  /** Sum over its ended attempts. */
  readonly ms: number;
  /** The most frequent cause of its attempts that did not pass; of equals the first. */
  readonly cause: TaskCause | undefined;
}

export interface TaskCause {
  readonly text: string;
  readonly outcome: Outcome;
  readonly count: number;
}

export interface TaskMedians {
  readonly steps: number | undefined;
  readonly ms: number | undefined;
}

/** Returns the outcome of an attempt, which may have no row yet. */
export function outcomeAt(row: RolloutRow | undefined): Outcome {
  return row === undefined ? 'queued' : outcomeOf(row);
}

export function noCounts(): Record<Outcome, number> {
  return {
    passed: 0,
    failed: 0,
    truncated: 0,
    infrastructure: 0,
    cancelled: 0,
    unscored: 0,
    running: 0,
    held: 0,
    queued: 0,
  };
}

/** Number of ended attempts, whatever their outcome. */
export function doneOf(counts: Counts): number {
  return counts.passed + counts.failed + counts.truncated + counts.infrastructure + counts.cancelled + counts.unscored;
}

/**
 * Returns how many attempts every task has; with `attempts.until`, a task gets others only if it needs them. Each group
 * for a trainer has its own number: all of its attempts have rows.
 */
export function sureAttempts({
  attempts,
  adaptive,
  groups,
}: Pick<BatchRow, 'attempts' | 'adaptive' | 'groups'>): number {
  return groups === true ? 0 : (adaptive?.least ?? attempts);
}

/** `width`: attempts that the task has in any case. Of those, the ones without a row are queued. */
export function taskFacts(task: AttemptRows | undefined, width: number): TaskFacts {
  const counts = noCounts();
  let newest = 0;
  let stamp = width;
  let tokens = 0;
  let ms = 0;
  let rows = 0;
  let scored = 0;
  for (const row of task?.attempts ?? []) {
    if (row === undefined) continue;
    rows += 1;
    stamp += row.rev + 1;
    counts[outcomeOf(row)] += 1;
    if (row.state === 'ended' && typeof row.progress.passed === 'boolean') scored += 1;
    if (row.rev > newest) newest = row.rev;
    tokens += row.progress.input_tokens + row.progress.output_tokens;
    ms += row.progress.ms ?? 0;
  }
  counts.queued += Math.max(0, width - rows);
  return { counts, scored, passed: counts.passed, newest, stamp, tokens, ms, cause: causeOfTask(task) };
}

function causeOfTask(task: AttemptRows | undefined): TaskCause | undefined {
  const causes = new Map<string, { text: string; outcome: Outcome; count: number }>();
  let most: TaskCause | undefined;
  for (const row of task?.attempts ?? []) {
    if (row === undefined) continue;
    const cause = causeOf(row);
    if (cause === undefined) continue;
    let counted = causes.get(cause.text);
    if (counted === undefined)
      causes.set(cause.text, (counted = { text: cause.text, outcome: outcomeOf(row), count: 0 }));
    counted.count += 1;
  }
  for (const counted of causes.values()) if (most === undefined || counted.count > most.count) most = counted;
  return most;
}

export function taskMedians(task: AttemptRows | undefined): TaskMedians {
  const steps: number[] = [];
  const times: number[] = [];
  for (const row of task?.attempts ?? []) {
    if (row?.state !== 'ended') continue;
    steps.push(row.progress.steps);
    if (row.progress.ms !== undefined) times.push(row.progress.ms);
  }
  return { steps: median(steps), ms: median(times) };
}

function median(values: number[]): number | undefined {
  values.sort((a, b) => a - b);
  return values[Math.ceil(values.length / 2) - 1];
}
