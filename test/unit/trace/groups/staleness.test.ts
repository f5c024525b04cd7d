import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stalenessOf, versionsBehind } from '../../../../src/trace/groups/staleness.ts';
import { rangeOf, weightsOf } from '../../../../src/trace/weights.ts';

describe('stale groups', () => {
  const rows = [{ weights: ['7', '9'] as const }, { weights: ['9', '10'] as const }, {}];

  it('count versions from the oldest call', () => {
    assert.equal(versionsBehind({ weights: ['7', '9'] }, 10), 3);
    assert.equal(versionsBehind({ weights: ['10', '10'] }, 10), 0);
    assert.equal(versionsBehind({ weights: ['7', '9'] }, 8), Infinity, 'version 9 was taken back');
    assert.equal(versionsBehind({}, 10), undefined);
    assert.equal(versionsBehind({ weights: ['7', '9'] }, undefined), undefined);
    assert.equal(versionsBehind({ weights: ['base', 'base'] }, 10), undefined, 'no number');
  });

  it('are delivered, marked, dropped, or wait', () => {
    const current = (): number => 10;
    assert.deepEqual(stalenessOf(rows, current, {}), { behind: 3, stale: [], then: 'deliver' });
    assert.deepEqual(stalenessOf(rows, current, { max_versions: 3, stale: 'drop' }), {
      behind: 3,
      stale: [],
      then: 'deliver',
    });
    for (const stale of ['mark', 'drop', 'wait'] as const)
      assert.deepEqual(stalenessOf(rows, current, { max_versions: 2, stale }), { behind: 3, stale: [0], then: stale });
    assert.deepEqual(stalenessOf(rows, current, { max_versions: 0 }).stale, [0, 1], 'marked unless it says otherwise');
  });

  it('compare with the version of the endpoint of each row', () => {
    const two = rows.map((row, index) => ({ ...row, endpoint: index }));
    const { stale } = stalenessOf(two, ({ endpoint }) => [9, 20, 30][endpoint], { max_versions: 4, stale: 'drop' });
    assert.deepEqual(stale, [1]);
  });
});

describe('versions of weights', () => {
  it('have an order by their numbers', () => {
    assert.deepEqual(rangeOf(['9', '10', '2']), ['2', '10']);
    assert.equal(rangeOf([]), undefined);
  });

  it('are those under which the request was sent and ended', () => {
    const span = (start: string | undefined, from: string | undefined, to: string | undefined) =>
      weightsOf({ start: { data: { weights: start } }, end: { data: { weights: to, weights_from: from } } } as never);
    assert.deepEqual(span('1', undefined, '1'), { from: '1', to: '1' });
    assert.deepEqual(span('1', undefined, '2'), { from: '1', to: '2' });
    assert.deepEqual(span('1', '2', '2'), { from: '2', to: '2' }, 'it waited in a pause');
    assert.deepEqual(span(undefined, undefined, '3'), { from: '3', to: '3' });
    assert.equal(span(undefined, undefined, undefined), undefined);
  });
});
