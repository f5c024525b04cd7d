import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sandboxHint } from '../../../src/tools/modules/sandboxHint.ts';

const sandbox = { read: ['/data/manuals'], write: ['/data/out'] };
const hint = (code: string, path: string): string | undefined => sandboxHint({ code, path }, sandbox, '/work/1');

describe('the hint about the sandbox', { skip: process.platform === 'win32' && 'has no sandbox' }, () => {
  it('says what to name in the batch for a file that is not visible, whether it exists or not', () => {
    assert.match(hint('ENOENT', '/data/books.db') ?? '', /add it or its folder to sandbox\.read or sandbox\.write/);
    assert.match(hint('EACCES', '/home/me/.netrc') ?? '', /sandbox\.read/);
  });
  it('says what can be changed', () => {
    assert.match(hint('EROFS', '/data/manuals/a.md') ?? '', /sandbox\.write/);
  });
  it('is not given where the sandbox is not the cause', () => {
    for (const file of ['/work/1/a', '/data/out/a', '/data/manuals/a', '/usr/share/a', 'a'])
      assert.equal(hint('ENOENT', file), undefined, file);
    assert.equal(hint('EISDIR', '/data/books.db'), undefined);
  });
});
