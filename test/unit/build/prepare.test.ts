import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { root } from '../../../src/build/bundles.ts';

const run = path.join(root, 'src/build/run.mjs');

it('a global installation sets up a fresh clone; an installation of dependencies, which that starts, does not', (t) => {
  const clone = mkdtempSync(path.join(os.tmpdir(), 'rollout-prepare-'));
  t.after(() => rmSync(clone, { recursive: true, force: true }));
  mkdirSync(path.join(clone, 'src/build'), { recursive: true });
  writeFileSync(path.join(clone, 'src/build/run.mjs'), readFileSync(run));
  writeFileSync(path.join(clone, 'package-lock.json'), '{}');
  // In the place of npm: prints what it was asked to do.
  const npm = path.join(clone, 'npm.mjs');
  writeFileSync(npm, 'console.log(process.argv[2], JSON.stringify(process.env.npm_config_global)); process.exit(1);');
  const prepare = (global: string): { readonly status: number | null; readonly output: string } => {
    const { status, stderr } = spawnSync(process.execPath, [path.join(clone, 'src/build/run.mjs'), 'prepare'], {
      encoding: 'utf8',
      env: { ...process.env, npm_execpath: npm, npm_config_global: global },
    });
    return { status, output: stderr };
  };
  assert.deepEqual(prepare(''), { status: 0, output: '' });
  const { status, output } = prepare('true');
  assert.equal(status, 3);
  assert.match(output, /^Installing dependencies.*\nci ""\nCannot install the dependencies/);
});
