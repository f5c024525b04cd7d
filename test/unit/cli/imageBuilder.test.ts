/** Images built by programs of this machine: a stand-in that records how it was called. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { Context } from '../../../src/cli/context.ts';
import { builderName, findBuilder, runBuilder } from '../../../src/cli/imageBuilder.ts';
import { programRecipe, writeProgramImage } from '../../../src/kubernetes/images/programImage.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-image-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('a program that builds images', {
  skip: process.platform === 'win32' && 'the stand-in is a shell script',
}, () => {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const script = '#!/bin/sh\necho "step: $*"\n[ "$1" != push ] || { echo "denied: no such registry" >&2; exit 7; }\n';
  writeFileSync(path.join(bin, 'buildah'), script, { mode: 0o755 });
  const env = { PATH: bin };
  const lines: string[] = [];
  const context = {
    env: { PATH: `${bin}:/usr/bin:/bin` },
    signal: new AbortController().signal,
    log: (text: string) => lines.push(text),
  } as unknown as Context;

  test('is found by its name, and its output is the progress', async () => {
    const { signal } = context;
    assert.equal(await findBuilder({ PATH: folder }, signal), undefined);
    const found = await findBuilder(env, signal);
    assert.equal(builderName(found), 'buildah');
    await runBuilder(context, found ?? '', ['build', '--tag', 'r/n:1', 'folder']);
    assert.deepEqual(lines, ['step: build --tag r/n:1 folder']);
  });

  test('counts only if its engine answers', async () => {
    const both = path.join(folder, 'both');
    mkdirSync(both);
    const docker = (code: number): void =>
      writeFileSync(path.join(both, 'docker'), `#!/bin/sh\nexit ${String(code)}\n`, { mode: 0o755 });
    const name = async (PATH: string): Promise<string | undefined> =>
      builderName(await findBuilder({ PATH }, context.signal));
    docker(1);
    assert.equal(await name(`${both}:${bin}`), 'buildah');
    assert.equal(await name(both), 'docker', 'its own error says what is missing');
    docker(0);
    assert.equal(await name(`${both}:${bin}`), 'docker');
  });

  test('that fails is reported with the end of its output', async () => {
    await assert.rejects(runBuilder(context, path.join(bin, 'buildah'), ['push', 'r/n:1']), {
      code: 'unavailable',
      message: /^buildah push failed \(exit code 7\)\. .*denied: no such registry/,
    });
  });
});

describe('the folder of an image with the programs', () => {
  const out = path.join(folder, 'out');
  const file = (name: string, text: string) => ({ path: name, bytes: Buffer.from(text) });

  test('has a recipe, and the programs of this version only', async () => {
    await writeProgramImage(out, programRecipe('node:24-slim', 'old'), [
      file('dist/server.mjs', '1'),
      file('dist/old.mjs', ''),
    ]);
    await writeProgramImage(out, programRecipe('base:1', 'abc'), [file('dist/server.mjs', '2')]);
    const recipe = readFileSync(path.join(out, 'Dockerfile'), 'utf8');
    assert.match(recipe, /^FROM base:1$/m);
    assert.match(recipe, /^COPY programs \/opt\/rollout$/m);
    assert.match(recipe, /^LABEL rollout-studio\.programs="abc"$/m);
    assert.equal(readFileSync(path.join(out, 'programs', 'dist', 'server.mjs'), 'utf8'), '2');
    assert.throws(() => statSync(path.join(out, 'programs', 'dist', 'old.mjs')), { code: 'ENOENT' });
    if (process.platform !== 'win32')
      assert.equal(statSync(path.join(out, 'programs', 'dist', 'server.mjs')).mode & 0o777, 0o644);
  });

  test('is not written over a recipe of others', async () => {
    writeFileSync(path.join(out, 'Dockerfile'), 'FROM scratch\n');
    await assert.rejects(writeProgramImage(out, programRecipe('base:1', 'abc'), []), { code: 'conflict' });
    assert.equal(readFileSync(path.join(out, 'Dockerfile'), 'utf8'), 'FROM scratch\n');
  });
});
