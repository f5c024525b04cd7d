import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../../src/kubernetes/quantity.ts';

test('amounts are understood in all units', () => {
  assert.deepEqual(['1Gi', '1.5Mi', '500M', '1e9', '7', '250m', '10 Gi', 'x', '3Zi'].map(parseQuantity), [
    ...[1024 ** 3, 1.5 * 1024 ** 2, 5e8, 1e9, 7, 0.25],
    ...[undefined, undefined, undefined],
  ]);
});
