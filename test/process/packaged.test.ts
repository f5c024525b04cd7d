import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root } from '../../src/build/bundles.ts';
import { QUALITY } from '../../src/build/vsix/compressed.ts';
import { stageVsix } from '../../src/build/vsix/stage.ts';
import { readServerFile } from '../../src/client/serverFile.ts';
import { end } from '../support/cli.ts';

describe('the contents of the .vsix', { timeout: 480_000 }, () => {
  // Far from the checkout: nothing of its node_modules is reachable from there.
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'rollout-packaged-')));
  const stage = path.join(folder, 'extension');
  const store = path.join(folder, 'store');
  const workspace = path.join(folder, 'workspace');
  const rollout = (args: readonly string[]): { status: number | null; text: string } => {
    // Without a PATH: VS Code's users need no Node of their own.
    const done = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', path.join(stage, 'dist', 'cli.mjs'), ...args, '--store', store],
      {
        cwd: args[0] === 'init' ? folder : workspace,
        encoding: 'utf8',
        timeout: 120_000,
        env: { ...process.env, PATH: '', Path: '' },
      },
    );
    return { status: done.status, text: done.stdout + done.stderr };
  };
  before(() => stageVsix(root, stage, QUALITY.quick));
  after(async () => {
    const server = readServerFile(store);
    if (server !== undefined) await end(server.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  });

  it('create the sample workspace, bundle its tools without a native bundler, and run them', () => {
    const created = rollout(['init', workspace]);
    assert.equal(created.status, 0, created.text);
    const ran = rollout(['run', path.join('batches', 'first.batch.yaml')]);
    assert.equal(ran.status, 0, ran.text);
    assert.match(ran.text, /1 attempt: 1 passed/);
  });
  it('report where a module does not build', () => {
    writeFileSync(
      path.join(workspace, 'tools', 'books.ts'),
      "import { tool } from 'rollout-studio';\nimport { shelf } from 'not-there';\nexport const books = tool(shelf);\n",
    );
    const checked = rollout(['check']);
    assert.equal(checked.status, 1, checked.text);
    assert.match(checked.text, /tools\/books\.ts:2:23: Could not resolve "not-there"/);
  });
});
