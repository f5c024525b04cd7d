import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../src/build/bundles.ts';
import { packageFolderOf } from '../../../src/build/notices/bundledPackages.ts';
import { renderNotices, SHIPPED_WHOLE, staleNotices } from '../../../src/build/notices.ts';

test('a file belongs to the innermost package that contains it', () => {
  assert.equal(packageFolderOf('node_modules/ws/lib/sender.js'), 'node_modules/ws');
  assert.equal(packageFolderOf('node_modules/@a/b/index.js'), 'node_modules/@a/b');
  assert.equal(packageFolderOf('node_modules/a/node_modules/@b/c/d.js'), 'node_modules/a/node_modules/@b/c');
  assert.equal(packageFolderOf('src/cli/main.ts'), undefined);
});

test('the notices hold the license of every shipped package', () => {
  const text = renderNotices(root);
  for (const name of ['openai', 'ws', 'zod', 'preact', '@microsoft/fast-element', '@vscode/codicons', 'pgpass'])
    assert.match(text, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ · `, 'm'), name);
  assert.match(text, /^PDF\.js, in unpdf · Apache-2\.0/m);
  assert.match(text, /Copyright \(c\) 2013-2016 Hannes Hörl/);
  // A package built from others brings their licenses in a separate file.
  const inside = readFileSync(path.join(root, 'node_modules/playwright-core/ThirdPartyNotices.txt'), 'utf8');
  assert.ok(text.includes(inside.replaceAll('\r\n', '\n').trim()), 'playwright-core');
});

test('missing, stale, and incomplete notices are found', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'notices-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const add = (name: string, files: Readonly<Record<string, string>>): void => {
    mkdirSync(path.join(folder, 'node_modules', name), { recursive: true });
    const manifest = JSON.stringify({ name, version: '1.0.0', license: 'MIT' });
    for (const [file, text] of Object.entries({ 'package.json': manifest, ...files }))
      writeFileSync(path.join(folder, 'node_modules', name, file), text);
  };
  for (const name of [...SHIPPED_WHOLE.map((folder) => folder.replace(/^node_modules\//, '')), 'bundled'])
    add(name, { LICENSE: `License of ${name}` });
  mkdirSync(path.join(folder, 'dist'));
  writeFileSync(path.join(folder, 'dist', '.packages.json'), '["node_modules/bundled"]');
  assert.equal(staleNotices(folder).length, 1, 'missing');
  writeFileSync(path.join(folder, 'ThirdPartyNotices.txt'), renderNotices(folder));
  assert.match(readFileSync(path.join(folder, 'ThirdPartyNotices.txt'), 'utf8'), /^bundled 1\.0\.0 · MIT$/m);
  assert.deepEqual(staleNotices(folder), []);
  add('bundled', { LICENSE: 'Another license' });
  assert.equal(staleNotices(folder).length, 1, 'stale');
  add('unlicensed', {});
  writeFileSync(path.join(folder, 'dist', '.packages.json'), '["node_modules/unlicensed"]');
  assert.throws(() => renderNotices(folder), /unlicensed has no license text/);
});
