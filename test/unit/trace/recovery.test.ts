// What became of injected faults, in the words of recovery.ts, and in reports and comparisons.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparisonText, reportText } from '../../../src/client/text/reportText.ts';
import type { Json } from '../../../src/common/json.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { InjectedCalls, openOf, type Recovery, recoveryOf } from '../../../src/trace/recovery.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { compareReports } from '../../../src/trace/statistics/compare.ts';
import { report } from '../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../src/trace/summary.ts';

type Call = readonly [tool: string, args: Json, end: Partial<EventData['tool.end']>];
const OK: Partial<EventData['tool.end']> = {};
const REFUSED: Partial<EventData['tool.end']> = {
  status: 'error',
  injected: 'flaky',
  made: false,
  error: { class: 'tool_error', message: '503' },
};
const CHANGED: Partial<EventData['tool.end']> = { injected: 'page', result: [1, 2, 3] };
const FAILED: Partial<EventData['tool.end']> = { status: 'error', error: { class: 'tool_error', message: 'no' } };

/** One step for each list of calls. */
function stream(...steps: readonly (readonly Call[])[]): TraceEvent[] {
  const events: TraceEvent[] = [];
  const add = (event: Pick<TraceEvent, 'kind' | 'data'> & { span?: number }): number => {
    events.push({ seq: events.length + 1, v: 1, at: 0, agent: 'desk', ...event } as TraceEvent);
    return events.length;
  };
  for (const [index, calls] of steps.entries()) {
    const span = add({ kind: 'model.start', data: { step: index + 1, context: [], sampling: {} } });
    add({ kind: 'model.end', span, data: { status: 'ok', trainable: false, source: 'live' } });
    const starts = calls.map(([name, args], call) =>
      add({ kind: 'tool.start', data: { call: `c${call}`, name, arguments: args, effect: 'pure' } }),
    );
    for (const [call, [, , end]] of calls.entries())
      add({ kind: 'tool.end', span: starts[call] ?? 0, data: { status: 'ok', source: 'live', ...end } });
  }
  return events;
}

function recoveries(events: readonly TraceEvent[], passed: boolean | null = false): Recovery[] {
  const injected = new InjectedCalls();
  for (const event of events) injected.add(event);
  return injected.calls.map((call) => recoveryOf(call, passed));
}

describe('an injected call', () => {
  it('is recovered by a later call of the same tool for the same thing', () => {
    assert.deepEqual(recoveries(stream([['renew', { id: 1 }, REFUSED]], [['renew', { id: 1 }, OK]])), ['recovered']);
    assert.deepEqual(recoveries(stream([['list', {}, CHANGED]], [['list', { cursor: 2 }, OK]])), ['recovered']);
    assert.deepEqual(recoveries(stream([['list', { of: 'a' }, CHANGED]], [['list', { of: 'a', cursor: 2 }, OK]])), [
      'recovered',
    ]);
  });

  it('is not recovered by another tool, another thing, a failure, a person, or another fault', () => {
    const later = (call: Call): Recovery[] => recoveries(stream([['renew', { id: 1 }, REFUSED]], [call]));
    assert.deepEqual(later(['find', { id: 1 }, OK]), ['gave_up']);
    assert.deepEqual(later(['renew', { id: 2 }, OK]), ['gave_up']);
    assert.deepEqual(later(['renew', { number: 1 }, OK]), ['gave_up']);
    assert.deepEqual(later(['renew', { id: 1 }, FAILED]), ['repeated']);
    assert.deepEqual(later(['renew', { id: 1 }, { source: 'edited' }]), ['repeated']);
    assert.deepEqual(later(['renew', { id: 1 }, REFUSED]), ['repeated', 'gave_up']);
  });

  it('is not recovered by a call of the same step, which is no reaction to it', () => {
    assert.deepEqual(
      recoveries(
        stream([
          ['list', {}, CHANGED],
          ['list', {}, OK],
        ]),
      ),
      ['gave_up'],
    );
    const [lost, again] = [
      stream([['list', {}, CHANGED]]),
      { call: 'c1', name: 'list', arguments: {}, effect: 'pure' },
    ];
    const seq = lost.length + 1;
    const repeated = [
      ...lost,
      { seq, v: 1, at: 0, agent: 'desk', kind: 'tool.start', data: again },
      { seq: seq + 1, v: 1, at: 0, agent: 'desk', kind: 'tool.end', span: seq, data: { status: 'ok', source: 'live' } },
    ] as TraceEvent[];
    assert.deepEqual(recoveries(repeated), ['gave_up']);
  });

  it('is recovered by itself if it was only delayed', () => {
    assert.deepEqual(recoveries(stream([['list', {}, { injected: 'slow' }]])), ['recovered']);
    assert.deepEqual(recoveries(stream([['list', {}, { ...FAILED, injected: 'slow' }]])), ['gave_up']);
  });

  it('was worked around if the attempt passed without a recovery', () => {
    assert.deepEqual(recoveries(stream([['list', {}, CHANGED]]), true), ['worked_around']);
    assert.deepEqual(recoveries(stream([['list', {}, CHANGED]]), null), ['gave_up']);
  });
});

const FLAKY = { injected: 2, recovered: 1, worked_around: 0, repeated: 1, gave_up: 0 };

function row(task: string, attempt: number, over: Partial<RolloutRow['progress']>): RolloutRow {
  const state = over.status === undefined ? 'running' : 'ended';
  return {
    rollout: `${task}-${attempt}`,
    batch: 'b',
    task,
    task_index: 0,
    attempt,
    try: 1,
    state,
    epoch: 1,
    last: 9,
    settles: state === 'ended' && over.status !== 'cancelled',
    progress: { ...EMPTY_PROGRESS, ...over },
    rev: 1,
  };
}

const ended = (passed: boolean, faults?: RolloutRow['progress']['faults']): Partial<RolloutRow['progress']> => ({
  status: 'done',
  passed,
  reward: passed ? 1 : 0,
  ...(faults === undefined ? {} : { faults }),
});

describe('the row of a rollout', () => {
  it('counts injected calls while it runs, and has their recoveries at its end', () => {
    const events = stream([['renew', { id: 1 }, REFUSED]], [['renew', { id: 1 }, OK]]);
    const running = advanceProgress(EMPTY_PROGRESS, events);
    const counts = running.faults?.['flaky'];
    assert.deepEqual(counts, { injected: 1, recovered: 0, worked_around: 0, repeated: 0, gave_up: 0 });
    assert.equal(openOf(counts), 1);
    const end = {
      seq: events.length + 1,
      v: 1,
      at: 0,
      kind: 'rollout.end',
      data: {
        status: 'done',
        passed: true,
        reward: 1,
        answer: null,
        touched: false,
        totals: { steps: 2, tool_calls: 2 },
        faults: { flaky: { ...counts, recovered: 1 } },
      },
    } as TraceEvent;
    assert.deepEqual(advanceProgress(running, [end]).faults, { flaky: { ...counts, recovered: 1 } });
  });
});

describe('a report', () => {
  const rows = [
    row('a', 1, ended(true, { flaky: FLAKY })),
    row('a', 2, ended(false, { flaky: { ...FLAKY, injected: 1, repeated: 0 }, page: { ...FLAKY } })),
    row('b', 1, { faults: { flaky: { ...FLAKY, injected: 1, recovered: 0, repeated: 0 } } }),
    row('b', 2, { ...ended(false, { flaky: FLAKY }), status: 'cancelled', passed: null, reward: null }),
  ];
  const perturb = { rules: ['flaky', 'page', 'never'], on: true };

  it('adds up the faults of each rule, without cancelled attempts', () => {
    const { by_rule: byRule, perturbed } = report({ batch: 'b', rows, perturb });
    assert.equal(perturbed, true);
    assert.deepEqual(byRule, {
      flaky: { injected: 4, recovered: 2, worked_around: 0, repeated: 1, gave_up: 0, open: 1, attempts: 2, passed: 1 },
      page: { injected: 2, recovered: 1, worked_around: 0, repeated: 1, gave_up: 0, open: 0, attempts: 1, passed: 0 },
      never: { injected: 0, recovered: 0, worked_around: 0, repeated: 0, gave_up: 0, open: 0, attempts: 0, passed: 0 },
    });
  });

  it('shows them in a table', () => {
    const text = reportText(report({ batch: 'b', rows, perturb }), 100);
    assert.deepEqual(text.split('\n').slice(-4), [
      'faults by rule  injected  recovered  worked around  repeated in vain  gave up  open  passed',
      'flaky                  4          2              0                 1        0     1     1/2',
      'page                   2          1              0                 1        0     0     0/1',
      'never                  0          0              0                 0        0     0     0/0',
    ]);
    const without = reportText(report({ batch: 'b', rows: [], perturb: { ...perturb, on: false } }), 100);
    assert.match(without, /^faults {5}none: run without the rules of its world$/m);
  });
});

describe('the report of a batch on published scenarios', () => {
  const rows = [row('a', 1, ended(true)), row('b', 1, ended(false)), row('c', 1, ended(true))];

  it('names the only scenario', () => {
    const scenarios = new Map(['a', 'b', 'c'].map((task) => [task, 'town_library']));
    assert.match(reportText(report({ batch: 'b', rows, scenarios }), 100), /^scenario {3}town_library$/m);
  });

  it('has a row for each of several', () => {
    const scenarios = new Map([
      ['a', 'town_library'],
      ['b', 'town_library'],
      ['c', 'harbor'],
    ]);
    const text = reportText(report({ batch: 'b', rows, scenarios }), 100);
    assert.match(text, /^scenario {6}tasks {2}solved {2}passed {2}pass@1\nharbor {12}1 {7}1 {5}1\/1 /m);
    assert.match(text, /^town_library {6}2 {7}1 {5}1\/2 /m);
  });
});

describe('a comparison with the unperturbed half', () => {
  const here = {
    batch: 'on',
    perturb: { rules: ['flaky'], on: true },
    rows: [
      row('a', 1, ended(true, { flaky: FLAKY })),
      row('a', 2, ended(false, { flaky: FLAKY })),
      row('b', 1, ended(false)),
      row('b', 2, ended(true)),
      row('c', 1, ended(true)),
    ],
  };
  const baseline = {
    batch: 'off',
    perturb: { rules: ['flaky'], on: false },
    rows: [
      row('a', 1, ended(true)),
      row('a', 2, ended(true)),
      row('b', 1, ended(false)),
      row('b', 2, ended(false)),
      row('d', 1, ended(true)),
    ],
  };
  const expected = {
    perturbed: { here: true, baseline: false },
    pairs: { attempts: 4, both: 1, only_here: 1, only_in_baseline: 1, neither: 1 },
    by_rule: { flaky: { attempts: 2, passed: 1, passed_without: 2 } },
  };

  it('pairs the attempts by task and number, whichever half comes first', () => {
    const { perturbed, pairs, by_rule: byRule } = compareReports(here, baseline);
    assert.deepEqual({ perturbed, pairs, by_rule: byRule }, expected);
    const swapped = compareReports(baseline, here);
    assert.deepEqual(swapped.perturbed, { here: false, baseline: true });
    assert.deepEqual(swapped.by_rule, expected.by_rule);
  });

  it('says which batch was perturbed', () => {
    const text = comparisonText(compareReports(here, baseline));
    assert.ok(
      text.includes(
        'perturbed: on; 4 pairs of attempts: 1 passed in both, 1 only here, 1 only in the baseline, 1 in neither\n\n' +
          'pairs hit by rule  attempts  passed  passed without\n' +
          'flaky                     2       1               2\n',
      ),
      text,
    );
  });
});
