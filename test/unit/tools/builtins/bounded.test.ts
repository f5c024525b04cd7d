import assert from 'node:assert/strict';
import { it } from 'node:test';
import { search, within } from '../../../../src/tools/builtins/readerThread/bounded.ts';
import { ClassedError } from '../../../../src/trace/classedError.ts';

it('a search that backtracks without end is reported as too slow', () => {
  assert.throws(
    () => search({ pattern: '(a+)+$', flags: '', text: `${'a'.repeat(40)}b`, which: 'last' }),
    (error: unknown) =>
      error instanceof ClassedError &&
      error.class === 'malformed_output' &&
      error.message === 'Searching a text with the pattern /(a+)+$/ took more than 1000 ms.',
  );
});

it('work that waits for a processor has more time', () => {
  let begun = 0;
  const idle = new Int32Array(new SharedArrayBuffer(4));
  const result = within('Waiting', () => {
    begun += 1;
    Atomics.wait(idle, 0, 0, 1_500);
    return 'done';
  });
  assert.deepEqual([result, begun], ['done', 2]);
});
