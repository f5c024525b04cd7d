import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NullRule } from '../../../../src/formats/training/format.ts';
import { planAttempts } from '../../../../src/formats/training/nullRewards.ts';
import { TRAINING_FORMATS } from '../../../../src/formats/training/registry.ts';
import { rolloutRow, scored } from '../../host/rows.ts';

const lost = rolloutRow({ task: 'a', attempt: 3, progress: { status: 'infrastructure', reward: null, passed: null } });
const rows = [
  scored('a', 1, true),
  scored('a', 2, false),
  lost,
  scored('b', 1, true, { progress: { touched: true } }),
  scored('c', 1, true),
];

function planned(rule: NullRule): {
  rewards: (number | null)[];
  masked: boolean[];
  left: Readonly<Record<string, number>>;
} {
  const { attempts, left_out: left } = planAttempts(rows, rule);
  return {
    rewards: attempts.map(({ reward }) => reward),
    masked: attempts.map(({ masked }) => masked),
    left,
  };
}

describe('attempts that do not count', () => {
  it('are left out alone, or with their group', () => {
    assert.deepEqual(planned('drop_row'), {
      rewards: [1, 0, 1],
      masked: [false, false, false],
      left: { 'it was lost to infrastructure': 1, 'a person changed it': 1 },
    });
    assert.deepEqual(planned('drop_group'), {
      rewards: [1],
      masked: [false],
      left: { 'an attempt of their task does not count': 4 },
    });
  });

  it('get the mean of those that count, masked or not', () => {
    const { rewards, masked, left } = planned('mask');
    assert.deepEqual(rewards, [1, 0, 0.5, 1]);
    assert.deepEqual(masked, [false, false, true, false]);
    assert.deepEqual(left, { 'a person changed it, and its task has no mean': 1 });
    assert.deepEqual(planned('mean_of_group').masked, [false, false, false, false]);
    const { attempts } = planAttempts(rows, 'mean_of_group');
    assert.deepEqual(attempts[0]?.group, { id: 'b1/a', index: 0, member: 0, rewards: [1, 0, null] });
    assert.deepEqual([attempts[2]?.imputed, attempts[3]?.group.index], [true, 1]);
  });

  it('are kept with null, or fail the export', () => {
    assert.deepEqual(planned('keep').rewards, [1, 0, null, 1, 1]);
    assert.throws(() => planned('error'), { code: 'usage', message: /b1\/a\/3 does not count: it was lost/ });
    assert.equal(planAttempts(rows.slice(0, 2), 'error').attempts.length, 2);
  });

  it('never get 0, by no rule of any format', () => {
    const zero = planAttempts([lost, scored('a', 1, true)], 'mask').attempts;
    assert.deepEqual(
      zero.map(({ reward }) => reward),
      [1, 1],
    );
    for (const { id, nullRules } of TRAINING_FORMATS)
      for (const rule of nullRules) {
        if (rule === 'error') continue;
        const { attempts } = planAttempts([lost, scored('a', 1, true)], rule);
        assert.ok(
          attempts.every(({ reward }) => reward !== 0),
          `${id} ${rule}`,
        );
      }
  });
});
