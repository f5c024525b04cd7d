import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Secrets } from '../../../../src/server/batches/secrets.ts';

test('values of a batch are hidden from the moment they are kept, until they are removed', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'rollout-secrets-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const secrets = new Secrets(folder);
  const env = { names: ['KEY', 'CITY'], shown: ['CITY'] };
  await secrets.put('b1', env, { KEY: 'hush-hush-1', CITY: 'Reykjavik' });
  assert.equal(secrets.line('hush-hush-1 in Reykjavik'), '[redacted] in Reykjavik');
  // A retry sends other values.
  await secrets.put('b1', env, { KEY: 'hush-hush-2', CITY: 'Reykjavik' });
  assert.deepEqual(secrets.clean('b1', { why: 'hush-hush-2' }), { why: '[redacted]' });
  await secrets.remove('b1');
  assert.equal(secrets.line('hush-hush-2'), 'hush-hush-2');
});
