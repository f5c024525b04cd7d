/**
 * The numbers of a batch. They count attempts, each by the rollout that settled it; nothing is dropped without being
 * told: attempts = scored + unscored + cancelled + infrastructure + open, and what cannot be said is null, with why.
 */
import { LEVEL, methodText, resamplesFor } from './statistics/bootstrap.ts';
import { attemptsOf, countsByTask, type Attempt, type Settlement } from './statistics/outcomes.ts';
import { reportedKs, type Counts } from './statistics/passRates.ts';
import { passIntervals, passTables } from './statistics/passTables.ts';
import type { Report } from './statistics/schema.ts';
import type { RolloutRow } from './summary.ts';

export interface ReportInput {
  readonly batch: string;
  /** Rows of its rollouts; of an attempt with several tries either the newest or all. Tokens and cost count all that are given. */
  readonly rows: readonly RolloutRow[];
  /** Attempts per task that were asked for; those without a row are open. Absent: what the rows say. */
  readonly attempts?: number;
  /** How many tasks there are. Absent: those of the rows. */
  readonly tasks?: number;
  /** Levels of tasks, by id. */
  readonly levels?: ReadonlyMap<string, string | number>;
  /** `stop.passes_per_task` of the batch. */
  readonly passesPerTask?: number;
  /** More k to report, e.g. those of `--fail-under`. */
  readonly ks?: readonly number[];
}

/** The report of a batch, finished or not. The same rows in any order give the same report. */
export function report(input: ReportInput): Report {
  const attempts = attemptsOf(input.rows);
  const byTask = countsByTask(attempts);
  const why: Record<string, string> = {};
  const count = (settlement: Settlement): number => attempts.filter((attempt) => attempt.settlement === settlement).length;
  const tasks = Math.max(input.tasks ?? 0, byTask.size);
  const perTask = input.attempts ?? attempts.reduce((most, { attempt }) => Math.max(most, attempt), 0);
  const total = input.attempts === undefined ? attempts.length : Math.max(attempts.length, tasks * input.attempts);
  const scored = count('scored');
  const passed = attempts.filter((attempt) => attempt.passed).length;
  const solved = [...byTask.values()].filter((counts) => counts.c > 0).length;

  const ks = reportedKs(perTask, input.ks);
  const counts = [...byTask.values()];
  const tables = passTables(counts, ks);
  const stopped = stoppedEarly(input, attempts, byTask);
  if (stopped) {
    why['pass_at'] = why['pass_all'] = `the batch stops a task after ${input.passesPerTask ?? 0} passes, so how many attempts it got depends on how they went`;
  } else if (scored === 0) {
    why['pass_at'] = why['pass_all'] = 'no attempt is scored yet';
  } else {
    for (const k of ks) if (tables.pass_at[k] === null) why[`pass_at.${k}`] = why[`pass_all.${k}`] = `no task has ${k} scored attempts`;
    if (counts.filter((task) => task.n > 0).length < 2) why['intervals'] = 'with a single task there is nothing to resample';
  }
  const intervals = stopped ? undefined : passIntervals(counts, ks);
  const cost = costOf(input.rows);
  if (cost === null) why['cost'] = 'no rollout tells its cost: the agent file has no price, or nothing has ended';
  if (cost === null || solved === 0) why['cost_per_solved'] = cost === null ? 'there is no cost' : 'no task is solved';
  const tokens = tokensOf(input.rows);
  if (tokens === null) why['tokens'] = 'no model call told its usage';
  const ms = timesOf(attempts);
  if (ms === null) why['ms'] = 'no rollout tells how long it took';
  return {
    batch: input.batch,
    tasks,
    attempts: total,
    scored,
    unscored: count('unscored'),
    cancelled: count('cancelled'),
    infrastructure: count('infrastructure'),
    open: count('open') + total - attempts.length,
    passed,
    failed: scored - passed,
    truncated: attempts.filter((attempt) => attempt.truncated).length,
    solved,
    pass_at: stopped ? null : tables.pass_at,
    tasks_at: tables.tasks_at,
    pass_all: stopped ? null : tables.pass_all,
    intervals: { level: LEVEL, method: methodText(resamplesFor(counts.length)), pass_at: intervals?.pass_at ?? null, pass_all: intervals?.pass_all ?? null },
    tokens,
    ms,
    cost,
    cost_per_solved: cost === null || solved === 0 ? null : cost / solved,
    duplicates: attempts.filter((attempt) => attempt.duplicate).length,
    by_error: sharesBy(attempts, (attempt) => (attempt.error === undefined ? [] : [attempt.error])),
    by_tool: sharesBy(attempts, (attempt) => (attempt.settlement === 'scored' ? attempt.tools : [])),
    by_level: byLevel(byTask, input.levels, ks, stopped),
    why,
  };
}

/** Whether the stop rule took attempts from a task because of how its others went. */
function stoppedEarly({ passesPerTask }: ReportInput, attempts: readonly Attempt[], byTask: ReadonlyMap<string, Counts>): boolean {
  if (passesPerTask === undefined) return false;
  return attempts.some(({ task, settlement }) => (settlement === 'cancelled' || settlement === 'open') && (byTask.get(task)?.c ?? 0) >= passesPerTask);
}

function tokensOf(rows: readonly RolloutRow[]): Report['tokens'] {
  const tokens = { input: 0, output: 0, cached: 0 };
  for (const { progress } of rows) {
    tokens.input += progress.input_tokens;
    tokens.output += progress.output_tokens;
    tokens.cached += progress.cached_tokens;
  }
  // A model call uses tokens; where none are counted, none were told (imported recordings).
  return tokens.input + tokens.output === 0 ? null : tokens;
}

function costOf(rows: readonly RolloutRow[]): number | null {
  let cost: number | null = null;
  for (const { progress } of rows) if (progress.cost !== undefined) cost = (cost ?? 0) + progress.cost;
  return cost;
}

function timesOf(attempts: readonly Attempt[]): Report['ms'] {
  const times = attempts.flatMap(({ ms }) => ms ?? []).sort((a, b) => a - b);
  const last = times.at(-1);
  if (last === undefined) return null;
  const rank = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? last;
  return { p50: rank(0.5), p95: rank(0.95), max: last, total: times.reduce((sum, ms) => sum + ms, 0) };
}

/** Attempts and passes by each of their names, the most frequent first. */
function sharesBy(attempts: readonly Attempt[], names: (attempt: Attempt) => readonly string[]): Record<string, { attempts: number; passed: number }> {
  const shares = new Map<string, { attempts: number; passed: number }>();
  for (const attempt of attempts) {
    for (const name of new Set(names(attempt))) {
      let share = shares.get(name);
      if (share === undefined) shares.set(name, (share = { attempts: 0, passed: 0 }));
      share.attempts += 1;
      if (attempt.passed) share.passed += 1;
    }
  }
  return Object.fromEntries([...shares].sort(([a, x], [b, y]) => y.attempts - x.attempts || (a < b ? -1 : 1)));
}

function byLevel(byTask: ReadonlyMap<string, Counts>, levels: ReportInput['levels'], ks: readonly number[], stopped: boolean): Report['by_level'] {
  const groups = new Map<string, Counts[]>();
  for (const [task, counts] of byTask) {
    const level = levels?.get(task);
    if (level === undefined) continue;
    const group = groups.get(String(level));
    if (group === undefined) groups.set(String(level), [counts]);
    else group.push(counts);
  }
  return Object.fromEntries([...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).map(([level, counts]) => {
    const tables = passTables(counts, ks);
    return [level, {
      tasks: counts.length,
      scored: sum(counts.map((count) => count.n)),
      passed: sum(counts.map((count) => count.c)),
      solved: counts.filter((count) => count.c > 0).length,
      pass_at: stopped ? null : tables.pass_at,
      tasks_at: tables.tasks_at,
      pass_all: stopped ? null : tables.pass_all,
    }];
  }));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
