/** `check` and `doctor` in a folder with a pipe among its files: neither hangs, and neither writes anything. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { WorkspaceBench } from '../support/workspace.ts';

describe('a command that only checks', { skip: process.platform === 'win32' ? 'no pipes among files' : false }, () => {
  let bench: WorkspaceBench;
  let unchanged: readonly string[];
  before(() => {
    bench = new WorkspaceBench();
    bench.write('tools.ts', '');
    execFileSync('mkfifo', [path.join(bench.work, 'pipe.agent.yaml')]);
    unchanged = readdirSync(bench.folder, { recursive: true, encoding: 'utf8' });
  });
  after(() => bench.close());
  const assertUnchanged = (): void =>
    assert.deepEqual(readdirSync(bench.folder, { recursive: true, encoding: 'utf8' }), unchanged);

  it('check names the file', async () => {
    const { code, stdout } = await bench.rollout(['check']);
    assert.equal(code, 1);
    assert.match(stdout, /^pipe\.agent\.yaml:1:1: .*it is not a regular file/m);
    assertUnchanged();
  });

  it('doctor leaves it to check', async () => {
    const { code, stdout, stderr } = await bench.rollout(['doctor']);
    assert.match(stdout, /^✓ store {6}/m, stderr);
    assert.ok(code === 0 || code === 1, stderr);
    assertUnchanged();
  });
});
