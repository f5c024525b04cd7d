/** The rows that `npm run test:trainers` loaded in the classes of trainers are still those that our formats write. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { GOLDEN_FOLDER, GOLDEN_FORMATS, readRecording, renderRows } from '../../../support/goldenRows.ts';

test('a recorded batch gives the rows that trainers loaded', async () => {
  const rendered = await renderRows(readRecording().batch);
  assert.deepEqual([...rendered.keys()], GOLDEN_FORMATS);
  for (const [format, text] of rendered) {
    const golden = readFileSync(path.join(GOLDEN_FOLDER, `${format}.jsonl`), 'utf8');
    assert.equal(text, golden, `${format}: if this is intended, run npm run test:trainers, and commit what it wrote`);
    assert.ok(text.split('\n').length > 1, `${format} has rows`);
  }
});
