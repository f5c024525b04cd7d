import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { looseFile, looseFileAt } from '../../../src/formats/awmFiles.ts';

describe('looseFileAt', () => {
  it('reads what looseFile writes, on every system', () => {
    for (const [part, task] of [
      ['code', undefined],
      ['codeVerifier', 0],
      ['sqlVerifier', 12],
    ] as const) {
      const of = { part, key: 'e_shop_1', ...(task === undefined ? {} : { task }) };
      const name = looseFile(part, 'e_shop_1', task);
      assert.deepEqual(looseFileAt(`/a/b.c/${name}`), { ...of, folder: '/a/b.c' });
      assert.deepEqual(looseFileAt(`C:\\a\\${name.replace('/', '\\')}`), { ...of, folder: 'C:\\a' });
    }
  });

  it('reads nothing else', () => {
    for (const path of [
      '/a/gen_envs/garden.0.py',
      '/a/gen_verifier/garden.py',
      '/a/gen_verifier/garden.0.txt',
      '/a/gen_tasks/garden.py',
      '/a/garden.0.py',
      'gen_envs.jsonl',
    ])
      assert.equal(looseFileAt(path), undefined, path);
  });
});
