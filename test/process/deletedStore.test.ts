/** A store that is deleted while a batch runs: its server ends, and the command says so. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { hasEnded, root } from '../support/cli.ts';
import { WorkspaceBench } from '../support/workspace.ts';

describe('a store that is deleted while a batch runs', {
  skip: process.platform === 'win32' ? 'Windows does not delete files that are open' : false,
}, () => {
  let bench: WorkspaceBench;
  before(() => {
    bench = new WorkspaceBench();
    bench.write('deadly.ts', '');
    copyFileSync(path.join(root, 'test', 'fixtures', 'tools', 'deadly.ts'), path.join(bench.work, 'deadly.ts'));
  });
  after(() => bench.close());

  it('ends its server and the command with exit code 3', async () => {
    const file = bench.batch('slow', {
      tools: '[{ module: deadly.ts }]',
      tasks: { one: 'call slow {"ms": 600000}\nanswer 42' },
    });
    const child = bench.start(['run', file], { cwd: bench.work });
    let stderr = '';
    const started = new Promise<string>((resolve) => {
      child.stderr?.on('data', (chunk) => {
        stderr += String(chunk);
        const batch = /^batch (\S+)$/m.exec(stderr)?.[1];
        if (batch !== undefined) resolve(batch);
      });
    });
    const closed = once(child, 'close');
    const batch = await Promise.race([started, closed.then(() => assert.fail(stderr))]);
    const { api } = await connect({ store: bench.store });
    while (((await api.rollouts(batch)).rollouts[0]?.progress.tool_calls ?? 0) === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const pid = bench.serverFile()?.pid ?? 0;
    rmSync(bench.store, { recursive: true, force: true, maxRetries: 20 });
    const [code] = (await closed) as [number | null];
    assert.equal(code, 3, stderr);
    assert.match(
      stderr,
      /^rollout: The store \S+ was deleted while its server was running\. What it recorded is lost\.$/m,
    );
    assert.ok(await hasEnded(pid, 20_000));
  });
});
