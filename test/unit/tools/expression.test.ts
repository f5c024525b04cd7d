import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExpressionError, evaluate } from '../../../src/tools/builtins/expression.ts';

describe('an arithmetic expression', () => {
  const values: [string, number][] = [
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2 ^ 3 ^ 2', 512],
    ['2**10', 1024],
    ['-2 ^ 2', -4],
    ['(-2) ^ 2', 4],
    ['2 ^ -1', 0.5],
    ['7 % 4', 3],
    ['10 / 4', 2.5],
    ['--3', 3],
    ['5!', 120],
    ['3!!', 720],
    ['.5 + 1.', 1.5],
    ['1e3 + 1E-3', 1000.001],
    ['1_000 * 2', 2000],
    ['6 × 7 ÷ 2 − 1', 20],
    ['pi', Math.PI],
    ['Sqrt(16)', 4],
    ['log(1000)', 3],
    ['log(8, 2)', 3],
    ['round(2.345, 2)', 2.35],
    ['round(-2.5)', -3],
    ['max(1, 7, 3) - min(4, 2)', 5],
    ['mean(1, 2, 6)', 3],
    ['gcd(12, 18)', 6],
    ['lcm(4, 6)', 12],
    ['atan2(1, 1) * 4', Math.PI],
    ['170! / 169!', 170],
  ];
  for (const [text, value] of values) {
    it(`${text} = ${value}`, () => {
      assert.ok(Math.abs(evaluate(text) - value) <= 1e-12 * Math.abs(value), String(evaluate(text)));
    });
  }

  const wrong: [string, RegExp][] = [
    ['', /ends too early, at position 1/],
    ['1 +', /ends too early, at position 4/],
    ['1 2', /Unexpected "2" at position 3/],
    ['(1', /Expected "\)" at position 3/],
    ['foo(1)', /Unknown name "foo" at position 1/],
    ['constructor', /Unknown name "constructor"/],
    ['1 $ 2', /"\$" at position 3/],
    ['sqrt(1, 2)', /takes 1 arguments, not 2/],
    ['1/0', /infinite/],
    ['sqrt(-1)', /not a real number/],
    ['2.5!', /non-negative integer/],
    ['10^400', /too large/],
    ['('.repeat(300), /nested too deeply/],
    ['2^'.repeat(300) + '1', /nested too deeply/],
  ];
  for (const [text, pattern] of wrong) {
    it(`${text.slice(0, 20)}: ${String(pattern)}`, () => {
      assert.throws(
        () => evaluate(text),
        (error) => error instanceof ExpressionError && pattern.test(error.message),
      );
    });
  }
});
