// All attempts at a task as one tree.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Branch, prefixTree } from '../../../../src/trace/align/prefixTree.ts';
import { attempt, randomWords } from '../../../support/attempts.ts';
import { Random } from '../../../support/random.ts';

function all(branch: Branch): Branch[] {
  return [branch, ...branch.branches.flatMap(all)];
}

describe('prefix tree', () => {
  it('folds chains without a fork, and counts the outcomes of each branch', () => {
    const tree = prefixTree([
      attempt('a1 b1 c1 done', true),
      attempt('a1 b1 c1 fine', true),
      attempt('a1 b1 c2', false),
      attempt('a1 b1', null),
    ]);
    assert.deepEqual(
      tree.actions.map((action) => action.calls[0]?.name),
      ['a', 'b'],
    );
    assert.deepEqual(tree.counts, { attempts: 4, passed: 2, failed: 1, truncated: 0, other: 1, rate: 2 / 3 });
    assert.deepEqual(tree.ends, [3]);
    assert.deepEqual(
      tree.branches.map((branch) => [branch.actions.length, branch.counts.attempts, branch.counts.rate, branch.ends]),
      [
        [2, 2, 1, [0, 1]],
        [1, 1, 0, [2]],
      ],
    );
    assert.deepEqual(
      tree.branches.map((branch) => branch.along.map((one) => one.step)),
      [[3, 3], [3]],
    );
  });

  it('has an empty root when nothing is shared, and none without attempts', () => {
    const tree = prefixTree([attempt('a1'), attempt('b1')]);
    assert.deepEqual([tree.actions.length, tree.branches.length, tree.along.length], [0, 2, 2]);
    assert.deepEqual([prefixTree([]).counts.attempts, prefixTree([]).branches.length], [0, 0]);
  });

  it('loses no attempt, and every path spells the actions of its attempts', () => {
    const random = new Random();
    for (let round = 0; round < 100; round++) {
      const attempts = Array.from({ length: 1 + Math.floor(random.next() * 9) }, (_, index) =>
        attempt(randomWords(random, 6), random.next() < 0.5, index + 1),
      );
      const tree = prefixTree(attempts);
      const message = `seed ${random.seed}`;
      assert.deepEqual(
        all(tree)
          .flatMap((branch) => branch.ends)
          .sort((a, b) => a - b),
        attempts.map((_, index) => index),
        message,
      );
      for (const branch of all(tree)) {
        assert.equal(
          branch.branches.reduce((sum, next) => sum + next.counts.attempts, branch.ends.length),
          branch.counts.attempts,
          message,
        );
        assert.equal(branch.along.length, branch.counts.attempts, message);
        for (const { index } of branch.along) {
          assert.deepEqual(
            attempts[index]?.actions
              .slice(branch.depth, branch.depth + branch.actions.length)
              .map((action) => action.key),
            branch.actions.map((action) => action.key),
            message,
          );
        }
      }
    }
  });
});
