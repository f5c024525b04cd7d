import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { membersOf } from '../../../../src/client/export/members.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

function attempt(
  task: string,
  number: number,
  progress: Partial<Progress>,
  over: Partial<RolloutRow> = {},
): RolloutRow {
  return {
    rollout: `${task}.${number}`,
    batch: 'b1',
    task,
    task_index: 0,
    attempt: number,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev: number,
    progress: { ...EMPTY_PROGRESS, ...progress },
    ...over,
  };
}

const scored = (reward: number): Partial<Progress> => ({ status: 'done', passed: reward === 1, reward });

describe('the groups of exported attempts', () => {
  it('have advantages over the rewards that count, and a reason for the others', () => {
    const rows = [
      attempt('t', 1, scored(1)),
      attempt('t', 2, scored(0)),
      attempt('t', 3, { status: 'infrastructure', passed: null, reward: null }),
      attempt('t', 4, { ...scored(1), touched: true }),
      attempt('t', 5, {}, { state: 'running', settles: false }),
      attempt('other', 1, scored(1)),
    ];
    const members = membersOf(rows);
    const cells = rows.map((row) => members.get(row)).map((member) => [member?.group, member?.advantage, member?.why]);
    const unit = 0.5 / (Math.SQRT1_2 + 1e-4);
    assert.deepEqual(cells, [
      ['b1/t', unit, undefined],
      ['b1/t', -unit, undefined],
      ['b1/t', null, 'it was lost to infrastructure'],
      ['b1/t', null, 'a person changed it'],
      ['b1/t', null, undefined],
      ['b1/other', 0, undefined],
    ]);
  });
});
