import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { listFiles, PackageManager } from '@vscode/vsce';
import { root } from '../../../src/build/bundles.ts';
import { QUALITY, RELEASED_ESBUILD } from '../../../src/build/vsix/compressed.ts';
import { VSIX_LARGEST_BYTES, type VsixContents, vsixContents, vsixProblems } from '../../../src/build/vsix/contents.ts';
import { makeVsix } from '../../../src/build/vsix/make.ts';
import { ESBUILD_WASM } from '../../../src/build/vsix/stage.ts';

/**
 * Creates an empty file for each file of the project, without the thousands that tests and their programs wrote: `vsce`
 * compares the path of each with each pattern.
 */
function writeNames(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const target = path.join(to, entry.name);
    if (['.git', '.out', 'node_modules'].includes(entry.name)) continue;
    if (entry.isDirectory()) writeNames(path.join(from, entry.name), target);
    else writeFileSync(target, '');
  }
}

describe('the .vsix', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-vsix-'));
  const stage = path.join(folder, 'stage');
  let contents: VsixContents;
  before(async () => {
    await makeVsix(root, stage, path.join(folder, 'out.vsix'), QUALITY.quick);
    contents = vsixContents(path.join(folder, 'out.vsix'));
  });
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));

  it('holds what the allowlist names, everything it needs, and no more than its budget', () => {
    const { version } = JSON.parse(
      readFileSync(path.join(root, 'node_modules', 'esbuild-wasm', 'package.json'), 'utf8'),
    ) as { version: string };
    assert.equal(version, RELEASED_ESBUILD.version, 'npm run package prints the size of the new one');
    // The budget is that of a release, which compresses its largest file for half a minute.
    const quick = statSync(path.join(stage, ESBUILD_WASM)).size;
    assert.ok(quick > RELEASED_ESBUILD.bytes);
    const bytes = contents.bytes - quick + RELEASED_ESBUILD.bytes;
    assert.deepEqual(vsixProblems({ ...contents, bytes }), []);
  });
  it('holds exactly the files of its stage', () => {
    const staged = readdirSync(stage, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== '.vscodeignore')
      .map((entry) => path.relative(stage, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
    assert.deepEqual(contents.files, staged.sort());
  });
  it('holds no source map, no test, and no source except the one that users’ modules import', () => {
    assert.deepEqual(
      contents.files.filter((file) => file.endsWith('.map')),
      [],
    );
    assert.deepEqual(
      contents.files.filter((file) => /(^|\/)tests?\/|\.test\./.test(file)),
      [],
    );
    assert.deepEqual(
      contents.files.filter((file) => /(?<!\.d)\.tsx?$/.test(file) && !file.startsWith('media/sample/')),
      ['src/tools/sdk.ts'],
    );
  });
  it('equals what `vsce` would pack, except for the libraries', async () => {
    const names = path.join(folder, 'names');
    writeNames(root, names);
    for (const file of ['package.json', '.vscodeignore']) copyFileSync(path.join(root, file), path.join(names, file));
    const files = await listFiles({ cwd: names, packageManager: PackageManager.None });
    assert.deepEqual(
      files.sort(),
      contents.files.filter((file) => !file.startsWith('dist/node_modules/')),
    );
  });
  it('contains everything that its manifest names', () => {
    const text = readFileSync(path.join(stage, 'package.json'), 'utf8');
    const manifest = JSON.parse(text) as Record<string, unknown>;
    for (const key of ['scripts', 'dependencies', 'devDependencies']) assert.equal(manifest[key], undefined);
    const named = [...text.matchAll(/"(?:\.\/)?((?:media|dist)\/[^"]+)"/g)].map((match) => match[1] ?? '');
    assert.ok(named.includes('dist/extension.mjs'));
    assert.deepEqual(
      named.filter((file) => !existsSync(path.join(stage, file))),
      [],
    );
  });
});

describe('the check of a .vsix', () => {
  const good = vsixProblems({ files: ['package.json'], strangers: [], bytes: 1 });

  it('finds a leaked file', () => {
    const leaks = [
      'dist/extension.mjs.map',
      'test/unit/a.test.ts',
      'src/server/main.ts',
      'dist/node_modules/esbuild/bin/other',
      'media/pictures/a.png',
      '.env',
    ];
    const found = vsixProblems({ files: ['package.json', ...leaks], strangers: ['stranger.txt'], bytes: 1 }).filter(
      (line) => !good.includes(line),
    );
    assert.deepEqual(
      found,
      [...leaks, 'stranger.txt'].map((file) => `${file}: must not be in the .vsix`),
    );
  });
  it('finds a missing file and a broken budget', () => {
    const found = vsixProblems({ files: [], strangers: [], bytes: VSIX_LARGEST_BYTES + 1 });
    assert.ok(found.includes('dist/extension.mjs: is missing from the .vsix'));
    assert.ok(found.some((line) => line.startsWith(`the .vsix is ${VSIX_LARGEST_BYTES + 1} bytes`)));
  });
});
