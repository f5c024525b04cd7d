/** A run of tests that is stopped, as one that hangs is: it says what was running, and leaves no process behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { root } from '../../src/build/bundles.ts';
import { hasEnded } from '../support/cli.ts';

test('a stopped run of tests says what was running, and ends the processes that they started', {
  skip: process.platform === 'linux' ? false : 'other systems do not show whose a process is',
  timeout: 120_000,
}, async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const pidFile = path.join(folder, 'pid');
  const file = path.join(folder, 'hangs.test.ts');
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process';
     import { renameSync, writeFileSync } from 'node:fs';
     import { describe, it } from 'node:test';
     describe('a suite', () => {
       it('ends', () => undefined);
       it('hangs', async () => {
         const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
         writeFileSync(${JSON.stringify(`${pidFile}.part`)}, String(child.pid));
         renameSync(${JSON.stringify(`${pidFile}.part`)}, ${JSON.stringify(pidFile)});
         await new Promise((resolve) => setTimeout(resolve, 600_000));
       });
     });`,
  );
  // In this variable, the runner sees that it is in a test already, and would run nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = spawn(process.execPath, [path.join(root, 'src/build/test.ts'), '--once', file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(run.stdout), text(run.stderr)]);
  const closed = once(run, 'close');
  while (!existsSync(pidFile)) {
    if (run.exitCode !== null) assert.fail(`the run ended: ${(await output).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  run.kill('SIGTERM');
  await closed;
  const [printed, errors] = await output;
  assert.equal(run.exitCode, 130, errors);
  // The run may hear of the test only after the test has begun.
  assert.match(printed, /Stopped\n {2}while running: \S*hangs\.test\.ts \(\d+ s\)(?: › a suite(?: › hangs)?)?\n/);
  assert.ok(await hasEnded(Number(readFileSync(pidFile, 'utf8')), 5000), 'the detached process has ended');
});
