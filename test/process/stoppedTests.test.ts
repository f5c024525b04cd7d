/** Runs of tests that would hang: they end, say why, and leave no process behind. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { root } from '../../src/build/bundles.ts';
import { hasEnded } from '../support/cli.ts';

/** Writes a test file, and runs it as `npm test` does. */
function startTests(
  t: TestContext,
  source: (folder: string) => string,
  more: NodeJS.ProcessEnv = {},
): { readonly run: ChildProcessByStdio<null, Readable, Readable>; readonly folder: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'hangs.test.ts');
  writeFileSync(file, source(folder));
  // In this variable, the runner sees that it is in a test already, and would run nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawn(process.execPath, [path.join(root, 'src/build/test.ts'), '--once', file], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { run, folder };
}

test('a stopped run of tests says what was running, and ends the processes that they started', {
  skip: process.platform === 'linux' ? false : 'other systems do not show whose a process is',
  timeout: 120_000,
}, async (t) => {
  const pidIn = (folder: string): string => path.join(folder, 'pid');
  const { run, folder } = startTests(
    t,
    (where) =>
      `import { type ChildProcessByStdio, spawn } from 'node:child_process';
       import { renameSync, writeFileSync } from 'node:fs';
       import { describe, it } from 'node:test';
       describe('a suite', () => {
         it('ends', () => undefined);
         it('hangs', async () => {
           const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
           writeFileSync(${JSON.stringify(`${pidIn(where)}.part`)}, String(child.pid));
           renameSync(${JSON.stringify(`${pidIn(where)}.part`)}, ${JSON.stringify(pidIn(where))});
           await new Promise((resolve) => setTimeout(resolve, 600_000));
         });
       });`,
  );
  const output = Promise.all([text(run.stdout), text(run.stderr)]);
  const closed = once(run, 'close');
  while (!existsSync(pidIn(folder))) {
    if (run.exitCode !== null) assert.fail(`the run ended: ${(await output).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  run.kill('SIGTERM');
  await closed;
  const [printed, errors] = await output;
  assert.equal(run.exitCode, 130, errors);
  // The run may hear of the test only after the test has begun.
  assert.match(printed, /Stopped\n {2}while running: \S*hangs\.test\.ts \(\d+ s\)(?: › a suite(?: › hangs)?)?\n/);
  assert.ok(await hasEnded(Number(readFileSync(pidIn(folder), 'utf8')), 5000), 'the detached process has ended');
});

test('a file whose failed test leaves a server behind ends, with its failures', { timeout: 120_000 }, async (t) => {
  const { run } = startTests(
    t,
    () =>
      `import { createServer } from 'node:net';
       import { it } from 'node:test';
       it('leaves a server', () => {
         createServer().listen(0, '127.0.0.1');
         throw new Error('before it was closed');
       });`,
    { LEFTOVERS_MS: '500' },
  );
  const [printed] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')]);
  assert.match(printed, /something that they left keeps the process: .*TCPServerWrap/);
  assert.match(printed, /leaves a server[^]*before it was closed/);
  assert.match(printed, /hangs\.test\.ts did not run to its end\n\n0 passed, 1 failed\n$/);
  assert.equal(run.exitCode, 1);
});
