/** Counts the figures of reports again, from the events in the store, as the documentation defines them. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Comparison, Report } from '../../src/trace/statistics/schema.ts';
import { Random } from './random.ts';
import type { StoredAttempt, StoredEvent } from './storedAttempts.ts';

const CLOSE = 1e-9;
/** How far intervals of two different bootstraps may be apart. */
const APART = 0.035;
const RESAMPLES = 4_000;

type Interval = readonly [number, number];

/** A call of a tool that ended, other than by an interruption. */
export interface StoredCall {
  readonly tool: string;
  readonly args: unknown;
  readonly succeeded: boolean;
  readonly valid: boolean;
  readonly end: StoredEvent['data'];
}

/** Returns the calls of agents, without those of `predict`. */
export function callsOf({ events }: StoredAttempt): StoredCall[] {
  return events.flatMap((event): StoredCall[] => {
    if (event.kind !== 'tool.end' || event.data.status === 'cut') return [];
    const start = events.find(({ seq }) => seq === event.span);
    assert.ok(start !== undefined);
    const { error, m } = event.data;
    const { name = '', arguments: args } = start.data;
    if (name === 'predict' || ['infrastructure', 'cancelled', 'limit'].includes(error?.class ?? '')) return [];
    const valid = !['invalid_arguments', 'unknown_tool', 'malformed_output'].includes(error?.class ?? '');
    const message = events.find((other) => other.kind === 'message' && other.data.m === m);
    const response = message?.data.parts?.[0]?.response;
    // As the desk and its simulation write that a call failed.
    const refused = typeof response === 'string' && response.startsWith('Error');
    return [{ tool: name, args, succeeded: error === undefined && !refused, valid, end: event.data }];
  });
}

/** Compares a report with what the store says. */
export function assertReport(report: Report, attempts: readonly StoredAttempt[]): void {
  const passed = attempts.filter((one) => one.passed);
  const ends = attempts.flatMap(({ events }) => events.filter(({ kind }) => kind === 'rollout.end'));
  const usage = { input: 0, output: 0, cached: 0 };
  const side = { input: 0, output: 0, calls: 0 };
  const tools = new Map<string, { attempts: number; passed: number }>();
  for (const { events, passed: isPassed } of attempts) {
    const sides = new Set(
      events.filter(({ kind, data }) => kind === 'model.start' && data.side !== undefined).map(({ seq }) => seq),
    );
    for (const { kind, span = 0, data } of events) {
      if (kind !== 'model.end' || data.usage === undefined) continue;
      const sums = sides.has(span) ? side : usage;
      sums.input += data.usage.input_tokens;
      sums.output += data.usage.output_tokens;
      if (!sides.has(span)) usage.cached += data.usage.cached_tokens ?? 0;
    }
    side.calls += sides.size;
    for (const name of new Set(events.flatMap(({ kind, data }) => (kind === 'tool.start' ? [data.name ?? ''] : [])))) {
      const share = tools.get(name) ?? { attempts: 0, passed: 0 };
      tools.set(name, { attempts: share.attempts + 1, passed: share.passed + (isPassed ? 1 : 0) });
    }
  }
  const calls = attempts.flatMap(callsOf);
  const times = ends.map(({ data }) => data.totals?.ms ?? 0).sort((a, b) => a - b);
  assert.deepEqual(
    {
      attempts: report.attempts,
      scored: report.scored,
      passed: report.passed,
      failed: report.failed,
      solved: report.solved,
      tokens: report.tokens,
      side: [report.side?.calls ?? 0, report.side?.input_tokens ?? 0, report.side?.output_tokens ?? 0],
      by_tool: report.by_tool,
      calls: report.calls,
      duplicates: report.duplicates,
      causes: Object.values(report.by_cause).reduce((sum, cause) => sum + cause.attempts, 0),
      longest: report.ms?.max,
    },
    {
      attempts: attempts.length,
      scored: ends.filter(({ data }) => typeof data.reward === 'number').length,
      passed: passed.length,
      failed: attempts.length - passed.length,
      solved: new Set(passed.map(({ task }) => task)).size,
      tokens: usage,
      side: [side.calls, side.input, side.output],
      by_tool: Object.fromEntries(tools),
      calls: {
        made: calls.length,
        succeeded: calls.filter(({ succeeded }) => succeeded).length,
        valid: calls.filter(({ valid }) => valid).length,
      },
      duplicates: duplicatesIn(attempts),
      causes: attempts.length - passed.length,
      longest: times.at(-1),
    },
  );
  assert.ok(Math.abs((report.ms?.total ?? 0) - times.reduce((sum, ms) => sum + ms, 0)) < 1e-3);
  const tasks = [...Map.groupBy(attempts, ({ task }) => task).values()];
  for (const [name, all] of [
    ['pass_at', false],
    ['pass_all', true],
  ] as const)
    for (const k of Object.keys(report.tasks_at).map(Number)) {
      const rates = tasks.map((of) => rateOf(of, k, all));
      near(report[name]?.[k], mean(rates), `${name} ${k}`);
      nearInterval(report.intervals[name]?.[k], intervalOf(rates), `${name} ${k}`);
    }
}

/** Compares the paired differences of two batches with what the store says. */
export function assertComparison(
  comparison: Comparison,
  here: readonly StoredAttempt[],
  baseline: readonly StoredAttempt[],
): void {
  const others = Map.groupBy(baseline, ({ task }) => task);
  const tasks = [...Map.groupBy(here, ({ task }) => task)].map(([task, own]) => ({
    task,
    own,
    other: others.get(task) ?? [],
  }));
  assert.equal(comparison.tasks, tasks.length);
  assert.ok(tasks.every(({ other }) => other.length > 0));
  for (const [name, all] of [
    ['pass_at', false],
    ['pass_all', true],
  ] as const)
    for (const [k, claimed] of Object.entries(comparison[name] ?? {}))
      assertDifference(
        claimed,
        tasks.map(({ own, other }) => [rateOf(own, Number(k), all), rateOf(other, Number(k), all)]),
        `${name} ${k}`,
      );
  const changes = tasks.map(({ own, other }) => rateOf(own, 1, false) - rateOf(other, 1, false));
  assert.deepEqual(
    [comparison.better, comparison.worse, comparison.same],
    [
      changes.filter((change) => change > CLOSE).length,
      changes.filter((change) => change < -CLOSE).length,
      changes.filter((change) => Math.abs(change) <= CLOSE).length,
    ],
  );
  assert.deepEqual(
    Object.fromEntries(comparison.changed.map(({ task, difference }) => [task, difference])),
    Object.fromEntries(tasks.flatMap(({ task }, at) => (changes[at] === 0 ? [] : [[task, changes[at]]]))),
  );
  const pairs = here.flatMap((own) => {
    const other = baseline.find(({ key }) => key === own.key);
    return other === undefined ? [] : [[own.passed, other.passed] as const];
  });
  const count = (a: boolean, b: boolean): number => pairs.filter(([x, y]) => x === a && y === b).length;
  assert.deepEqual(comparison.pairs, {
    attempts: pairs.length,
    both: count(true, true),
    only_here: count(true, false),
    only_in_baseline: count(false, true),
    neither: count(false, false),
  });
  assertCalls(comparison, tasks);
}

function assertCalls(
  { calls: claimed }: Comparison,
  tasks: readonly { readonly own: readonly StoredAttempt[]; readonly other: readonly StoredAttempt[] }[],
): void {
  assert.ok(claimed !== null);
  const none = { made: 0, succeeded: 0, valid: 0, compared: 0, right: 0 };
  const sums = { here: { ...none }, baseline: { ...none } };
  const success: [number, number][] = [];
  const accuracy: [number, number][] = [];
  for (const { own, other } of tasks) {
    const shares = [own, other].map((side, at) => {
      const counts = { ...none };
      for (const attempt of side) countCalls(counts, attempt, [...own, ...other]);
      const sum = at === 0 ? sums.here : sums.baseline;
      for (const key of Object.keys(none) as (keyof typeof none)[]) sum[key] += counts[key];
      return [counts.succeeded / counts.made, counts.right / counts.made] as const;
    });
    success.push([shares[0]?.[0] ?? NaN, shares[1]?.[0] ?? NaN]);
    accuracy.push([shares[0]?.[1] ?? NaN, shares[1]?.[1] ?? NaN]);
  }
  assert.deepEqual({ here: claimed.here, baseline: claimed.baseline }, sums);
  assertDifference(claimed.tool_success, success, 'tool success');
  assertDifference(claimed.parameter_accuracy, accuracy, 'parameter accuracy');
}

function countCalls(
  counts: { made: number; succeeded: number; valid: number; compared: number; right: number },
  attempt: StoredAttempt,
  all: readonly StoredAttempt[],
): void {
  const references = all.filter((one) => one !== attempt && one.passed).flatMap(callsOf);
  for (const { tool, args, succeeded, valid } of callsOf(attempt)) {
    counts.made++;
    if (succeeded) counts.succeeded++;
    if (!valid) continue;
    counts.valid++;
    const same = references.filter((call) => call.succeeded && call.tool === tool);
    if (same.length > 0) counts.compared++;
    if (same.length === 0 || same.some((call) => isDeepStrictEqual(call.args, args))) counts.right++;
  }
}

function assertDifference(
  claimed: NonNullable<Comparison['calls']>['tool_success'],
  tasks: readonly (readonly [here: number, baseline: number])[],
  name: string,
): void {
  near(claimed.here, mean(tasks.map(([here]) => here)), name);
  near(claimed.baseline, mean(tasks.map(([, baseline]) => baseline)), name);
  const differences = tasks.map(([here, baseline]) => here - baseline);
  near(claimed.difference, mean(differences), name);
  nearInterval(claimed.interval, intervalOf(differences), name);
  assert.equal(claimed.tasks, tasks.length, name);
}

/** Tries every choice of k attempts: the share in which one passes, or all. */
function rateOf(attempts: readonly StoredAttempt[], k: number, all: boolean): number {
  let [choices, good] = [0, 0];
  for (let mask = 0; mask < 1 << attempts.length; mask++) {
    const chosen = attempts.filter((_, at) => (mask >> at) & 1);
    if (chosen.length !== k) continue;
    choices++;
    if (all ? chosen.every(({ passed }) => passed) : chosen.some(({ passed }) => passed)) good++;
  }
  return good / choices;
}

/** Attempts whose replies and results equal those of an earlier attempt of the task. */
function duplicatesIn(attempts: readonly StoredAttempt[]): number {
  const said = attempts.map(({ task, events }) =>
    JSON.stringify([
      task,
      events.flatMap(({ kind, data: { origin, role, parts } }) =>
        kind === 'message' && (origin === 'sampled' || role === 'tool')
          ? [parts?.map(({ type, name, arguments: args, content, response }) => [type, name, args, content, response])]
          : [],
      ),
    ]),
  );
  return said.length - new Set(said).size;
}

/** A bootstrap of its own, task by task. */
function intervalOf(values: readonly number[]): Interval {
  const random = new Random(11);
  const means = Array.from({ length: RESAMPLES }, () =>
    mean(values.map(() => values[Math.floor(random.next() * values.length)] ?? 0)),
  ).sort((a, b) => a - b);
  return [means[Math.floor(RESAMPLES * 0.025)] ?? NaN, means[Math.floor(RESAMPLES * 0.975)] ?? NaN];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function near(claimed: number | null | undefined, own: number, name: string): void {
  assert.ok(Math.abs((claimed ?? NaN) - own) < CLOSE, `${name}: ${String(claimed)}, but the store says ${own}`);
}

function nearInterval(claimed: Interval | null | undefined, own: Interval, name: string): void {
  assert.ok(claimed != null, name);
  for (const at of [0, 1] as const)
    assert.ok(Math.abs(claimed[at] - own[at]) < APART, `interval of ${name}: ${claimed.join()} is not ${own.join()}`);
}
