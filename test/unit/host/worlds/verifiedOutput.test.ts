import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  agreementText,
  changesText,
  changeText,
  checksText,
  functionLine,
  inOrder,
  problemsIn,
  type VerifiedOutput,
} from '../../../../src/host/worlds/verifiers/verifiedOutput.ts';

type Verified = VerifiedOutput['rollouts'][number];

function verified(task: string, stored: boolean, now: boolean | null, more: Partial<Verified> = {}): Verified {
  return {
    ...{ rollout: `r-${task}`, task, attempt: 1, stored: { passed: stored }, now: { passed: now } },
    flips: now !== null && stored !== now,
    checks: [],
    ...more,
  };
}

const place = { file: '/w/garden.0.py', line: 7, column: 5 };
const output: VerifiedOutput = {
  rollouts: [
    verified('same', true, true),
    verified('broken', false, null, { error: 'The verifier failed.', place }),
    verified('up', false, true, { checks: [{ name: 'code verifier', stored: false, now: true, index: 0 }] }),
    verified('broken-too', false, null, { error: 'The verifier failed.', place }),
  ],
  agreement: [{ raters: ['code', 'judge'], compared: 4, agreed: 3, kappa: 0.5 }],
};

describe('what an edited verifier changes', () => {
  it('is counted, and listed with what changed first', () => {
    assert.equal(changesText(output), '1 of 4 stored verdicts changes: 1 passes, 2 cannot be judged');
    assert.equal(changesText({ rollouts: [], agreement: [] }), 'No stored verdicts of this task');
    assert.equal(agreementText(output), 'code – judge: 3 of 4 agree, kappa 0.50');
    assert.equal(agreementText({ ...output, agreement: [] }), undefined);
    const listed = inOrder(output.rollouts);
    assert.deepEqual(
      listed.map((one) => [one.task, changeText(one), checksText(one)]),
      [
        ['up', 'failed → passed', 'code verifier: ✗ → ✓'],
        ['broken', 'failed → no verdict', 'The verifier failed.'],
        ['broken-too', 'failed → no verdict', 'The verifier failed.'],
        ['same', 'passed → passed', ''],
      ],
    );
  });

  it('is a problem at a line where it fails, once', () => {
    assert.deepEqual(problemsIn(output), [
      { line: 7, column: 5, message: 'The verifier failed. (on 2 of 4 stored final states)' },
    ]);
  });
});

describe('functionLine', () => {
  it('finds the function that judges', () => {
    assert.equal(
      functionLine('import x\n\ndef helper():\n  pass\ndef verify_task(a, b):\n  pass\ndef other(): pass'),
      4,
    );
    assert.equal(functionLine('def one(): pass\nasync def two(): pass'), 1);
    assert.equal(functionLine('nothing'), 0);
  });
});
