import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { tooLong } from '../../../src/build/checks/lengths.ts';

test('long lines and files are found, except in fixtures', (t) => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'lengths-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  write('src/fits.ts', `${'x'.repeat(120)}\n`.repeat(400));
  write('webview/wide.css', `a\n${'x'.repeat(121)}\n`);
  write('src/tall.ts', 'x\n'.repeat(401));
  write('test/tall.test.ts', 'x\n'.repeat(401));
  write('test/fixtures/wide.js', 'x'.repeat(500));
  assert.deepEqual(tooLong(root), [
    'src/tall.ts:401: 401 lines, at most 400; split the file',
    'webview/wide.css:2: 121 columns, at most 120',
  ]);
});
