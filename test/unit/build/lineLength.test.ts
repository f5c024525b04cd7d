import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { longLines } from '../../../src/build/checks/lineLength.ts';

test('long lines are found, except in fixtures', (t) => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'lines-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  write('src/fits.ts', `${'x'.repeat(120)}\r\n`);
  write('webview/wide.css', `a\n${'x'.repeat(121)}\n`);
  write('test/fixtures/wide.js', 'x'.repeat(500));
  write('src/data.json', 'x'.repeat(500));
  assert.deepEqual(longLines(root), ['webview/wide.css:2: 121 columns; the maximum is 120']);
});
