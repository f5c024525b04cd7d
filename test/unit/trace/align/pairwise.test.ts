// Two attempts compared with each other.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { costOf, pairwise } from '../../../../src/trace/align/pairwise.ts';
import { splitOf } from '../../../../src/trace/align/split.ts';
import { actions, randomWords } from '../../../support/attempts.ts';
import { Random } from '../../../support/random.ts';

function render(a: string, b: string): string {
  const [left, right] = [a.split(' '), b.split(' ')];
  return pairwise(actions(a), actions(b))
    .map((pair) => `${pair.a === undefined ? '-' : left[pair.a]}:${pair.b === undefined ? '-' : right[pair.b]}`)
    .join(' ');
}

describe('pairwise alignment', () => {
  it('keeps equal actions side by side around a detour', () => {
    assert.equal(render('a1 b1 c1', 'a1 c1'), 'a1:a1 b1:- c1:c1');
    assert.equal(render('a1 b1 c1', 'a1 b2 b1 c1'), 'a1:a1 -:b2 b1:b1 c1:c1');
  });

  it('prefers other arguments of the same tool to another tool', () => {
    assert.equal(render('a1 b1', 'a1 c1 b2'), 'a1:a1 -:c1 b1:b2');
    assert.equal(render('a1 b1 c1', 'a1 a2 c1'), 'a1:a1 b1:a2 c1:c1');
    assert.equal(
      pairwise(actions('a1 b1 c1'), actions('a1 says c1')).filter(
        (pair) => pair.a !== undefined && pair.b !== undefined,
      ).length,
      2,
      'text next to a call',
    );
  });

  it('pairs every action of both exactly once, in order, and symmetrically', () => {
    const random = new Random();
    for (let round = 0; round < 400; round++) {
      const [x, y] = [randomWords(random, 14), randomWords(random, 14)];
      const [a, b] = [actions(x), actions(y)];
      const pairs = pairwise(a, b);
      const message = `seed ${random.seed}: “${x}” and “${y}”`;
      assert.deepEqual(
        pairs.flatMap((pair) => pair.a ?? []),
        a.map((_, index) => index),
        message,
      );
      assert.deepEqual(
        pairs.flatMap((pair) => pair.b ?? []),
        b.map((_, index) => index),
        message,
      );
      assert.deepEqual(
        pairwise(b, a).map((pair) => [pair.b, pair.a]),
        pairs.map((pair) => [pair.a, pair.b]),
        message,
      );
      assert.equal(costOf(a, b, pairs), costOf(b, a, pairwise(b, a)), message);
    }
  });

  it('costs no more than any other pairing', () => {
    const random = new Random();
    for (let round = 0; round < 60; round++) {
      const [a, b] = [actions(randomWords(random, 5)), actions(randomWords(random, 5))];
      let least = Infinity;
      const every = (i: number, j: number, pairs: { a?: number; b?: number }[]): void => {
        if (i === a.length && j === b.length) least = Math.min(least, costOf(a, b, pairs));
        if (i < a.length && j < b.length) every(i + 1, j + 1, [...pairs, { a: i, b: j }]);
        if (i < a.length) every(i + 1, j, [...pairs, { a: i }]);
        if (j < b.length) every(i, j + 1, [...pairs, { b: j }]);
      };
      every(0, 0, []);
      assert.equal(costOf(a, b, pairwise(a, b)), least, `seed ${random.seed}`);
    }
  });
});

describe('the divergence of two attempts', () => {
  it('names the first different action of each, and where they rejoin', () => {
    const split = splitOf(actions('a1 b1 c1 a2'), actions('a1 b2 a1 c1 a2'));
    assert.deepEqual(
      [split?.common, split?.a?.step, split?.b?.step, split?.rejoin?.a.step, split?.rejoin?.b.step],
      [1, 2, 2, 3, 4],
    );
  });

  it('is undefined in equal attempts, and at the end of one that stopped early', () => {
    assert.equal(splitOf(actions('a1 says'), actions('a1 other')), undefined);
    const split = splitOf(actions('a1 b1'), actions('a1'));
    assert.deepEqual([split?.common, split?.a?.step, split?.b, split?.rejoin], [1, 2, undefined, undefined]);
  });

  it('does not end with different final answers', () => {
    assert.equal(splitOf(actions('a1 b1 wrong'), actions('a1 b2 right'))?.rejoin, undefined);
    assert.equal(splitOf(actions('a1 b1 right'), actions('a1 b2 right'))?.rejoin?.a.step, 3);
  });

  it('is symmetric', () => {
    const random = new Random();
    for (let round = 0; round < 200; round++) {
      const [a, b] = [actions(randomWords(random, 10)), actions(randomWords(random, 10))];
      const [one, other] = [splitOf(a, b), splitOf(b, a)];
      const message = `seed ${random.seed}`;
      assert.equal(one?.common, other?.common, message);
      assert.equal(one?.alike, other?.alike, message);
      assert.deepEqual([one?.rejoin?.a, one?.rejoin?.b], [other?.rejoin?.b, other?.rejoin?.a], message);
    }
  });
});
