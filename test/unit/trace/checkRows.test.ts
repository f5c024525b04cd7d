import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkRows, checksOf } from '../../../src/trace/checkRows.ts';

describe('checkRows', () => {
  it('lists failed checks first, and a row of the world by column', () => {
    const rows = checkRows([
      { name: 'nothing else', passed: true, expected: [], actual: [] },
      { name: 'loans L-1', passed: false, expected: { due: 'b', renewals: 1 }, actual: { due: 'a', renewals: 1 } },
      { name: 'new fines', passed: false, expected: { cents: 5 } },
    ]);
    assert.deepEqual(rows, [
      { check: 1, name: 'loans L-1', field: 'due', passed: false, expected: 'b', actual: 'a' },
      { check: 2, name: 'new fines', field: 'cents', passed: false, expected: '5' },
      { check: 0, name: 'nothing else', passed: true, expected: 'none', actual: 'none' },
      { check: 1, name: 'loans L-1', field: 'renewals', passed: true, expected: '1', actual: '1' },
    ]);
  });
  it('shows parts of a score that has no checks', () => {
    assert.deepEqual(checkRows(checksOf({ parts: { fluent: 1, correct: 0 } })), [
      { check: 1, name: 'correct', passed: false, actual: '0' },
      { check: 0, name: 'fluent', passed: true, actual: '1' },
    ]);
  });
});
