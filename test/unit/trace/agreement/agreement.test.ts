import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { agreementText } from '../../../../src/client/text/agreementText.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { agreementOf } from '../../../../src/trace/agreement/agreement.ts';
import { rowEnvironment } from '../../../../src/trace/query/environment.ts';
import { compileCondition } from '../../../../src/trace/query.ts';
import { report } from '../../../../src/trace/statistics.ts';
import type { RolloutRow, Verdict } from '../../../../src/trace/summary.ts';
import { disagrees, rowsByScorer, scorersOf, verdictChanges } from '../../../../src/trace/verdicts.ts';
import { scored } from '../../host/rows.ts';

/** Verdicts of the reward, a judge, and a person: `1`, `0`, `-` (judged, undecided), or `.` (not judged). */
function judged(task: string, attempt: number, text: string): RolloutRow {
  const [reward, judge = '.', person = '.'] = text;
  const row = scored(task, attempt, reward === '1');
  const verdicts: Record<string, Verdict> = {};
  for (const [scorer, said] of Object.entries({ judge, 'person:ada': person }))
    if (said !== '.')
      verdicts[scorer] =
        said === '-' ? { value: null, passed: null, at: 1 } : { value: Number(said), passed: said === '1', at: 1 };
  if (Object.keys(verdicts).length === 0) return row;
  return { ...row, progress: { ...row.progress, verdicts } };
}

const rows = [
  judged('a', 1, '111'),
  judged('a', 2, '10.'),
  judged('b', 1, '011'),
  judged('b', 2, '00-'),
  judged('c', 1, '00.'),
  judged('c', 2, '1..'),
];

const near = (actual: number | null | undefined, expected: number): void =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-12, `${String(actual)}, not ${expected}`);

describe('agreement', () => {
  it('compares all scorers of a batch, with missing and undecided verdicts', () => {
    const result = agreementOf('b1', rows);
    const { attempts, scorers, pairs, alpha, disagreements, intervals } = result;
    assert.equal(attempts, 5);
    assert.deepEqual(scorers, [
      { scorer: 'reward', judged: 6, passed: 3 },
      { scorer: 'judge', judged: 5, passed: 2 },
      { scorer: 'person:ada', judged: 2, passed: 2 },
    ]);
    assert.deepEqual(
      pairs.map(({ scorers: names, confusion, share }) => [names.join(), Object.values(confusion), share]),
      [
        ['reward,judge', [1, 1, 1, 2], 0.6],
        ['reward,person:ada', [1, 0, 1, 0], 0.5],
        ['judge,person:ada', [2, 0, 0, 0], 1],
      ],
    );
    // Expected by chance: 0.4 × 0.4 + 0.6 × 0.6 = 0.52.
    near(pairs[0]?.kappa, (0.6 - 0.52) / 0.48);
    assert.equal(pairs[2]?.kappa, null);
    // Of 12 paired verdicts, 6 passed. Coincidences that differ: 2 in a/2, and 2 × 2 / 2 = 2 in b/1.
    near(alpha, 1 - (4 * 11) / 72);
    assert.deepEqual(
      disagreements.map(({ task, attempt, passed }) => [task, attempt, passed]),
      [
        ['a', 2, { reward: true, judge: false }],
        ['b', 1, { reward: false, judge: true, 'person:ada': true }],
      ],
    );
    assert.ok(intervals.alpha !== null && intervals.alpha[0] <= (alpha ?? 0) && (alpha ?? 0) <= intervals.alpha[1]);
    assert.deepEqual(agreementOf('b1', rows), result, 'it is deterministic');
    const text = agreementText(result);
    assert.match(text, /reward\s+judge\s+1\s+1\s+1\s+2\s+60%\s+0\.167/);
    assert.match(text, /2 disagreements/);
  });

  it('says why there is no value', () => {
    const alone = agreementOf('b1', [judged('a', 1, '1')]);
    assert.deepEqual([alone.alpha, alone.pairs, alone.why['alpha']], [null, [], 'only one scorer judged the attempts']);
    assert.match(agreementText(alone), /none, because only one scorer/);
    const apart = agreementOf('b1', rows, ['judge', 'person:bo']);
    assert.equal(apart.why['alpha'], 'no attempt was judged by two scorers');
  });
});

describe('verdicts', () => {
  it('replace the reward in a report, and leave what they did not judge unscored', () => {
    const by = report({ batch: 'b1', rows: rowsByScorer(rows, 'judge') });
    assert.deepEqual([by.passed, by.failed, by.unscored], [2, 3, 1]);
    assert.deepEqual(Object.keys(by.by_cause).sort(), ['failed by judge', 'not scored']);
    assert.equal(rowsByScorer(rows, 'reward'), rows);
    assert.throws(
      () => rowsByScorer(rows, 'nobody'),
      (error) => StudioError.is(error, 'not_found') && /reward, judge, person:ada/.test(error.hint ?? ''),
    );
  });

  it('name their scorers, tell where they contradict each other, and can be filtered by', () => {
    assert.deepEqual(scorersOf(rows), ['judge', 'person:ada']);
    assert.deepEqual(rows.map(disagrees), [false, true, true, false, false, false]);
    const condition = compileCondition('reward == 0.0 && verdicts.judge.passed');
    assert.deepEqual(
      rows.map((row) => condition.matches(rowEnvironment(row)).matched),
      [false, false, true, false, false, false],
    );
  });

  it('are compared with the rewards that they judge again', () => {
    const again = rows.slice(0, 3).map((row, at) => ({
      ...scored(row.task, row.attempt, at === 0),
      rollout: `again-${at}`,
      rescores: row.rollout,
    }));
    const rewards = new Map(rows.map((row) => [row.rollout, row]));
    assert.deepEqual(verdictChanges('b1', again, rewards), {
      batch: 'b1',
      compared: 3,
      same: 2,
      passed_to_failed: 1,
      failed_to_passed: 0,
      undecided: 0,
    });
  });
});
