import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { diskFiles } from '../../../src/client/disk.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { dirname } from '../../../src/config/paths.ts';
import { FILES } from './sample.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-disk-'));
after(() => rmSync(folder, { recursive: true, force: true }));
for (const [name, text] of Object.entries(FILES)) {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

describe('diskFiles', () => {
  const files = diskFiles(folder);
  it('loads a batch from the disk', async () => {
    const { value, problems } = await loadBatch(files, 'batches/nightly.batch.yaml');
    assert.deepEqual(problems, []);
    assert.equal(value?.dataset.tasks, 2);
    assert.ok(path.isAbsolute(value.path));
  });
  it('reports which files exist', async () => {
    assert.equal((await files.stat('agents'))?.kind, 'folder');
    assert.deepEqual(await files.stat('data/tasks.jsonl'), {
      kind: 'file',
      bytes: Buffer.byteLength(FILES['data/tasks.jsonl']!),
    });
    assert.equal(await files.stat('nope'), undefined);
    assert.equal(await files.stat('data/tasks.jsonl/x'), undefined);
    assert.deepEqual(await files.list('agents'), ['desk.agent.yaml', 'prompts/', 'tools/']);
    assert.deepEqual(await files.list('nope'), []);
    assert.equal(dirname(files.absolute('x')), files.absolute('.'));
  });
  it('throws StudioErrors', async () => {
    await assert.rejects(files.readText('nope'), { name: 'StudioError', code: 'not_found' });
    await assert.rejects(
      async () => {
        for await (const chunk of files.bytes('nope')) assert.fail(String(chunk));
      },
      { name: 'StudioError', code: 'not_found' },
    );
    writeFileSync(path.join(folder, 'latin.txt'), new Uint8Array([0xe9, 0x0a]));
    await assert.rejects(files.readText('latin.txt'), { name: 'StudioError', code: 'config', message: /UTF-8/ });
  });
  it('closes a file when its reader stops early', async () => {
    writeFileSync(path.join(folder, 'big.bin'), new Uint8Array(2 << 20));
    for await (const chunk of files.bytes('big.bin')) {
      assert.ok(chunk.length <= 256 * 1024);
      break;
    }
    rmSync(path.join(folder, 'big.bin')); // Windows refuses this while it is open
  });
});
