import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createFolder } from '../../../src/common/createFolder.ts';

const make = (each: string): void => mkdirSync(each, { mode: 0o700 });

test('a folder is created with its parents, also if it exists', () => {
  const base = mkdtempSync(path.join(os.tmpdir(), 'create-folder-'));
  try {
    const folder = path.join(base, 'a', 'b', 'c');
    for (const _ of [1, 2]) createFolder(folder, path, make);
    assert.equal(statSync(folder).isDirectory(), true);
    writeFileSync(path.join(base, 'file'), '');
    assert.throws(() => createFolder(path.join(base, 'file', 'in'), path, make), { code: /^(ENOTDIR|ENOENT)$/ });
  } finally {
    rmSync(base, { recursive: true });
  }
});

test('a system that reports an existing parent as missing is not asked forever', () => {
  const asked: string[] = [];
  const create = (folder: string): void => {
    asked.push(folder);
    throw Object.assign(new Error(folder), { code: folder === '/proc' ? 'EEXIST' : 'ENOENT' });
  };
  assert.throws(() => createFolder('/proc/a/b', path.posix, create), { message: '/proc/a' });
  assert.deepEqual(asked, ['/proc/a/b', '/proc/a', '/proc', '/proc/a']);
  assert.equal(existsSync('/proc/a'), false);
});
