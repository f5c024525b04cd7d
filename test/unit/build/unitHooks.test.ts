import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.resolve(import.meta.dirname, '../../..');

test('hooks around each unit test are in suites: files share a process, where others run for all of them', () => {
  const files = globSync('test/unit/**/*.test.ts', { cwd: root });
  assert.ok(files.length > 100);
  const outside = files.filter((file) => /^(before|after)Each\(/m.test(readFileSync(path.join(root, file), 'utf8')));
  assert.deepEqual(outside, []);
});
