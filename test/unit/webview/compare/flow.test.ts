// The outcome flow: boxes, their places, and what they say.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ComparedAttempt } from '../../../../src/trace/align/attempt.ts';
import { prefixTree } from '../../../../src/trace/align/prefixTree.ts';
import { boxBeside, type Flow, flowLayout } from '../../../../webview/compare/two/flowLayout.ts';
import { boxText } from '../../../../webview/compare/two/flowText.ts';
import { nearestIn } from '../../../../webview/compare/two/nearest.ts';
import { attempt } from '../../../support/attempts.ts';

function attemptsOf(...words: readonly string[]): ComparedAttempt[] {
  return words.map((each, index) => attempt(each.replace('!', ''), !each.endsWith('!'), index + 1));
}

function flowOf(attempts: readonly ComparedAttempt[], left = 0, right = 1): Flow {
  return flowLayout(prefixTree(attempts), attempts, left, right);
}

/** Boxes by column: name, differing arguments, passed and all attempts. */
function texts(attempts: readonly ComparedAttempt[], { boxes, columns }: Flow): string[][] {
  return Array.from({ length: columns }, (_, column) =>
    boxes
      .filter((box) => box.column === column)
      .map((box) => {
        const { name, different } = boxText(box, attempts);
        return [name, different, `${box.counts.passed}/${box.counts.attempts}`].filter((part) => part !== '').join(' ');
      }),
  );
}

describe('the outcome flow', () => {
  it('has the equal steps, one column for each step after them, and the end', () => {
    const attempts = attemptsOf('a1 b1 c1 done', 'a1 b1 c2 done', 'a1 b1 c2 done!');
    const flow = flowOf(attempts);
    assert.deepEqual(texts(attempts, flow), [
      ['2 equal steps 2/3'],
      ['c n: 2 1/2', 'c n: 1 1/1'],
      ['answer 1/2', 'answer 1/1'],
    ]);
    assert.deepEqual(
      flow.boxes.map(({ ends }) => ends),
      [false, false, false, true, true],
    );
  });

  it('gathers steps without a column in the last one, and says where attempts end earlier', () => {
    const attempts = attemptsOf('a1 b1 c1 c1 c1 done', 'a1 b1 c1 c1 c1 c1 done', 'a1 b2 done', 'a1 b2!');
    const flow = flowOf(attempts);
    assert.deepEqual(texts(attempts, flow), [
      ['1 equal step 3/4'],
      ['b n: 1 2/2', 'b n: 2 1/2'],
      ['c 2/2', 'answer 1/1', 'no more steps 0/1'],
      ['3–4 more steps 2/2'],
    ]);
    assert.deepEqual(flow.boxes.at(-1)?.depth, 3);
  });

  it('folds all but five paths in a column, never those of the two attempts', () => {
    const attempts = attemptsOf(...Array.from({ length: 9 }, (_, n) => `a1 b${n} done`));
    const flow = flowOf(attempts, 7, 8);
    const second = flow.boxes.filter(({ column }) => column === 1);
    assert.deepEqual(
      second.map((box) => box.attempts[0]),
      [0, 1, 2, 7, 8],
    );
    assert.deepEqual(
      flow.folded.map(({ column, paths }) => [column, paths]),
      [[1, 4]],
    );
  });

  it('places boxes without overlaps, below those that ended before', () => {
    const attempts = attemptsOf('a1 done', 'a1 b1 c1 done', 'a1 b1 c2 done', 'a1 b2 c1 done', 'a1 b2 done');
    const { boxes, columns } = flowOf(attempts);
    for (let column = 0; column < columns; column++) {
      // An ended box keeps its place in the columns after it, for its outcomes.
      const taken = boxes
        .filter((box) => box.column === column || (box.ends && box.column < column))
        .sort((a, b) => a.top - b.top);
      for (const [index, box] of taken.slice(1).entries())
        assert.ok(box.top >= (taken[index]?.top ?? 0) + (taken[index]?.height ?? 0), `column ${column}`);
    }
  });

  it('is walked with the arrow keys', () => {
    const { boxes } = flowOf(attemptsOf('a1 b1 done', 'a1 b2 done'));
    assert.deepEqual(
      (
        [
          [0, 'ArrowRight'],
          [1, 'ArrowDown'],
          [2, 'ArrowRight'],
          [4, 'ArrowUp'],
          [3, 'ArrowLeft'],
          [1, 'ArrowUp'],
          [3, 'ArrowRight'],
        ] as const
      ).map(([from, key]) => boxBeside(boxes, from, key)),
      [1, 2, 4, 3, 1, undefined, undefined],
    );
  });

  it('finds the attempt of a box that is nearest to the left one', () => {
    const attempts = attemptsOf('a1 b1 c1', 'a2', 'a1 b2', 'a1 b1 c2');
    assert.deepEqual(
      [nearestIn([1, 2, 3], 0, attempts), nearestIn([1, 2], 0, attempts), nearestIn([0], 0, attempts)],
      [3, 2, undefined],
    );
  });
});
