import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { flipsText, pairText } from '../../../../src/client/text/verifiedText.ts';
import { ratedPairs } from '../../../../src/trace/agreement/pairs.ts';

describe('ratedPairs', () => {
  it('compares raters on the attempts that both judged', () => {
    const pairs = ratedPairs([
      { code: true, judge: true, 'label of ada': true },
      { code: true, judge: false },
      { code: false, judge: false },
      { code: false, judge: false },
      {},
    ]);
    assert.deepEqual(
      pairs.map(({ raters, compared, agreed }) => [raters.join(), compared, agreed]),
      [
        ['code,judge', 4, 3],
        ['code,label of ada', 1, 1],
        ['judge,label of ada', 1, 1],
      ],
    );
    assert.equal(pairs[0]?.kappa, 0.5);
    assert.equal(pairs[1]?.kappa, null, 'both always said the same');
  });
});

describe('texts about verified verdicts', () => {
  it('say what changes', () => {
    const flips = { verdicts: 12, passes: 1, fails: 1, errors: 0 };
    assert.equal(flipsText(flips), '2 of 12 stored verdicts change: 1 passes, 1 fails');
    assert.equal(
      flipsText({ ...flips, passes: 0, fails: 3, errors: 2 }),
      '3 of 12 stored verdicts change: 3 fail, 2 cannot be judged',
    );
    assert.equal(flipsText({ verdicts: 1, passes: 0, fails: 0, errors: 0 }), 'None of 1 stored verdict changes');
  });

  it('say how far two raters agree', () => {
    const pair = { raters: ['code', 'judge'], compared: 12, agreed: 11, kappa: 0.8249 } as const;
    assert.equal(pairText(pair), 'code – judge: 11 of 12 agree, kappa 0.82');
    assert.equal(pairText({ ...pair, kappa: null }), 'code – judge: 11 of 12 agree');
  });
});
