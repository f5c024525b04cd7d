import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exactMatch, exactScorer } from '../../../src/scoring/exact.ts';
import { inputOf } from './input.ts';

/** answer, truth: as the public scorer judges them. */
const PASS: readonly (readonly [string, string])[] = [
  ['17.0', '17'],
  ['$1,234.50', '1234.5'],
  ['12 %', '12'],
  ['1,234', '1234'],
  ['1,234', '1,234'],
  ['1e3', '1000'],
  ['1_000', '1000'],
  ['\uff10', '0'],
  ['sea gull', 'seagull'],
  ['Sea-Gull!', 'seagull'],
  ['a, b', 'a,b'],
  ['a;b', 'a,b'],
  ['$3, 4%', '3,4'],
  ['a, 2 ', 'a,2'],
  ['inf', 'inf'],
];
const FAIL: readonly (readonly [string, string])[] = [
  ['17 apples', '17'],
  ['seventeen', '17'],
  ['1234', '1,234'],
  ['b,a', 'a,b'],
  ['a, b,', 'a,b'],
  ['St Louis, MO', 'St. Louis, MO'],
  ['The Beatles', 'Beatles'],
  ['\u201cx\u201d', 'x'],
  ['nan', 'nan'],
  ['\u22125', '-5'],
  ['1 000', '1000'],
  ['0.3', '0.30000000000000004'],
  ['a\uff0cb', 'a,b'],
];

describe('exact', () => {
  for (const [answer, truth] of PASS) it(`${answer} is ${truth}`, () => assert.equal(exactMatch(answer, truth), true));
  for (const [answer, truth] of FAIL)
    it(`${answer} is not ${truth}`, () => assert.equal(exactMatch(answer, truth), false));

  it('differs from the original: text that is not a number is not infinity', () =>
    assert.equal(exactMatch('abc', 'inf'), false));

  it('differs from the original: a missing answer is not the word None', async () => {
    assert.equal((await exactScorer.score(inputOf({ answer: null, expected: 'None' }))).value, 0);
    assert.equal((await exactScorer.score(inputOf({ answer: 'none', expected: 'None' }))).value, 1);
  });

  it('treats numbers and booleans of JSON as their words', async () => {
    assert.equal((await exactScorer.score(inputOf({ answer: 17, expected: 17 }))).passed, true);
    assert.equal((await exactScorer.score(inputOf({ answer: 'True', expected: true }))).passed, true);
    assert.equal((await exactScorer.score(inputOf({ answer: '1', expected: true }))).passed, false);
  });

  it('cannot score without an expectation', async () => {
    for (const expected of [undefined, ['a'], { a: 1 }]) {
      const { value, passed } = await exactScorer.score(inputOf({ answer: 'a', expected }));
      assert.deepEqual([value, passed], [null, null]);
    }
  });
});
