import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpError } from '../../../src/protocol/client.ts';
import { readyLine } from '../../../src/protocol/serverFile.ts';

test('the hint of an older server’s error is read', () => {
  const { error } = httpError.parse({ error: { code: 'gone', message: 'It is gone.', mend: 'List what is there.' } });
  assert.equal(error.hint, 'List what is there.');
  const line = readyLine.parse({ type: 'failed', code: 'config', message: 'No store.', mend: 'Name one.' });
  assert.equal(line.type === 'failed' && line.hint, 'Name one.');
});

test('a hint is kept as it is', () => {
  const { error } = httpError.parse({ error: { code: 'gone', message: 'It is gone.', hint: 'List.', mend: 'Old.' } });
  assert.equal(error.hint, 'List.');
});
