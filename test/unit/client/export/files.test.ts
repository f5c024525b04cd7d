import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { manifestName, writeExport } from '../../../../src/client/export/files.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const NEVER = new AbortController().signal;
const file = path.join(folder, 'rows.jsonl');
const manifest = ({ sha256 }: { sha256: string }): string => sha256;

async function* parts(...texts: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield await Promise.resolve(Buffer.from(text));
  }
}

describe('exported files', () => {
  it('are written with a manifest that has their hash, and replace earlier ones', async () => {
    for (const text of ['old', 'new and longer']) {
      const written = await writeExport(file, 'rows.jsonl', parts(text.slice(0, 2), text.slice(2)), manifest, NEVER);
      const sha256 = createHash('sha256').update(text).digest('hex');
      assert.deepEqual(written, { name: 'rows.jsonl', bytes: text.length, sha256 });
      assert.equal(readFileSync(file, 'utf8'), text);
      assert.equal(readFileSync(manifestName(file), 'utf8'), sha256);
    }
    assert.deepEqual(readdirSync(folder).sort(), ['rows.jsonl', 'rows.manifest.json']);
  });

  it('stay as they were if the export is canceled, and nothing else is left', async () => {
    writeFileSync(file, 'kept');
    const stop = new AbortController();
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      stop.abort(new Error('stopped'));
      await Promise.resolve();
      stop.signal.throwIfAborted(); // as requests to a server do
    }
    await assert.rejects(writeExport(file, 'rows.jsonl', slow(), manifest, stop.signal), /stopped|aborted/);
    assert.equal(readFileSync(file, 'utf8'), 'kept');
    assert.deepEqual(readdirSync(folder).sort(), ['rows.jsonl', 'rows.manifest.json']);
  });

  it('stay as they were if the disk is full, which the error says', async () => {
    writeFileSync(file, 'kept');
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    await assert.rejects(writeExport(file, 'rows.jsonl', parts('half', full), manifest, NEVER), {
      code: 'storage',
      message: 'Cannot write rows.jsonl: the disk is full.',
      hint: /Nothing was written/,
    });
    assert.equal(readFileSync(file, 'utf8'), 'kept');
    assert.deepEqual(readdirSync(folder).sort(), ['rows.jsonl', 'rows.manifest.json']);
  });

  it('are not written over folders', async () => {
    mkdirSync(path.join(folder, 'inner'));
    mkdirSync(path.join(folder, 'other.manifest.json'));
    for (const name of ['inner', 'other.jsonl'])
      await assert.rejects(writeExport(path.join(folder, name), name, parts('x'), manifest, NEVER), {
        code: 'storage',
        message: /it is a folder/,
      });
    assert.ok(!readdirSync(folder).includes('other.jsonl'));
  });
});
