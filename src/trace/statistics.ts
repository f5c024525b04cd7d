/**
 * The report of a batch. It counts attempts, each by the rollout that settled it. Nothing is dropped silently: attempts
 * = scored + unscored + cancelled + infrastructure + open, and unavailable values are null, with a reason.
 */
import { each, finish, type Piecewise } from '../common/piecewise.ts';
import { groupFigures } from './groups/figures.ts';
import { IncidentTally, type RepeatedRequests } from './incidents/tally.ts';
import { NO_FAULTS } from './recovery.ts';
import type { SideUsage, TraceEvent } from './schema.ts';
import { LEVEL, methodText, resamplesFor } from './statistics/bootstrap.ts';
import { controlFigures, type TaskBudget } from './statistics/controls.ts';
import { attemptOf, attemptRows } from './statistics/outcomes.ts';
import { PartTally } from './statistics/parts.ts';
import { type Counts, reportedKs } from './statistics/passRates.ts';
import { type CountGroup, groupCounts, passIntervals, passTables, passValues } from './statistics/passTables.ts';
import type { Report, TaskGroup } from './statistics/schema.ts';
import { Tally, tallyOf } from './statistics/tally.ts';
import { endedPerHour, timesOf } from './statistics/throughput.ts';
import { ValueTally } from './statistics/values.ts';
import type { RolloutRow } from './summary.ts';

export interface ReportInput {
  readonly batch: string;
  /**
   * Rows of its rollouts: for each attempt, all its tries or only the newest. Tokens and cost are sums over all these
   * rows.
   */
  readonly rows: readonly RolloutRow[];
  /** Requested attempts per task; those without a row are open. By default, the attempts in the rows. */
  readonly attempts?: number;
  /** Number of tasks. By default, the tasks in the rows. */
  readonly tasks?: number;
  /** Levels of tasks, by task ID. */
  readonly levels?: ReadonlyMap<string, string | number>;
  /** Scenarios of tasks, by task ID. */
  readonly scenarios?: ReadonlyMap<string, string>;
  /** `stop.passes_per_task` of the batch. */
  readonly passesPerTask?: number;
  /** The rules of its world, and whether they apply. */
  readonly perturb?: { readonly rules: readonly string[]; readonly on: boolean } | undefined;
  /** The model that marks predicted observations, if its scorer is such a judge. */
  readonly judge?: string;
  /** Tasks get further attempts while they need them, up to `most`. Without `attempts`. */
  readonly adaptive?: { readonly least: number; readonly most: number; readonly until: 'informative' | 'solved' };
  /** More values of k to report, such as those of `--fail-under`. */
  readonly ks?: readonly number[];
  /** What its curriculum left out. */
  readonly curriculum?: Report['curriculum'] | undefined;
  /** What the attempts of a task may use. */
  readonly budget?: TaskBudget | undefined;
  /** By ID of a task that is a group: the ID of the dataset's task that it repeats. */
  readonly repeated?: ReadonlyMap<string, string>;
  /** What the filter of its groups left out. */
  readonly filtered?: Report['filtered'];
  /** What was replayed with its groups. */
  readonly replayed?: Report['replayed'];
  /** Its own stream. */
  readonly events?: Iterable<TraceEvent>;
  /** Requests for groups that it had. */
  readonly requestedAgain?: RepeatedRequests | undefined;
  /** When the rows were read, for the rate; `ended` for an ended batch. */
  readonly at?: number | 'ended';
}

/** Returns the report of a batch, finished or not. It does not depend on the order of the rows. */
export function report(input: ReportInput): Report {
  return finish(reportPiecewise(input));
}

/** Computes the report in pieces, so that a large batch does not block other work. */
export function* reportPiecewise(input: ReportInput): Piecewise<Report> {
  const tally = new Tally();
  const counting = yield* attemptRows(input.rows);
  const live = { running: 0, held: 0 };
  const stops = { attempts: 0, tokens: 0 };
  const values = new ValueTally();
  const parts = new PartTally();
  const incidents = new IncidentTally();
  yield* each(counting, (row) => {
    const attempt = attemptOf(row);
    tally.add(attempt);
    parts.add(row, attempt);
    incidents.addAttempt(row);
    values.add(attempt, row.progress, input.levels?.get(row.task));
    if (row.state === 'running' || row.state === 'held') live[row.state] += 1;
    if (row.progress.limit === 'condition') {
      stops.attempts += 1;
      stops.tokens += row.progress.input_tokens + row.progress.output_tokens;
    }
  });
  const perHour = input.at === undefined ? undefined : yield* endedPerHour(yield* timesOf(counting), input.at);
  const usage = new Usage();
  yield* each(input.rows, (row) => {
    usage.add(row);
    incidents.addRollout(row);
  });
  yield* each(input.events ?? [], (event) => incidents.addEvent(event));
  if (input.requestedAgain !== undefined) incidents.addRequests(input.requestedAgain);
  const {
    groups: bySignal,
    wasted,
    lost,
    drift,
    versions,
  } = yield* groupFigures({
    counting,
    rows: input.rows,
    // In an ended batch, attempts that never began are not open.
    ...(input.at === 'ended' ? {} : { attempts: input.attempts, tasks: input.tasks }),
  });
  const controls = yield* controlFigures({ ...input, counting });
  const why: Record<string, string> = {};
  const { settled } = tally;
  const { scored } = settled;
  const tasks = Math.max(input.tasks ?? 0, tally.tasks.size);
  const total = input.attempts === undefined ? tally.attempts : Math.max(tally.attempts, tasks * input.attempts);

  const ks = reportedKs(input.adaptive?.least ?? input.attempts ?? tally.maxAttempt, input.ks);
  // How many attempts a task got depends on their outcomes, but not whether it got the first ones.
  const first = input.adaptive === undefined ? tally : firstOf(counting, input.adaptive.least);
  const groups = yield* groupCounts(first.tasks.values());
  const rates = passValues(groups, ks);
  const resamples = resamplesFor(rates);
  const tables = passTables(groups, ks);
  const solved = input.adaptive === undefined ? tasksWith(groups, ({ c }) => c > 0) : solvedIn(tally);
  const stopped = stoppedEarly(input, tally);
  if (stopped) {
    why['pass_at'] = why['pass_all'] =
      `the batch stops a task ${whyStopped(input)}, so its number of attempts depends on their outcomes`;
  } else if (scored === 0) {
    why['pass_at'] = why['pass_all'] = 'no attempt is scored yet';
  } else {
    for (const k of ks)
      if (tables.pass_at[k] === null) why[`pass_at.${k}`] = why[`pass_all.${k}`] = `no task has ${k} scored attempts`;
    if (tasksWith(groups, ({ n }) => n > 0) < 2) why['intervals'] = 'resampling needs more than one task';
  }
  const intervals = stopped ? undefined : yield* passIntervals(rates, ks, resamples);
  const { cost, tokens } = usage;
  if (cost === null) why['cost'] = 'no rollout has a cost: the agent file has no price, or nothing has ended';
  if (cost === null || solved === 0) why['cost_per_solved'] = cost === null ? 'there is no cost' : 'no task is solved';
  if (tokens === null) why['tokens'] = 'no token usage was recorded';
  if (perHour === undefined) why['per_hour'] = 'no times were recorded';
  const ms = durationsOf(tally.times);
  if (ms === null) why['ms'] = 'no durations were recorded';
  return {
    batch: input.batch,
    tasks,
    attempts: total,
    scored,
    unscored: settled.unscored,
    cancelled: settled.cancelled,
    infrastructure: settled.infrastructure,
    open: settled.open + total - tally.attempts,
    ...live,
    passed: tally.passed,
    failed: scored - tally.passed,
    adaptive: input.adaptive === undefined ? null : savedBy(input.adaptive, tally, tasks),
    truncated: tally.truncated,
    stopped: stops,
    solved,
    pass_at: stopped ? null : tables.pass_at,
    tasks_at: tables.tasks_at,
    pass_all: stopped ? null : tables.pass_all,
    intervals: {
      level: LEVEL,
      method: methodText(resamples),
      pass_at: intervals?.pass_at ?? null,
      pass_all: intervals?.pass_all ?? null,
    },
    tokens,
    side: usage.side,
    ms,
    per_hour: perHour ?? null,
    cost,
    cost_per_solved: cost === null || solved === 0 ? null : cost / solved,
    duplicates: tally.duplicates,
    by_error: mostFirst(tally.byError),
    by_cause: Object.fromEntries(
      Object.entries(mostFirst(tally.byCause)).map(([text, { kind, attempts, tasks: of }]) => [
        text,
        { kind, attempts, tasks: of.size },
      ]),
    ),
    by_outcome: Object.fromEntries(tally.byOutcome),
    by_tool: mostFirst(tally.byTool),
    perturbed: input.perturb?.on ?? null,
    by_rule: byRule(input, tally),
    rates: tally.rates,
    predictions: Object.fromEntries(tally.predictions.accuracies().map(({ name, ...of }) => [name, of])),
    calls: tally.calls,
    prediction_accuracy: tally.predictions.overall().accuracy,
    by_part: yield* parts.result(),
    by_level: yield* byName(first.tasks, input.levels, ks, stopped),
    by_scenario: yield* byName(first.tasks, input.scenarios, ks, stopped),
    value: values.result(input.judge),
    groups: { ...bySignal },
    wasted: { ...wasted },
    ...controls,
    filtered: input.filtered ?? { groups: 0, tokens: 0 },
    replayed: input.replayed ?? { groups: 0, rollouts: 0 },
    lost: { ...lost },
    drift: { ...drift },
    versions: versions.map(([version, attempts]) => [version, attempts]),
    incidents: incidents.list(),
    why,
  };
}

function firstOf(counting: readonly RolloutRow[], least: number): Tally {
  return tallyOf(counting.filter(({ attempt }) => attempt <= least).map(attemptOf));
}

function solvedIn({ tasks }: Tally): number {
  return [...tasks.values()].filter(({ c }) => c > 0).length;
}

/** Returns what tasks that needed fewer attempts than `most` saved. Attempts lost to infrastructure do not count. */
function savedBy(
  { least, most, until }: NonNullable<ReportInput['adaptive']>,
  tally: Tally,
  tasks: number,
): NonNullable<Report['adaptive']> {
  const used = tally.attempts - tally.settled.infrastructure;
  const informative = [...tally.tasks.values()].filter(({ n, c }) => c > 0 && c < n).length;
  return { least, most, until, saved: Math.max(0, tasks * most - used), informative };
}

function tasksWith(groups: readonly CountGroup[], test: (counts: Counts) => boolean): number {
  return groups.reduce((sum, group) => sum + (test(group) ? group.tasks : 0), 0);
}

/** Returns whether the stop rule skipped attempts because others passed. */
/** Says when tasks get no further attempts. */
function whyStopped({ passesPerTask }: ReportInput): string {
  return passesPerTask === undefined ? 'outside the band of its curriculum' : `after ${passesPerTask} passes`;
}

function stoppedEarly({ passesPerTask, curriculum }: ReportInput, { tasks }: Tally): boolean {
  if ((curriculum?.outside ?? 0) > 0) return true;
  if (passesPerTask === undefined) return false;
  return [...tasks.values()].some(({ c, unsettled }) => unsettled > 0 && c >= passesPerTask);
}

class Usage {
  cost: number | null = null;
  /** Of the side models; null if there were no calls of them. */
  side: Report['side'] = null;
  readonly #tokens = { input: 0, output: 0, cached: 0 };

  add({ progress }: RolloutRow): void {
    this.#tokens.input += progress.input_tokens;
    this.#tokens.output += progress.output_tokens;
    this.#tokens.cached += progress.cached_tokens;
    if (progress.cost !== undefined) this.cost = (this.cost ?? 0) + progress.cost;
    if (progress.side !== undefined) this.side = sumOf(this.side, progress.side);
  }

  /** null without tokens: then the calls did not record usage, as in some imported recordings. */
  get tokens(): Report['tokens'] {
    return this.#tokens.input + this.#tokens.output === 0 ? null : this.#tokens;
  }
}

function sumOf(sum: Report['side'], side: SideUsage): SideUsage {
  if (sum === null) return side;
  const cost = side.cost === undefined ? sum.cost : (sum.cost ?? 0) + side.cost;
  return {
    calls: sum.calls + side.calls,
    input_tokens: sum.input_tokens + side.input_tokens,
    output_tokens: sum.output_tokens + side.output_tokens,
    cached_tokens: sum.cached_tokens + side.cached_tokens,
    ...(cost === undefined ? {} : { cost }),
  };
}

function durationsOf(durations: readonly number[]): Report['ms'] {
  const times = Float64Array.from(durations).sort();
  const last = times.at(-1);
  if (last === undefined) return null;
  const rank = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? last;
  return { p50: rank(0.5), p95: rank(0.95), p99: rank(0.99), max: last, total: times.reduce((sum, ms) => sum + ms, 0) };
}

/** Lists the rules in their order, also those that hit nothing. */
function byRule({ perturb }: ReportInput, tally: Tally): Report['by_rule'] {
  const rules = new Set([...(perturb?.on === true ? perturb.rules : []), ...tally.byRule.keys()]);
  const none = { ...NO_FAULTS, open: 0, attempts: 0, passed: 0 };
  return Object.fromEntries([...rules].map((rule) => [rule, tally.byRule.get(rule) ?? none]));
}

function mostFirst<T extends { readonly attempts: number }>(shares: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries([...shares].sort(([a, x], [b, y]) => y.attempts - x.attempts || (a < b ? -1 : 1)));
}

/** Returns the figures of the tasks with each name, such as their level. `names`: by task ID. */
function* byName(
  tasks: ReadonlyMap<string, Counts>,
  names: ReadonlyMap<string, string | number> | undefined,
  ks: readonly number[],
  stopped: boolean,
): Piecewise<Record<string, TaskGroup>> {
  const named = new Map<string, Counts[]>();
  if (names === undefined) return {};
  yield* each(tasks, ([task, counts]) => {
    const name = names.get(task);
    if (name === undefined) return;
    const same = named.get(String(name));
    if (same === undefined) named.set(String(name), [counts]);
    else same.push(counts);
  });
  const inOrder = [...named].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const result: Record<string, TaskGroup> = {};
  for (const [name, counts] of inOrder) {
    const groups = yield* groupCounts(counts);
    const tables = passTables(groups, ks);
    result[name] = {
      tasks: counts.length,
      scored: groups.reduce((sum, { n, tasks: weight }) => sum + n * weight, 0),
      passed: groups.reduce((sum, { c, tasks: weight }) => sum + c * weight, 0),
      solved: tasksWith(groups, ({ c }) => c > 0),
      pass_at: stopped ? null : tables.pass_at,
      tasks_at: tables.tasks_at,
      pass_all: stopped ? null : tables.pass_all,
    };
  }
  return result;
}
