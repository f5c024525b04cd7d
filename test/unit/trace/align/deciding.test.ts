import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { align } from '../../../../src/trace/align/columns.ts';
import { decidingSplit } from '../../../../src/trace/align/deciding.ts';
import { attempt } from '../../../support/attempts.ts';

function split(...tried: readonly (readonly [words: string, passed: boolean])[]) {
  const attempts = tried.map(([words, passed], index) => attempt(words, passed, index + 1));
  return decidingSplit(attempts, align(attempts, 0));
}

describe('the split that matters most', () => {
  it('names the arguments that differ, with the pass rate of both', () => {
    const found = split(['a1 b1', true], ['a1 b1', true], ['c1 a1 b1', true], ['a1 b2', false], ['a1 b2', true]);
    assert.deepEqual(found, {
      step: 2,
      tools: 'b',
      difference: 0.5,
      better: { text: 'n: 1', passed: 3, scored: 3 },
      worse: { text: 'n: 2', passed: 1, scored: 2 },
    });
  });

  it('prefers many attempts to few, and the earliest step among equal ones', () => {
    const found = split(
      ...Array.from({ length: 5 }, () => ['a1 b1', true] as const),
      ...Array.from({ length: 5 }, () => ['a1 b2', false] as const),
      ['a1 b1 c1', true],
      ['a1 b1 c2', false],
    );
    assert.deepEqual([found?.step, found?.tools], [2, 'b']);
  });

  it('prefers the step that decides to a later one that follows from it, also with more than two actions', () => {
    const found = split(
      ...Array.from({ length: 16 }, () => ['a1 b1 c1', true] as const),
      ...Array.from({ length: 11 }, () => ['a1 b2 c2', false] as const),
      ...Array.from({ length: 5 }, () => ['a1 b3 c2', false] as const),
    );
    assert.deepEqual(found, {
      step: 2,
      tools: 'b',
      difference: 1,
      better: { text: 'n: 1', passed: 16, scored: 16 },
      worse: { text: 'n: 2', passed: 0, scored: 11 },
    });
  });

  it('is not misled by an argument that every attempt chooses differently', () => {
    const found = split(...Array.from({ length: 9 }, (_, n) => [`a${n} b${n < 4 ? 1 : 2}`, n < 5] as const));
    assert.deepEqual([found?.step, found?.better.passed, found?.worse.scored], [2, 4, 5]);
  });

  it('is undefined if all pass or all act alike', () => {
    assert.equal(split(['a1', true], ['a2', true]), undefined);
    assert.equal(split(['a1', true], ['a1', false]), undefined);
  });
});
