/** Files to import, read piece by piece. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { elementsOf, HashedFile } from '../../../src/client/importSource.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { sha256Hex } from '../../../src/common/hash.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'import-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

function source(content: string | Uint8Array, signal = new AbortController().signal): HashedFile {
  const file = path.join(folder, 'results.json');
  writeFileSync(file, content);
  return new HashedFile(file, signal);
}

const refused = (content: string | Uint8Array, pattern: RegExp): Promise<void> =>
  assert.rejects(
    Array.fromAsync(elementsOf('results.json', source(content))),
    (error) => StudioError.is(error, 'usage') && pattern.test(error.message),
  );

it('a broken file is refused with line and column', async () => {
  await refused('[\n  {"a": 1},\n  {"b": tru}\n]', /^results\.json:3:\d+: invalid JSON: /);
  await refused('[\n  {"a": 1},\n  {"b": ', /^results\.json:3:\d+: the file ends before the array is closed\.$/);
  await refused(
    new Uint8Array([0x5b, 0x0a, 0x22, 0xff, 0x22, 0x5d]),
    /^results\.json:2: the file is not UTF-8 text\.$/,
  );
});

it('the hash is that of the whole file, once it was read', async () => {
  const content = `[${Array.from({ length: 50_000 }, (_, n) => `"é${n}"`).join(',\n')}]`;
  const file = source(content);
  const elements = await Array.fromAsync(elementsOf('results.json', file));
  assert.deepEqual(elements.at(-1), { value: 'é49999' });
  assert.equal(elements.length, 50_000);
  assert.equal(file.sha, sha256Hex(new TextEncoder().encode(content)));
});

it('reading ends when it is cancelled', async () => {
  const controller = new AbortController();
  const file = source(`[${'1,'.repeat(1e6)}1]`, controller.signal);
  await assert.rejects(
    async () => {
      for await (const element of elementsOf('results.json', file)) if ('value' in element) controller.abort();
    },
    (error) => StudioError.is(error, 'cancelled'),
  );
});
