/** Files of a workspace that are no files: reading them would never end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { diskFiles } from '../../../src/client/disk.ts';
import { StudioError } from '../../../src/common/errors.ts';

let folder: string;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'special-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const refused = (reading: Promise<unknown>, pattern: RegExp): Promise<void> =>
  assert.rejects(reading, (error) => StudioError.is(error, 'config') && pattern.test(error.message));

it('a device behind a link is not read', { skip: process.platform === 'win32' ? 'no devices' : false }, async () => {
  symlinkSync('/dev/zero', path.join(folder, 'endless.agent.yaml'));
  const files = diskFiles(folder);
  await refused(files.readText('endless.agent.yaml'), /^it is not a regular file$/);
  await refused(Array.fromAsync(files.bytes('endless.agent.yaml')), /^it is not a regular file$/);
});

it('a huge file is not read as text', async () => {
  writeFileSync(path.join(folder, 'huge.agent.yaml'), '');
  truncateSync(path.join(folder, 'huge.agent.yaml'), 65 * 1024 * 1024);
  await refused(diskFiles(folder).readText('huge.agent.yaml'), /^it is larger than 64 MB$/);
});
