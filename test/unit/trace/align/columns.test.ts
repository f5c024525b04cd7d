// Attempts side by side, and the differences between two calls.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../../src/common/json.ts';
import { bestReference } from '../../../../src/trace/align/attempt.ts';
import { align } from '../../../../src/trace/align/columns.ts';
import { callDifferences, differencesOf } from '../../../../src/trace/align/differences.ts';
import { actions, attempt, randomWords } from '../../../support/attempts.ts';
import { Random } from '../../../support/random.ts';

describe('alignment of attempts', () => {
  it('shows how each cell differs from the reference', () => {
    const { rows, firstSplit } = align([attempt('a1 b1 c1 done'), attempt('a1 b2 c1! fine'), attempt('a1 c2 done')], 0);
    assert.equal(firstSplit, 1);
    assert.deepEqual(
      rows.map((row) => row.cells.map((cell) => cell.state + (cell.otherResult ? '*' : '')).join(' ')),
      ['same same same', 'same arguments missing', 'same same* arguments', 'same text same'],
    );
  });

  it('lets equal detours share a row', () => {
    const { rows } = align([attempt('a1 c1'), attempt('a1 b1 c1'), attempt('a1 b1 c1'), attempt('a1 b2 c1')], 0);
    assert.deepEqual(
      rows.map((row) => [row.base, ...row.cells.map((cell) => cell.state)].join(' ')),
      ['0 same same same same', '1 missing same same arguments', '0 same same same same'],
    );
  });

  it('contains every action of every attempt once and in order, whatever the reference', () => {
    const random = new Random();
    for (let round = 0; round < 100; round++) {
      const attempts = Array.from({ length: 2 + Math.floor(random.next() * 5) }, (_, index) =>
        attempt(randomWords(random, 9), true, index + 1),
      );
      const { rows } = align(attempts, Math.floor(random.next() * attempts.length));
      attempts.forEach(({ actions: own }, column) => {
        assert.deepEqual(
          rows.flatMap((row) => row.cells[column]?.action ?? []),
          own,
          `seed ${random.seed}`,
        );
      });
      for (const row of rows) {
        assert.equal(row.cells[row.base]?.state, 'same');
        for (const cell of row.cells) assert.equal(cell.state === 'missing', cell.action === undefined);
      }
    }
  });

  it('uses the shortest attempt that passed as the reference, else the first', () => {
    assert.equal(bestReference([attempt('a1', false), attempt('a1 b1 c1', true), attempt('a1 b1', true)]), 2);
    assert.equal(bestReference([attempt('a1 b1', false), attempt('a1', null)]), 0);
  });
});

describe('differences', () => {
  it('name the place of each, as a JSON pointer', () => {
    assert.deepEqual(differencesOf({ a: 1, 'b/c': [1, { d: null }], e: 1 }, { e: 1, 'b/c': [1, { d: 2 }, 3], f: 1 }), [
      { path: '/a', before: 1 },
      { path: '/b~1c/1/d', before: null, after: 2 },
      { path: '/b~1c/2', after: 3 },
      { path: '/f', after: 1 },
    ]);
    assert.deepEqual(differencesOf(undefined, 'x'), [{ path: '', after: 'x' }]);
  });

  it('are empty for equal values, whatever the order of their members', () => {
    assert.deepEqual(differencesOf({ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }), []);
  });

  it('become one when there are too many', () => {
    const [before, after]: Json[][] = [Array.from({ length: 500 }, () => 1), Array.from({ length: 500 }, () => 2)];
    assert.deepEqual(differencesOf(before, after), [{ path: '', before, after }]);
  });

  it('of calls separate arguments from results', () => {
    const [one, other] = [actions('a1'), actions('a2!')];
    assert.ok(one[0] !== undefined && other[0] !== undefined);
    assert.deepEqual(callDifferences(one[0], other[0]), [
      {
        call: 0,
        name: 'a',
        arguments: [{ path: '/n', before: 1, after: 2 }],
        result: [{ path: '', before: 'fine', after: 'other' }],
      },
    ]);
    assert.deepEqual(callDifferences(one[0], one[0]), []);
  });
});
