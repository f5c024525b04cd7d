/** A worker as a process, with a real server and the embedded demo model. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { alive, hasEnded } from '../support/cli.ts';
import { startDemoServer } from '../support/demoServer.ts';
import { additionTask, assertWhole, eventsOf, NO_SANDBOX, submission, task, until } from '../support/directed.ts';
import { blobOf, type TestServer, TestStore } from '../support/rolloutServer.ts';
import { shiftedClock } from '../support/shiftedClock.ts';
import { TestWorker } from '../support/workerProcess.ts';

const HOUR_MS = 3_600_000;

test('runs a batch to its end and exits', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission(), [
    additionTask('a', 3),
    additionTask('b', 1),
    task('c', 'answer blue', 'red'),
  ]);
  await using worker = await TestWorker.start(store, server, batch);
  assert.equal(await worker.exited, 0, worker.stderr);
  const { counts } = await server.api.batch(batch);
  assert.deepEqual([counts.passed, counts.failed, counts.infrastructure], [4, 2, 0]);
  for (const row of (await server.api.rollouts(batch)).rollouts) {
    const events = await eventsOf(server, row.rollout);
    assertWhole(events);
    assert.equal(events.filter((event) => event.kind === 'tool.end').length, { a: 3, b: 1, c: 0 }[row.task]);
  }
  assert.equal(existsSync(worker.folder), false, 'its folder is gone');
});

test('captures the tokens of each call as blobs', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const plain = submission({ attempts: 1 });
  const batch = await server.submit(
    {
      ...plain,
      agent: { ...plain.agent, model: { ...plain.agent.model, capture: { token_ids: true, logprobs: true } } },
    },
    [additionTask('a', 2)],
  );
  await using worker = await TestWorker.start(store, server, batch);
  assert.equal(await worker.exited, 0, worker.stderr);
  const [row] = (await server.api.rollouts(batch)).rollouts;
  const events = await eventsOf(server, row!.rollout);
  const ends = events.filter((event) => event.kind === 'model.end');
  assert.equal(ends.length, 3);
  for (const end of ends) {
    assert.equal(end.data.trainable, true, end.data.why_not);
    const tokens = JSON.parse(Buffer.from(await server.api.getBlob(end.data.tokens!.$blob)).toString()) as {
      completion: number[];
      logprobs: string;
    };
    assert.ok(tokens.completion.length > 0);
    assert.equal(Buffer.from(tokens.logprobs, 'base64').length, 4 * tokens.completion.length);
  }
});

test('a killed worker leaves no process and no folder', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const sleeper = task(
    'a',
    `call calculate {"expression": "1 + 1"}\n` +
      `call execute_command {"command": "echo $$ > ${store.folder}/pid; sleep 600"}\nanswer 2`,
    '2',
  );
  const batch = await server.submit(submission({ attempts: 1, retry: { infrastructure: 0 }, sandbox: NO_SANDBOX }), [
    sleeper,
  ]);
  await using first = await TestWorker.start(store, server, batch);
  const shell = await readWhenThere(`${store.folder}/pid`);
  assert.ok(alive(shell));
  await first.kill('SIGKILL');
  assert.ok(await hasEnded(shell, 15_000), 'the reaper ended the tool');
  await waitFor(() => !existsSync(first.folder));
});

test('SIGTERM ends a worker within two seconds; the next one continues without repeating calls', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1 }, 'demo:?latency_ms=150'), [additionTask('a', 8)]);
  await using first = await TestWorker.start(store, server, batch);
  const { rollout } = await until(
    server,
    batch,
    (events) => events.filter((event) => event.kind === 'model.end').length >= 3,
  );
  const began = performance.now();
  assert.equal(await first.kill('SIGTERM'), 0, first.stderr);
  assert.ok(performance.now() - began < 2_000);
  await using second = await TestWorker.start(store, server, batch);
  assert.equal(await second.exited, 0, second.stderr);
  const events = await eventsOf(server, rollout);
  assertWhole(events);
  assert.deepEqual(
    events.filter((event) => event.kind === 'rollout.lease').map((event) => event.data.how),
    ['fresh', 'resumed'],
  );
  const answered = events.filter((event) => event.kind === 'model.end' && event.data.status === 'ok').length;
  assert.equal(answered, 9, 'each step was answered once');
});

test(
  'as in its own pod: takes one rollout and exits; interrupted, it reports that its place must be filled ' + 'again',
  async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await server.submit(submission({ attempts: 1 }, 'demo:?latency_ms=50'), [
      additionTask('a', 2),
      additionTask('b', 2),
      additionTask('c', 40),
    ]);
    for (const ended of [1, 2]) {
      await using one = await TestWorker.start(store, server, batch, { rollouts: 1, interrupted_exit: 3 });
      assert.equal(await one.exited, 0, one.stderr);
      const { counts } = await server.api.batch(batch);
      assert.deepEqual([counts.passed, counts.queued], [ended, 3 - ended]);
    }
    await using last = await TestWorker.start(store, server, batch, { rollouts: 1, interrupted_exit: 3 });
    const underWay = async (): Promise<boolean> =>
      (await server.api.rollouts(batch)).rollouts.some(
        ({ state, progress }) => state === 'running' && progress.steps >= 2,
      );
    while (!(await underWay())) await new Promise((resolve) => setTimeout(resolve, 25));
    assert.equal(process.platform === 'win32' ? 3 : await last.kill('SIGTERM'), 3, last.stderr);
  },
);

test('continues when the server was killed and restarted at another port', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 2 }, 'demo:?latency_ms=100'), [
    additionTask('a', 10),
    additionTask('b', 10),
  ]);
  await using worker = await TestWorker.start(store, server, batch);
  await until(server, batch, (events) => events.filter((event) => event.kind === 'model.end').length >= 3);
  await server.kill('SIGKILL');
  const again = await store.start();
  assert.equal(await worker.exited, 0, worker.stderr);
  const { counts } = await again.api.batch(batch);
  assert.equal(counts.passed, 4);
  for (const row of (await again.api.rollouts(batch, { all: 1 })).rollouts) {
    const events = await eventsOf(again, row.rollout);
    assertWhole(events);
    assert.equal(events.filter((event) => event.kind === 'rollout.lease').length, 1, 'the lease stood');
  }
  const [started = '', ...reports] = await infraOf(again, batch, 2);
  assert.match(started, /^A rollout server started and resumed this batch after .*s\.$/);
  assert.equal(reports.length, 1);
  assert.match(
    reports[0] ?? '',
    new RegExp(
      String.raw`^The server was restarted, or another server took over\. 1 worker reconnected after .* ` +
        String.raw`and continued \d rollouts?\.$`,
    ),
  );
});

test('events have the server’s time, whatever the clock of the worker’s machine', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 2 }, 'demo:?latency_ms=20'), [], { open: true });
  const began = Date.now();
  const slots = { slots: 2 };
  await using ahead = await TestWorker.start(
    store,
    server,
    batch,
    { ...slots, worker: 'ahead' },
    { NODE_OPTIONS: shiftedClock(HOUR_MS) },
  );
  await using behind = await TestWorker.start(
    store,
    server,
    batch,
    { ...slots, worker: 'behind' },
    { NODE_OPTIONS: shiftedClock(-HOUR_MS) },
  );
  const reports = (await infraOf(server, batch, 2)).sort();
  assert.deepEqual(
    reports.map((text) =>
      /^The clock of worker (\w+) is (?:1 h 0 min|59 min \d+ s) (ahead|behind)/.exec(text)?.slice(1),
    ),
    [
      ['ahead', 'ahead'],
      ['behind', 'behind'],
    ],
    reports.join('\n'),
  );
  await server.api.appendTasks(batch, 0, [additionTask('a', 2), additionTask('b', 2)]);
  await server.api.commandBatch(batch, { command: `seal-${batch}`, verb: 'seal' });
  assert.deepEqual(await Promise.all([ahead.exited, behind.exited]), [0, 0], ahead.stderr + behind.stderr);
  const { rollouts } = await server.api.rollouts(batch);
  assert.equal(new Set(rollouts.map(({ worker }) => worker)).size, 2, 'both had some');
  for (const row of rollouts) {
    const times = [began, ...(await eventsOf(server, row.rollout)).map(({ at }) => at), Date.now()];
    assert.deepEqual(
      times,
      [...times].sort((a, b) => a - b),
    );
  }
  assert.equal((await infraOf(server, batch, 2)).length, 2, 'each is reported once');
});

test('starts nothing new while the server is silent, and continues when it responds again @deep', {
  skip: process.platform === 'win32' ? 'Windows has no SIGSTOP' : false,
}, async () => {
  await using store = new TestStore();
  const server = await store.start();
  const demo = await startDemoServer({ port: 0 });
  try {
    const batch = await server.submit(submission({ attempts: 1 }, `${demo.url}?latency_ms=150`), [
      additionTask('a', 20),
    ]);
    await using worker = await TestWorker.start(store, server, batch, { fence_seconds: 1 });
    await until(server, batch, (events) => events.filter((event) => event.kind === 'model.end').length >= 2);
    server.process.kill('SIGSTOP');
    await waitFor(() => worker.stderr.includes('no new effect'));
    // Running calls end; then no more start.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { calls } = demo.counters();
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(demo.counters().calls, calls);
    server.process.kill('SIGCONT');
    assert.equal(await worker.exited, 0, worker.stderr);
    const events = await eventsOf(server, (await server.api.rollouts(batch)).rollouts[0]!.rollout);
    assertWhole(events);
    assert.deepEqual(
      events.flatMap((event) => (event.kind === 'hold' ? [event.data.why] : [])),
      ['lost_server'],
    );
    assert.equal(events.filter((event) => event.kind === 'rollout.lease').length, 1, 'its epoch stood');
  } finally {
    await demo.close();
  }
});

test('gives up when the server stays away, and leaves nothing', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const batch = await server.submit(submission({ attempts: 1 }, 'demo:?latency_ms=60000'), [additionTask('a', 1)]);
  // Its first connection must not take that long either, on a slow machine.
  await using worker = await TestWorker.start(store, server, batch, { reconnect_seconds: 8 });
  await until(server, batch, (events) => events.some((event) => event.kind === 'model.start'));
  await server.kill('SIGKILL');
  assert.equal(await worker.exited, 3);
  assert.match(worker.stderr, /server was unreachable for/);
  assert.equal(existsSync(worker.folder), false);
});

test('ends a rollout that cannot be started as infrastructure, with the reason', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const file = blobOf('text');
  const lost = { ...additionTask('a', 1), files: [{ name: '../escape.txt', sha: file.sha, bytes: 4 }] };
  await server.api.putBlob(file.sha, file.bytes);
  const batch = await server.submit(submission({ attempts: 1, retry: { infrastructure: 0 } }), [lost]);
  await using worker = await TestWorker.start(store, server, batch);
  assert.equal(await worker.exited, 0, worker.stderr);
  const [row] = (await server.api.rollouts(batch)).rollouts;
  assert.equal(row?.progress.status, 'infrastructure');
  assert.match(row.progress.error_message ?? '', /outside the working directory/);
});

test('a wrong configuration is reported, with exit code 2', async () => {
  await using worker = new TestWorker({ server: 'nowhere' } as never);
  assert.equal(await worker.exited, 2);
  assert.match(worker.stderr, /configuration is invalid/);
});

async function waitFor(reached: () => boolean, ms = 30_000): Promise<void> {
  const until = performance.now() + ms;
  while (!reached()) {
    assert.ok(performance.now() < until, 'it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function readWhenThere(file: string): Promise<number> {
  let pid = NaN;
  await waitFor(() => {
    pid = existsSync(file) ? Number(readFileSync(file, 'utf8').trim() || NaN) : NaN;
    return !Number.isNaN(pid);
  });
  return pid;
}

/** The infrastructure events of a batch's stream, once there are this many. */
async function infraOf(server: TestServer, batch: string, least: number): Promise<string[]> {
  for (;;) {
    const reports = (await server.api.events(batch)).events.flatMap((event) =>
      event.kind === 'infra' ? [event.data.text] : [],
    );
    if (reports.length >= least) return reports;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
