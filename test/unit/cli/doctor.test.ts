import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chromiumFinding } from '../../../src/cli/commands/doctor.ts';

test('doctor reports where Chromium is, or how to get it', () => {
  assert.deepEqual(chromiumFinding('/usr/bin/chromium'), { name: 'chromium', state: 'ok', text: '/usr/bin/chromium' });
  const missing = chromiumFinding(undefined);
  assert.deepEqual([missing.name, missing.state], ['chromium', 'missing']);
  assert.match(missing.text, /browser tools/);
  assert.match(missing.hint ?? '', /^Install Chromium, .*CHROME_PATH to the program\.$/);
});
