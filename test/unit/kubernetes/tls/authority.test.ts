/** The authority of an installation, as the server's pod finds it in a mounted Secret. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { newAuthoritySecret, readAuthority } from '../../../../src/kubernetes/tls/authority.ts';

test('the authority is that of install, that of a Secret of type TLS, or none', async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-authority-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.equal(await readAuthority(folder), undefined);
  // What cert-manager writes: ca.crt is the certificate of the issuer, without its key.
  for (const name of ['ca.crt', 'tls.crt', 'tls.key']) writeFileSync(path.join(folder, name), `of others: ${name}`);
  assert.deepEqual(await readAuthority(folder), { cert: 'of others: tls.crt', key: 'of others: tls.key' });
  const data = newAuthoritySecret('team')['data'] as Record<string, string>;
  for (const [name, content] of Object.entries(data))
    writeFileSync(path.join(folder, name), Buffer.from(content, 'base64'));
  const own = await readAuthority(folder);
  assert.match(own?.cert ?? '', /BEGIN CERTIFICATE/);
  assert.match(own?.key ?? '', /BEGIN .*PRIVATE KEY/);
});
