import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nounFor, plural } from '../../../src/common/plural.ts';

test('a noun goes with its number', () => {
  assert.deepEqual(
    [0, 1, 84].map((count) => plural(count, 'task')),
    ['0 tasks', '1 task', '84 tasks'],
  );
  assert.equal(plural(1, 'trajectory', 'trajectories'), '1 trajectory');
  assert.equal(plural(2, 'trajectory', 'trajectories'), '2 trajectories');
  assert.equal(`${(1204).toLocaleString('en-US')} ${nounFor(1204, 'step')}`, '1,204 steps');
});
