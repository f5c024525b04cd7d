/** Client tokens from a folder. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { RIGHTS } from '../../../src/protocol/access.ts';
import { Tokens } from '../../../src/server/access/tokens.ts';
import { tokensIn } from '../../../src/server/process/tokenFolder.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-tokens-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): void {
  writeFileSync(path.join(folder, name), text);
}

test('tokens come from a folder, if it may hold them', async () => {
  const [full, read] = ['f'.repeat(40), 'r'.repeat(40)];
  await assert.rejects(tokensIn(folder), { code: 'config' });
  write('full', `${full}\n`);
  write('read', read);
  const found = await tokensIn(folder);
  assert.deepEqual(found, { full, read });
  const tokens = new Tokens('key', found);
  assert.deepEqual(
    [tokens.identify(full), tokens.identify(read)],
    [
      { kind: 'client', rights: new Set(RIGHTS) },
      { kind: 'client', rights: new Set(['read']) },
    ],
  );
  for (const wrong of ['', 'short', full, `${read} ${read}`]) {
    write('read', wrong);
    await assert.rejects(tokensIn(folder), { code: 'config' }, wrong);
  }
});
