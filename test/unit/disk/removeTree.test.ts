import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { removeTree } from '../../../src/disk/removeTree.ts';

const linux = process.platform === 'linux' ? false : 'macOS and Windows use Node’s own function';
const isRoot = process.getuid?.() === 0;
const MODULE = path.resolve(import.meta.dirname, '../../../src/disk/removeTree.ts');

let base: string;
let folder: string;

/** Removes the folder as a user who is not root. Returns the code of the error. */
function removeAs(uid: number, gid: number): string {
  const code =
    `import { removeTree } from ${JSON.stringify(MODULE)};\n` +
    `await removeTree(${JSON.stringify(folder)}).then(() => console.log('done'), ({ code }) => console.log(code));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    ...(isRoot ? { uid, gid } : {}),
  });
  return stdout.trim() || stderr;
}

describe('removeTree', () => {
  beforeEach(() => {
    base = mkdtempSync(path.join(os.tmpdir(), 'remove-'));
    chmodSync(base, 0o777);
    folder = path.join(base, 'folder');
    mkdirSync(folder);
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it('removes everything, and no target of a link', async () => {
    writeFileSync(path.join(base, 'kept.txt'), '');
    mkdirSync(path.join(folder, 'a', 'b', 'c'), { recursive: true });
    for (let n = 0; n < 50; n++) writeFileSync(path.join(folder, 'a', 'b', `${n}`), '');
    if (process.platform !== 'win32') {
      symlinkSync(base, path.join(folder, 'a', 'out'));
      symlinkSync(path.join(base, 'kept.txt'), path.join(folder, 'out.txt'));
    }
    await removeTree(folder);
    assert.deepEqual(readdirSync(base), ['kept.txt']);
    await removeTree(folder);
  });

  it('removes a link or file that has the name of the folder, and not the target', { skip: linux }, async () => {
    mkdirSync(path.join(base, 'kept'));
    writeFileSync(path.join(base, 'kept', 'file'), '');
    rmSync(folder, { recursive: true });
    symlinkSync(path.join(base, 'kept'), folder);
    await removeTree(folder);
    writeFileSync(folder, '');
    await removeTree(folder);
    assert.deepEqual([readdirSync(base), readdirSync(path.join(base, 'kept'))], [['kept'], ['file']]);
  });

  it('removes trees that are deeper than a path may be long', { skip: linux }, async () => {
    const inner = path.join(base, 'inner');
    mkdirSync(inner);
    for (let depth = 0; depth < 1500; depth++) {
      mkdirSync(path.join(folder, 'x'));
      renameSync(inner, path.join(folder, 'x', 'long name'));
      renameSync(path.join(folder, 'x'), inner);
    }
    renameSync(inner, path.join(folder, 'deep'));
    await removeTree(folder);
    assert.ok(!existsSync(folder));
  });

  it('removes names that are not UTF-8', { skip: linux }, async () => {
    const name = Buffer.from([0x66, 0xff]);
    const at = Buffer.concat([Buffer.from(`${folder}/`), name]);
    mkdirSync(at);
    writeFileSync(Buffer.concat([at, Buffer.from('/'), name]), '');
    await removeTree(folder);
    assert.ok(!existsSync(folder));
  });

  it('removes folders that their owner made read-only', { skip: linux }, () => {
    const made = ['a', 'a/b', 'a/b/c'].map((name) => path.join(folder, name));
    for (const each of made) mkdirSync(each);
    writeFileSync(path.join(folder, 'a/b/c/file'), '');
    for (const each of [folder, ...made].reverse()) {
      chmodSync(each, each.endsWith('b') ? 0 : 0o500);
      if (isRoot) chownSync(each, 12345, 12345);
    }
    assert.equal(removeAs(12345, 12345), 'done');
    assert.ok(!existsSync(folder));
  });

  it('removes what it may if something belongs to another user', {
    skip: isRoot ? linux : 'needs other users',
  }, () => {
    // A program of the group has made these.
    for (const name of ['closed', 'open', 'empty']) {
      mkdirSync(path.join(folder, 'a', name), { recursive: true });
      if (name !== 'empty') writeFileSync(path.join(folder, 'a', name, 'file'), '');
    }
    for (const name of ['a', 'a/closed', 'a/open', 'a/empty']) chownSync(path.join(folder, name), 12346, 12345);
    chmodSync(path.join(folder, 'a/closed'), 0o700);
    chmodSync(path.join(folder, 'a/empty'), 0o755);
    for (const name of ['a', 'a/open']) chmodSync(path.join(folder, name), 0o770);
    chownSync(folder, 12345, 12345);
    assert.equal(removeAs(12345, 12345), 'EACCES');
    assert.deepEqual(readdirSync(folder, { recursive: true }), ['a', 'a/closed', 'a/closed/file']);
  });
});
