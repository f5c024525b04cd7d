import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pythonFloat, withoutSpace } from '../../../src/scoring/pythonFloat.ts';

describe('pythonFloat', () => {
  const numbers: readonly (readonly [string, number])[] = [
    ['1', 1],
    ['+1.5', 1.5],
    ['-.5', -0.5],
    ['5.', 5],
    [' \t2\n', 2],
    ['\u00a03\u2003', 3],
    ['\x1c4\x85', 4],
    ['1_0.0_1e1_0', 10.01e10],
    ['1E-2', 0.01],
    ['Infinity', Infinity],
    ['-INF', -Infinity],
    ['1e999', Infinity],
    ['\u0661\u0662', 12],
    ['\u{1d7ce}\u{1d7d9}', 1],
  ];
  for (const [text, value] of numbers)
    it(`reads ${JSON.stringify(text)}`, () => assert.equal(pythonFloat(text), value));
  it('reads nan', () => assert.ok(Number.isNaN(pythonFloat(' +NaN '))));
  for (const text of [
    '',
    ' ',
    '.',
    '1__0',
    '_1',
    '1_',
    '0x10',
    '1e',
    '--1',
    '1 0',
    '1,0',
    '\ufeff1',
    '\u22121',
    '5_.0',
    'infinit',
    '1e1.5',
    '\u00bd',
    '\u2460',
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(pythonFloat(text), null));
  }
  it('strips the white space that Python knows, and no other', () =>
    assert.equal(withoutSpace(' a\x1fb\u2028c\u3000\ufeffd\u200b'), 'abc\ufeffd\u200b'));
});
