import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accuracyByTurn, worstFirst } from '../../../../src/trace/prediction/byTurn.ts';
import { faultOf, isRight } from '../../../../src/trace/prediction/fidelity.ts';
import { fidelityReport } from '../../../../src/trace/prediction/fidelityReport.ts';
import type { PredictedCall } from '../../../../src/trace/prediction/statistics.ts';

function call(seq: number, over: Partial<PredictedCall> = {}): PredictedCall {
  return {
    rollout: 'r1',
    seq,
    tool: 'find',
    turn: seq,
    world: 'sim',
    how: 'forced',
    value: 1,
    parts: { status: 1, keys: 1 },
    explanation: undefined,
    error: undefined,
    ...over,
  };
}

describe('the worst thing that is wrong with a prediction', () => {
  it('is that there is none, then status, keys, and values by class; only what could be known makes it wrong', () => {
    const cases = [
      [{ value: null, parts: {} }, 'none', false],
      [{ value: null, parts: { status: 1, keys: 1 } }, undefined, true], // only the judge failed
      [{ value: 0, parts: { status: 0, keys: 0.5 } }, 'status', false],
      [{ value: 0.5, parts: { status: 1, keys: 0.5, deterministic: 0 } }, 'keys', false],
      [{ value: 0.5, parts: { status: 1, keys: 1, deterministic: 0.5 } }, 'deterministic', false],
      [{ value: 1, parts: { status: 1, existing: 0.5, runtime: 0 } }, 'existing', true],
      [{ value: 1, parts: { status: 1, runtime: 0 } }, 'runtime', true],
      [{ value: 1, parts: { status: 1 } }, undefined, true],
    ] as const;
    for (const [score, fault, right] of cases) assert.deepEqual([faultOf(score), isRight(score)], [fault, right]);
  });
});

describe('the report of a comparison', () => {
  const marks = { format: 5, factuality: 3 };
  const calls = [
    call(1),
    call(2, { tool: 'lend', value: 0, parts: { status: 0, ...marks } }),
    call(3, { tool: 'lend', value: 0.5, parts: { status: 1, keys: 0.5, format: 1, factuality: 1 } }),
    call(4, { value: null, parts: {} }),
    call(1, { rollout: 'r2', value: 0.5, parts: { status: 1, keys: 0.5 } }),
  ];
  const report = fidelityReport(calls, { world: 'sim', how: 'forced', worst: 3, domainOf: () => 'mcp' });

  it('has the mean over calls and over tools, and counts what failed', () => {
    assert.deepEqual([report.calls, report.right, report.failed], [5, 1, 1]);
    assert.deepEqual(report.accuracy, { micro: 0.5, macro: 0.5 });
    assert.deepEqual(report.faults, { status: 1, keys: 2, none: 1 });
    assert.deepEqual(report.marks, { format: { micro: 3, macro: 3 }, factuality: { micro: 2, macro: 2 } });
    assert.deepEqual(
      report.by_tool.map(({ name, accuracy }) => [name, accuracy]),
      [
        ['lend', 0.25],
        ['find', 0.75],
      ],
    );
    assert.deepEqual(
      report.by_domain.map(({ name, calls: of }) => [name, of]),
      [['mcp', 5]],
    );
  });

  it('says where it drifts, and lists the worst calls first', () => {
    assert.deepEqual(report.by_turn, [
      { turn: 1, calls: 2, accuracy: 0.75 },
      { turn: 2, calls: 1, accuracy: 0 },
      { turn: 3, calls: 1, accuracy: 0.5 },
    ]);
    assert.deepEqual(accuracyByTurn([]), []);
    assert.deepEqual(
      report.worst.map(({ call: at, value, fault }) => [at, value, fault]),
      [
        ['r1@4', null, 'none'],
        ['r1@2', 0, 'status'],
        ['r1@3', 0.5, 'keys'],
      ],
    );
    assert.deepEqual(
      worstFirst(calls).map(({ rollout, seq }) => `${rollout}@${seq}`),
      ['r1@4', 'r1@2', 'r1@3', 'r2@1', 'r1@1'],
    );
  });
});
