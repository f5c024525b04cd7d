import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Restarts } from '../../../../src/host/language/restarts.ts';

const MINUTE = 60_000;

test('a server that keeps ending is started three times, then the user is asked', () => {
  const restarts = new Restarts();
  assert.deepEqual(
    [0, 1, 2, 3].map((at) => restarts.recordExit(at)),
    [true, true, true, false],
  );
  assert.equal(restarts.recordExit(2 * MINUTE), false);
  restarts.reset();
  assert.equal(restarts.recordExit(2 * MINUTE + 1), true);
});

test('one that ends now and then is always restarted', () => {
  const restarts = new Restarts();
  for (let at = 0; at < 20; at += 1) assert.equal(restarts.recordExit(at * 2 * MINUTE), true);
});
