/** A worker that is alive but no longer runs must not stop its batch. Takes as long as a lease. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { hasEnded } from '../support/cli.ts';
import { NO_SANDBOX, submission, task, until } from '../support/directed.ts';
import { TestStore } from '../support/rolloutServer.ts';

test('the server ends a worker that was stopped, and another one finishes its batch', {
  skip: process.platform === 'win32' ? 'Windows has no SIGSTOP' : false,
  timeout: 180_000,
}, async () => {
  await using store = new TestStore();
  const server = await store.start([]);
  const mark = path.join(store.folder, 'began');
  const command = `test -e ${mark} || { touch ${mark}; sleep 600; }`;
  const work = `call execute_command ${JSON.stringify({ command })}\nanswer 2`;
  const batch = await server.submit(submission({ attempts: 1, retry: { infrastructure: 1 }, sandbox: NO_SANDBOX }), [
    task('a', work, '2'),
  ]);
  await until(server, batch, (events) => events.some((event) => event.kind === 'tool.start'));
  while (!existsSync(mark)) await new Promise((resolve) => setTimeout(resolve, 20));
  const [worker] = (await server.api.server()).workers;
  const pid = Number(worker!.worker.slice('local-'.length));
  process.kill(pid, 'SIGSTOP');
  while ((await server.api.batch(batch)).state !== 'ended') await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal((await server.api.batch(batch)).counts.passed, 1);
  assert.ok(await hasEnded(pid, 15_000));
  const reasons = (await server.api.events(batch)).events.flatMap(({ kind, data }) =>
    kind === 'infra' ? [data.what] : [],
  );
  assert.ok(reasons.includes('worker_lost') && reasons.includes('worker_exit'), reasons.join());
  await server.kill('SIGTERM');
});
