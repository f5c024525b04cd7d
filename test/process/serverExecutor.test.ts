/** The local executor: it starts what is needed, sees ends immediately, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { ExecutorHost } from '../../src/executor/executor.ts';
import { LocalExecutor } from '../../src/executor/local/localExecutor.ts';
import { WorkFolders } from '../../src/executor/local/workFolders.ts';
import type { BatchRecord } from '../../src/store/store.ts';
import { plainSubmission } from '../support/rolloutServer.ts';

/** Writes its configuration and the names of its variables into its folder, then does what the test says. */
const WORKER = `
import { mkdirSync, writeFileSync, renameSync } from 'node:fs';
let text = '';
for await (const chunk of process.stdin) text += chunk;
const config = JSON.parse(text);
mkdirSync(config.work, { recursive: true });
writeFileSync(config.work + '/draft', JSON.stringify({ ...config, env: Object.keys(process.env) }));
renameSync(config.work + '/draft', config.work + '/config.json');
process.on('SIGTERM', () => process.exit(0));
const does = process.argv[2];
if (does === 'fail') process.exit(7);
if (does === 'leave') process.exit(0);
if (does === 'stay') setInterval(() => undefined, 1000);
`;

interface EndedWorker {
  readonly worker: string;
  readonly why: string;
  readonly infra: boolean;
}

describe('the local executor', () => {
  let folder: string;
  let executor: LocalExecutor;
  let ended: EndedWorker[];
  let looks: number;
  let others: string[];
  let onEnded: () => void;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-executor-'));
    writeFileSync(path.join(folder, 'worker.mjs'), WORKER);
    [ended, looks, others] = [[], 0, []];
    onEnded = () => undefined;
  });
  afterEach(async () => {
    await executor.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const base = (): string => path.join(folder, 'base');
  /** Folders of workers, which are in a folder with a random name. */
  const workFolders = (): string[] =>
    existsSync(base())
      ? readdirSync(base()).flatMap((root) =>
          readdirSync(path.join(base(), root))
            .filter((name) => name !== 'record')
            .map((name) => path.join(base(), root, name)),
        )
      : [];

  function start(does: string, cores = 2): void {
    const host: ExecutorHost = {
      url: 'http://127.0.0.1:1',
      token: (batch) => `w.${batch}`,
      secrets: (batch) => Promise.resolve(`/secrets/${batch}`),
      workers: () => Promise.resolve(others),
      workerEnded: (_batch, worker, why, infra) => {
        ended.push({ worker, why, infra });
        onEnded();
        return Promise.resolve(false);
      },
      drain: () => false,
      refresh: () => (looks += 1),
      log: () => undefined,
    };
    executor = new LocalExecutor({
      host,
      command: { file: process.execPath, args: [path.join(folder, 'worker.mjs'), does] },
      work: new WorkFolders({ record: path.join(folder, 'work.json'), bases: [base()] }),
      logFile: path.join(folder, 'log', 'worker.log'),
      discovery: '/server.json',
      noSandbox: () => Promise.resolve(undefined),
      cores,
      returnMs: 30,
    });
  }

  function record(queued: number, running = 0): BatchRecord {
    return { row: { batch: 'b1', counts: { queued, running } }, paused: false, sealed: true } as unknown as BatchRecord;
  }

  /** Configurations of the running workers. */
  async function configs(count: number): Promise<Record<string, unknown>[]> {
    for (;;) {
      const found = workFolders().filter((name) => existsSync(path.join(name, 'config.json')));
      if (found.length >= count)
        return found.map(
          (name) => JSON.parse(readFileSync(path.join(name, 'config.json'), 'utf8')) as Record<string, unknown>,
        );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const someEnded = (): Promise<void> => new Promise((resolve) => (onEnded = resolve));

  test('passes only the variables that workers need', async () => {
    process.env['ROLLOUT_TEST_USERS_SECRET'] = 'hush';
    try {
      start('stay');
      executor.updateBatch(record(1), plainSubmission());
      const [first] = await configs(1);
      const names = first!['env'] as string[];
      assert.ok(names.includes('PATH') && names.includes('HOME'));
      assert.equal(names.includes('ROLLOUT_TEST_USERS_SECRET'), false);
    } finally {
      delete process.env['ROLLOUT_TEST_USERS_SECRET'];
    }
  });

  test('starts as many workers as queue, concurrency, and cores allow, with their configuration', async () => {
    start('stay');
    for (let i = 0; i < 5; i++) executor.updateBatch(record(500), plainSubmission({ concurrency: 128 }));
    const [first, second] = await configs(2);
    assert.deepEqual(
      [first!['batch'], first!['slots'], first!['token'], first!['secrets'], first!['discovery']],
      ['b1', 64, 'w.b1', '/secrets/b1', '/server.json'],
    );
    assert.notEqual(first!['worker'], second!['worker']);
    assert.equal(path.basename(first!['work'] as string), first!['worker']);
    executor.updateBatch(record(500), plainSubmission({ concurrency: 128 }));
    await executor.close();
    assert.equal(ended.length, 2);
    assert.ok(
      ended.every((end) => !end.infra),
      'the executor ended them itself',
    );
    assert.deepEqual(workFolders(), []);
  });

  test('starts none when nothing is queued, the batch is paused, or others do the work', async () => {
    start('stay');
    others = [`local-${process.pid}`, 'pod-7'];
    executor.updateBatch(record(0, 5), plainSubmission());
    executor.updateBatch({ ...record(5), paused: true }, plainSubmission());
    executor.updateBatch({ ...record(5), stopping: 'enough' }, plainSubmission());
    executor.updateBatch(record(500), plainSubmission({ concurrency: 128 }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(workFolders(), []);
  });

  test('keeps no worker for a batch that is paused with its workers released, once nothing of it runs', async () => {
    start('stay');
    executor.updateBatch(record(5), plainSubmission());
    const [config] = await configs(1);
    executor.updateBatch({ ...record(4, 1), paused: true, released: true }, plainSubmission());
    assert.equal(ended.length, 0);
    const seen = someEnded();
    executor.updateBatch({ ...record(5), paused: true, released: true }, plainSubmission());
    await seen;
    // It may have been stopped before it could handle that.
    const why = ended[0]?.why ?? '';
    assert.match(why, /^The worker (?:exited with code 0|was killed by SIGTERM)\.$/);
    assert.deepEqual(ended, [{ worker: config!['worker'] as string, why, infra: false }]);
    executor.updateBatch(record(5), plainSubmission());
    await configs(1);
  });

  test('replaces a frozen worker, and keeps one that comes back', {
    skip: process.platform === 'win32' ? 'Windows has no SIGSTOP' : false,
  }, async () => {
    start('stay');
    executor.updateBatch(record(5), plainSubmission());
    const [config] = await configs(1);
    const name = config!['worker'] as string;
    others = [name];
    executor.workerLost('b1', name);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(ended, [], 'it has a session again');
    process.kill(Number(name.slice('local-'.length)), 'SIGSTOP');
    others = [];
    const seen = someEnded();
    executor.workerLost('b1', name);
    await seen;
    assert.deepEqual(ended, [
      {
        worker: name,
        why: 'The worker did not respond for longer than its lease, so the server ended it.',
        infra: true,
      },
    ]);
    rmSync(config!['work'] as string, { recursive: true, force: true });
    executor.updateBatch(record(5), plainSubmission());
    assert.notEqual((await configs(1))[0]!['worker'], name);
  });

  test('ends the session of a worker whose process is gone, whoever started it', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    await once(gone, 'exit');
    start('stay');
    others = [`local-${gone.pid}`];
    executor.updateBatch(record(5), plainSubmission());
    await configs(1);
    assert.deepEqual(ended, [
      { worker: `local-${gone.pid}`, why: 'The worker process no longer exists.', infra: false },
    ]);
  });

  test('sees a kill immediately', {
    skip: process.platform === 'win32' ? 'Windows has no signals' : false,
  }, async () => {
    start('stay');
    executor.updateBatch(record(5), plainSubmission());
    const [config] = await configs(1);
    const seen = someEnded();
    process.kill(Number((config!['worker'] as string).slice('local-'.length)), 'SIGKILL');
    await seen;
    assert.deepEqual(ended, [
      { worker: config!['worker'] as string, why: 'The worker was killed by SIGKILL.', infra: true },
    ]);
  });

  test('restarts failing workers after a growing pause', async () => {
    start('fail');
    const times: number[] = [];
    for (let i = 0; i < 4; i++) {
      const seen = someEnded();
      const before = ended.length;
      // Like the supervisor, it gets the state of the batch again and again.
      const timer = setInterval(() => executor.updateBatch(record(5), plainSubmission()), 10);
      await seen;
      clearInterval(timer);
      assert.equal(ended.length, before + 1);
      times.push(performance.now());
    }
    assert.ok(ended.every((end) => end.infra && end.why === 'The worker exited with code 7.'));
    // The first is restarted immediately.
    const pauses = times.slice(1).map((time, index) => time - times[index]!);
    assert.ok(pauses[1]! >= 450 && pauses[2]! >= 950, String(pauses));
    assert.ok(looks > 0);
  });

  test('reports a worker that cannot be started at all', async () => {
    start('stay');
    await executor.close();
    const host = {
      url: 'http://127.0.0.1:1',
      token: () => 't',
      secrets: () => Promise.resolve(undefined),
      workers: () => Promise.resolve([]),
      drain: () => false,
      refresh: () => undefined,
      log: () => undefined,
      workerEnded: (_batch: string, worker: string, why: string, infra: boolean) => {
        ended.push({ worker, why, infra });
        onEnded();
        return Promise.resolve(false);
      },
    } satisfies ExecutorHost;
    executor = new LocalExecutor({
      host,
      command: { file: path.join(folder, 'no-such-program'), args: [] },
      work: new WorkFolders({ record: path.join(folder, 'work.json'), bases: [base()] }),
      logFile: path.join(folder, 'worker.log'),
      discovery: undefined,
      noSandbox: () => Promise.resolve(undefined),
      cores: 1,
    });
    const seen = someEnded();
    executor.updateBatch(record(5), plainSubmission());
    await seen;
    assert.match(ended[0]!.why, /could not be started: .*ENOENT/);
  });
});
