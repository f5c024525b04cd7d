/** Counts the attempts of a batch, for reports. */
import { addRates } from '../control/rateText.ts';
import { PredictionTallies } from '../prediction/statistics.ts';
import { NO_FAULTS, openOf } from '../recovery.ts';
import type { FaultCounts } from '../schema/faults.ts';
import type { RateCounts } from '../schema/rates.ts';
import type { WorldOutcome } from '../schema.ts';
import type { Cause } from '../summary.ts';
import { addCalls } from './callRates.ts';
import type { Attempt, Settlement } from './outcomes.ts';
import type { Counts } from './passRates.ts';
import type { Report } from './schema.ts';

interface TaskTally extends Counts {
  /** Attempts that are open or were cancelled. */
  readonly unsettled: number;
}

/** Attempts with the same cause. */
export interface CauseShare {
  readonly kind: Cause['kind'];
  attempts: number;
  readonly tasks: Set<string>;
}

export interface Share {
  attempts: number;
  passed: number;
}

/** What the faults of a rule did, and the scored attempts that it hit. */
export interface RuleShare extends FaultCounts, Share {
  open: number;
}

export class Tally {
  readonly settled: Readonly<Record<Settlement, number>>;
  readonly tasks: ReadonlyMap<string, TaskTally>;
  attempts = 0;
  passed = 0;
  truncated = 0;
  duplicates = 0;
  /** Highest attempt number. */
  maxAttempt = 0;
  /** Durations of attempts, in ms, as far as they were recorded. */
  readonly times: number[] = [];
  readonly byError = new Map<string, Share>();
  readonly byCause = new Map<string, CauseShare>();
  readonly byTool = new Map<string, Share>();
  readonly byOutcome = new Map<WorldOutcome, number>();
  readonly byRule = new Map<string, RuleShare>();
  rates: RateCounts = {};
  calls: Report['calls'] = null;
  /** By tool. */
  readonly predictions = new PredictionTallies();
  readonly #settled = { scored: 0, unscored: 0, cancelled: 0, infrastructure: 0, open: 0 };
  readonly #tasks = new Map<string, { n: number; c: number; unsettled: number }>();
  #last: { readonly task: string; readonly tally: { n: number; c: number; unsettled: number } } | undefined;

  constructor() {
    this.settled = this.#settled;
    this.tasks = this.#tasks;
  }

  add(attempt: Attempt): void {
    const { settlement, passed, ms, error, cause, tools } = attempt;
    const task = this.#task(attempt.task);
    this.attempts += 1;
    this.#settled[settlement] += 1;
    if (settlement === 'scored') task.n += 1;
    else if (settlement === 'open' || settlement === 'cancelled') task.unsettled += 1;
    if (passed) {
      this.passed += 1;
      task.c += 1;
    }
    if (attempt.truncated) this.truncated += 1;
    if (attempt.duplicate) this.duplicates += 1;
    if (attempt.attempt > this.maxAttempt) this.maxAttempt = attempt.attempt;
    if (ms !== undefined) this.times.push(ms);
    if (error !== undefined) share(this.byError, error, passed);
    if (cause !== undefined) addCause(this.byCause, cause, attempt.task);
    const { outcome } = attempt;
    if (outcome !== undefined) this.byOutcome.set(outcome, (this.byOutcome.get(outcome) ?? 0) + 1);
    if (attempt.rates !== undefined) this.rates = addRates(this.rates, attempt.rates);
    if (attempt.calls !== undefined) this.calls = addCalls(this.calls, attempt.calls);
    if (attempt.predictions !== undefined) this.predictions.addSums(attempt.predictions);
    for (const rule in attempt.faults) addFaults(this.byRule, rule, attempt, attempt.faults[rule]);
    if (settlement !== 'scored') return;
    for (let i = 0; i < tools.length; i++) {
      const tool = tools[i];
      if (tool !== undefined && tools.indexOf(tool) === i) share(this.byTool, tool, passed);
    }
  }

  /** Caches the last task: attempts of a task are mostly adjacent. */
  #task(task: string): { n: number; c: number; unsettled: number } {
    if (this.#last?.task === task) return this.#last.tally;
    let tally = this.#tasks.get(task);
    if (tally === undefined) this.#tasks.set(task, (tally = { n: 0, c: 0, unsettled: 0 }));
    this.#last = { task, tally };
    return tally;
  }
}

/** Returns the tally of some attempts. */
export function tallyOf(attempts: Iterable<Attempt>): Tally {
  const tally = new Tally();
  for (const attempt of attempts) tally.add(attempt);
  return tally;
}

function addCause(causes: Map<string, CauseShare>, { kind, text }: Cause, task: string): void {
  let own = causes.get(text);
  if (own === undefined) causes.set(text, (own = { kind, attempts: 0, tasks: new Set() }));
  own.attempts += 1;
  own.tasks.add(task);
}

function addFaults(
  rules: Map<string, RuleShare>,
  rule: string,
  { settlement, passed }: Attempt,
  counts: FaultCounts | undefined,
): void {
  if (counts === undefined) return;
  let own = rules.get(rule);
  if (own === undefined) rules.set(rule, (own = { ...NO_FAULTS, open: 0, attempts: 0, passed: 0 }));
  own.injected += counts.injected;
  own.recovered += counts.recovered;
  own.worked_around += counts.worked_around;
  own.repeated += counts.repeated;
  own.gave_up += counts.gave_up;
  own.open += openOf(counts);
  if (settlement !== 'scored') return;
  own.attempts += 1;
  if (passed) own.passed += 1;
}

function share(shares: Map<string, Share>, name: string, passed: boolean): void {
  let own = shares.get(name);
  if (own === undefined) shares.set(name, (own = { attempts: 0, passed: 0 }));
  own.attempts += 1;
  if (passed) own.passed += 1;
}
