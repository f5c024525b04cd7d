/** Files that are no files: reading them would never end, and opening some would block a thread. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  constants,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { readJsonFile } from '../../../src/cli/jsonFile.ts';
import { diskFiles } from '../../../src/client/disk.ts';
import { HashedFile } from '../../../src/client/importSource.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { bytesOf } from '../../../src/tools/builtins/bytes.ts';
import { bundleModule } from '../../../src/tools/bundle.ts';
import { contentOf, readRegular, readRegularSync, writeRegular } from '../../../src/tools/regularFile.ts';
import { WorkFolder } from '../../../src/tools/workFolder.ts';

const skip = process.platform === 'win32' ? 'no devices and pipes in folders' : false;

let folder: string;
let pipe: string;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'special-'));
  if (skip !== false) return;
  pipe = path.join(folder, 'pipe.ts');
  execFileSync('mkfifo', [pipe]);
  symlinkSync('/dev/zero', path.join(folder, 'endless.agent.yaml'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const isRefused =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    StudioError.is(error, 'config') && pattern.test(error.message);
const refused = (reading: Promise<unknown>, pattern: RegExp): Promise<void> =>
  assert.rejects(reading, isRefused(pattern));
const NOT_REGULAR = /it is not a regular file/;

it('a device behind a link is not read', { skip }, async () => {
  const files = diskFiles(folder);
  await refused(files.readText('endless.agent.yaml'), /^it is not a regular file$/);
  await refused(Array.fromAsync(files.bytes('endless.agent.yaml')), /^it is not a regular file$/);
  assert.throws(() => readRegularSync(path.join(folder, 'endless.agent.yaml')), isRefused(NOT_REGULAR));
  await refused(Array.fromAsync(new HashedFile(path.join(folder, 'endless.agent.yaml')).bytes()), NOT_REGULAR);
});

it('a pipe is neither read nor written, and blocks nobody', { skip }, async () => {
  const files = diskFiles(folder);
  await refused(files.readText('pipe.ts'), /^it is not a regular file$/);
  await refused(Array.fromAsync(files.bytes('pipe.ts')), /^it is not a regular file$/);
  await refused(readRegular(pipe), NOT_REGULAR);
  await refused(writeRegular(pipe, 'text', constants.O_TRUNC), NOT_REGULAR);
  assert.throws(() => readJsonFile(folder, 'pipe.ts'), isRefused(/^pipe\.ts: it is not a regular file\.$/));
  // A model that makes a pipe in its working directory would block a thread of the worker with each call.
  await assert.rejects(bytesOf(folder, 'pipe.ts', 1000), /^ClassedError: pipe\.ts: it is not a regular file$/);
});

it('a module that imports a pipe is not built', { skip, timeout: 30_000 }, async () => {
  writeFileSync(path.join(folder, 'tools.ts'), "import './pipe.ts';\n");
  await refused(
    bundleModule(path.join(folder, 'tools.ts'), folder),
    /^tools\.ts:1:\d+: .*pipe\.ts is not a regular file/i,
  );
});

it('a huge file is not read as text', async () => {
  writeFileSync(path.join(folder, 'huge.agent.yaml'), '');
  truncateSync(path.join(folder, 'huge.agent.yaml'), 65 * 1024 * 1024);
  await refused(diskFiles(folder).readText('huge.agent.yaml'), /^it is larger than 64 MB$/);
  assert.throws(() => readJsonFile(folder, 'huge.agent.yaml'), isRefused(/it is larger than 64 MB/));
});

it('a regular file is written whole, or continued', async () => {
  const file = path.join(folder, 'notes.txt');
  await writeRegular(file, 'a longer text', constants.O_EXCL);
  await writeRegular(file, 'one', constants.O_TRUNC);
  await writeRegular(file, ' two', constants.O_APPEND);
  assert.equal(readFileSync(file, 'utf8'), 'one two');
});

it('a file of a working directory is read as it was when it was opened', async () => {
  const file = path.join(folder, 'growing.txt');
  for (const before of ['', 'one']) {
    writeFileSync(file, before);
    const content = await new WorkFolder(folder).open('growing.txt', (opened) => {
      // A program may do so for as long as it is read.
      appendFileSync(file, ' two');
      return contentOf(opened);
    });
    assert.equal(content.toString(), before);
  }
});
