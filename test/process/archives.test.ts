/** Backups, restores, and copies with real servers and the command line, while batches run and processes die. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { StudioError } from '../../src/common/errors.ts';
import { openStore } from '../../src/store/open.ts';
import { Bench, end } from '../support/cli.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { plainSubmission, TestStore } from '../support/rolloutServer.ts';
import { event, openBatch, shaOf, wholeRollout } from '../support/trajectories.ts';
import { ADD, type Report, WorkspaceBench } from '../support/workspace.ts';

/** Fills a folder with a store of about `megabytes` of content that cannot be compressed, and one ended batch. */
async function largeStore(folder: string, megabytes: number): Promise<string> {
  const store = await openStore(folder);
  const submission = JSON.stringify(plainSubmission({ attempts: 2 }));
  await store.blobs.put(shaOf(submission), Buffer.from(submission));
  const { batch, session } = await openBatch(store, 30, { attempts: 2, submission: shaOf(submission) });
  const logs = Math.ceil((megabytes * 1e6) / 60 / 40_000);
  for (const lease of await store.lease(session, 60)) {
    const whole = wholeRollout(1, lease, batch);
    const lines = Array.from({ length: logs }, (_, n) =>
      event(whole.length + n, 'log', { stream: 'out', text: randomBytes(40_000).toString('base64') }),
    );
    const events = [...whole.slice(0, -1), ...lines, { ...whole.at(-1)!, seq: whole.length + logs }];
    const result = await store.append({ rollout: lease.rollout, epoch: lease.epoch, from: 1, events });
    assert.ok(result.ok);
  }
  await store.endSession(session, 'done');
  await store.close();
  return batch;
}

/** Polls what another process does, of which there is no event. */
async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 40_000; !(await check()); ) {
    if (performance.now() > end) throw new Error(`${what}: not within 40 s`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Waits until a file has more than `bytes`. */
function grown(file: string, bytes: number): Promise<void> {
  return until(`${file} of ${bytes} bytes`, () => existsSync(file) && statSync(file).size > bytes);
}

async function outputOf(child: ReturnType<Bench['start']>): Promise<{ code: number | null; stderr: string }> {
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout?.resume();
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

describe('backup, restore, and copy', { timeout: 300_000 }, () => {
  const bench = new WorkspaceBench({});
  const bare = new Bench({ where: [], env: { LAB_TOKEN: 'none' } });
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(async () => {
    await bench.close();
    await bare.close();
    await postgres.stop();
  });

  it('save a store while a batch runs; restored elsewhere, in the other kind of store, it continues', async () => {
    const tasks = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`t${n}`, ADD]));
    const file = bench.batch('slow', {
      model: '{ endpoint: "demo:?latency_ms=250&slots=2", name: demo, headers: { x-pin: "${env:KEY_OF_DEMO}" } }',
      tasks,
      batch: 'attempts: 2\n',
    });
    const ended = await bench.runBatch(bench.batch('quick', { tasks: { one: ADD, two: ADD } }));
    assert.equal(ended.report.passed, 2);
    const env = { KEY_OF_DEMO: 'a-value-that-is-secret' };
    const launched = JSON.parse((await bench.rollout(['run', file, '--detach', '--json'], env)).stdout) as {
      batch: string;
    };
    const { api } = await connect({ store: bench.store });
    await until('three attempts', async () => (await api.batch(launched.batch)).counts.passed >= 3);
    const archive = bench.path('running.rollouts');
    const saved = await bench.json<{ file: string; batches: number; rollouts: number }>(['backup', archive]);
    assert.deepEqual([saved.file, saved.batches], [archive, 2]);
    const counts = (await api.batch(launched.batch)).counts;
    assert.ok(counts.passed < 24, 'it was still running');
    assert.ok(!readFileSync(archive).includes('a-value-that-is-secret'));
    const again = await bench.rollout(['backup', archive]);
    assert.deepEqual([again.code, /exists already/.test(again.stderr)], [2, true]);

    await using home = new TestStore();
    const url = await postgres.createDatabase();
    const target = await home.startOn(url, ['--executor', 'local']);
    writeFileSync(bare.path('token'), target.file.token);
    const lab = { LAB_TOKEN: target.file.token };
    await bare.run(['target', 'add', 'lab', '--url', target.url, '--token-env', 'LAB_TOKEN'], { env: lab });
    const restored = await bare.json<{ unfinished: string[]; batches: number }>(
      ['restore', archive, '--target', 'lab'],
      { env: lab },
    );
    assert.deepEqual([restored.unfinished, restored.batches], [[launched.batch], 2]);
    const refused = await bare.run(['restore', archive, '--target', 'lab'], { env: lab });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /is not empty: it has 2 batches\. Nothing was changed/);

    const report = async (where: Bench, batch: string, args: string[]): Promise<Report> =>
      where.json<Report>(['report', batch, ...args], { env: lab });
    const there = ['--target', 'lab'];
    assert.deepEqual(
      await report(bare, ended.report.batch, there),
      await report(bench, ended.report.batch, []),
      'the same report',
    );
    const paused = await target.api.batch(launched.batch);
    assert.deepEqual([paused.state, paused.counts.running], ['paused', 0]);
    assert.ok(paused.counts.passed >= 3);

    // Its values are not in the backup: `resume` sends them again, and says so if they are not set.
    const without = await bare.run(['resume', launched.batch, ...there], { env: lab });
    assert.equal(without.code, 2);
    assert.match(without.stderr, /no longer has the values of KEY_OF_DEMO/);
    const resumed = await bare.run(['resume', launched.batch, ...there], { env: { ...lab, ...env } });
    assert.equal(resumed.code, 0, resumed.stderr);
    for (const one of [api, target.api])
      await until('the end', async () => (await one.batch(launched.batch)).state === 'ended');
    for (const one of [api, target.api]) assert.equal((await one.batch(launched.batch)).counts.passed, 24);
  });

  it('leave nothing behind when the server or the client dies during a backup', async () => {
    await using store = new TestStore();
    await largeStore(store.folder, 60);
    let server = await store.start();
    const file = bare.path('killed.rollouts');
    const where = ['--store', store.folder];
    const dying = bare.start(['backup', file, ...where]);
    const result = outputOf(dying);
    await grown(`${file}.part`, 1_000_000);
    await server.kill('SIGKILL');
    const { code, stderr } = await result;
    assert.equal(code, 3, stderr);
    assert.match(stderr, /went away before the backup was complete\. No file is left/);
    assert.ok(!existsSync(file) && !existsSync(`${file}.part`));

    server = await store.start();
    const killed = bare.start(['backup', file, ...where]);
    const ended = outputOf(killed);
    await grown(`${file}.part`, 1_000_000);
    killed.kill('SIGKILL');
    await ended;
    assert.ok(!existsSync(file));
    // Nothing holds gc off any more, and the next backup works.
    await until('gc', async () => {
      const reply = await server.fetch('/v1/gc', { method: 'POST', body: '{"dry_run":true}' });
      return reply.status === 200;
    });
    const saved = await bare.json<{ bytes: number }>(['backup', file, ...where]);
    assert.ok(saved.bytes > 60_000_000, String(saved.bytes));
    const verified = await bare.json<{ bytes: number }>(['backup', '--verify', file]);
    assert.deepEqual(verified, saved);
  });

  it('refuse a file that is truncated, altered, or no backup, and change nothing', async () => {
    const file = bare.path('killed.rollouts');
    const content = readFileSync(file);
    const place = bare.path('untouched');
    const refuse = async (name: string, pattern: RegExp): Promise<void> => {
      const { code, stderr } = await bare.run(['restore', bare.path(name), '--store', place]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, pattern);
      assert.match((await bare.run(['backup', '--verify', bare.path(name)])).stderr, pattern);
    };
    writeFileSync(bare.path('cut'), content);
    truncateSync(bare.path('cut'), content.byteLength - 100);
    await refuse('cut', /The archive is incomplete: its end is missing/);
    const altered = Buffer.from(content);
    altered[30_000_000]! ^= 1;
    writeFileSync(bare.path('altered'), altered);
    await refuse('altered', /The archive is damaged: its content was altered/);
    writeFileSync(bare.path('other'), 'something else, which is long enough to be read');
    await refuse('other', /not a backup of Rollout Studio/);
    const newer = Buffer.concat([Buffer.from('rollout-studio-archive 9\n'), content.subarray(25)]);
    writeFileSync(bare.path('newer'), newer);
    await refuse('newer', /has format 9, which this version cannot read/);
    const { api } = await connect({ store: place });
    assert.deepEqual((await api.batches()).batches, []);
    await end(bare.serverFile(place)!.pid);
  });

  it('continue a restore after the client and the server died', async () => {
    const file = bare.path('killed.rollouts');
    const place = bare.path('restored');
    const restoredFrames = (): number => {
      if (!existsSync(`${place}/server.json`)) return 0; // the store is being created
      using db = new DatabaseSync(`${place}/store.db`, { readOnly: true });
      const state = db.prepare("SELECT value FROM meta WHERE name = 'restore'").get();
      return state === undefined ? 0 : (JSON.parse(String(state['value'])) as { done: number }).done;
    };
    for (const victim of ['client', 'server'] as const) {
      const before = restoredFrames();
      const child = bare.start(['restore', file, '--store', place]);
      const result = outputOf(child);
      // A server that dies earlier would be started again.
      await until('the restore continues', () => restoredFrames() > before);
      if (victim === 'client') child.kill('SIGKILL');
      else process.kill(bare.serverFile(place)!.pid, 'SIGKILL');
      await result;
      const { api } = await connect({ store: place });
      assert.deepEqual((await api.batches()).batches, [], `after the ${victim} died`);
    }
    const restored = await bare.json<{ batches: number; rollouts: number }>(['restore', file, '--store', place]);
    assert.deepEqual([restored.batches, restored.rollouts], [1, 60]);
    const { api } = await connect({ store: place });
    const [batch] = (await api.batches()).batches;
    assert.equal(batch?.counts.passed, 60);
    await end(bare.serverFile(place)!.pid);
  });

  it('remove batches by the rules of the server, which are in the audit log', async () => {
    await using store = new TestStore();
    const batch = await largeStore(store.folder, 1);
    const rules = bare.path('retention.yaml');
    writeFileSync(rules, 'version: 1\nrules: [{ name: "night*", delete: true }]\n');
    const where = ['--store', store.folder];
    const serving = bare.start(['serve', '--retention', rules, ...where]);
    await once(serving.stdout!, 'data');
    type Removed = { batches: string[]; why: { batch: string; why: string; bytes: number }[] };
    const planned = await bare.json<Removed>(['gc', '--dry-run', ...where]);
    assert.deepEqual(planned.batches, [batch]);
    assert.equal(planned.why[0]!.why, 'rule 1: name night*');
    assert.ok(planned.why[0]!.bytes > 900_000, String(planned.why[0]!.bytes));
    const plain = await bare.run(['gc', '--dry-run', ...where]);
    assert.match(plain.stdout, /^Would remove 1 batch and .*\n.* MB\): rule 1: name night\*\n$/);
    const removed = await bare.json<Removed>(['gc', ...where]);
    assert.deepEqual(removed.batches, [batch]);
    const { entries } = await bare.json<{ entries: { what: string; batch?: string; detail?: string }[] }>([
      'audit',
      ...where,
    ]);
    const entry = entries.find(({ what }) => what === 'retention');
    assert.deepEqual([entry?.batch, entry?.detail], [batch, 'rule 1: name night*']);
    const ended = once(serving, 'exit');
    serving.kill('SIGTERM');
    await ended;
    writeFileSync(rules, 'version: 1\nrules: [{ name: x }]\n');
    const invalid = await bare.run(['serve', '--retention', rules, ...where]);
    assert.deepEqual([invalid.code, /retention\.yaml:2:9: /.test(invalid.stderr)], [2, true], invalid.stderr);
  });

  it('trim batches by the rules of the server, also after it dies, and keep their results', async (cleanup) => {
    await using store = new TestStore();
    const batch = await largeStore(store.folder, 20);
    const rules = bare.path('trim.yaml');
    writeFileSync(rules, 'version: 1\nrules: [{ name: "night*", keep: forever, keep_trajectories: 1ms }]\n');
    const where = ['--store', store.folder];
    const serve = async () => {
      const serving = bare.start(['serve', '--retention', rules, ...where]);
      await once(serving.stdout!, 'data');
      const { pid } = bare.serverFile(store.folder)!;
      cleanup.after(() => end(pid));
      return { serving, api: (await connect({ store: store.folder })).api };
    };
    type Trimmed = { batches: string[]; trimmed: string[]; bytes: number };
    const results = async (): Promise<unknown[]> => [
      await bare.json(['report', batch, ...where]),
      (await bare.run(['export', batch, '--to', 'csv', ...where])).stdout,
    ];
    const first = await serve();
    const before = await results();
    const planned = await bare.json<Trimmed>(['gc', '--dry-run', ...where]);
    assert.deepEqual([planned.batches, planned.trimmed], [[], [batch]]);
    assert.ok(planned.bytes > 15_000_000, String(planned.bytes));
    const [row] = (await first.api.rollouts(batch, { limit: 1 })).rollouts;
    const interrupted = bare.start(['gc', ...where]);
    const left = outputOf(interrupted);
    const unfinished = (): number => {
      using db = new DatabaseSync(`${store.folder}/store.db`, { readOnly: true });
      return Number(db.prepare('SELECT count(*) AS n FROM batch WHERE trimming = 1').get()!['n']);
    };
    await until('the mark', async () => (await first.api.batch(batch)).trimmed !== undefined);
    interrupted.kill('SIGKILL'); // else, it starts another server
    process.kill(bare.serverFile(store.folder)!.pid, 'SIGKILL');
    await Promise.all([left, once(first.serving, 'exit')]);
    assert.equal(unfinished(), 1, 'it died in between');

    const { serving, api } = await serve();
    const done = await bare.json<Trimmed>(['gc', ...where]);
    assert.deepEqual(done.trimmed, []);
    assert.ok(done.bytes > 15_000_000 && done.bytes <= planned.bytes, `${done.bytes} of ${planned.bytes}`);
    await until('the file is small', () => statSync(`${store.folder}/store.db`).size < 2_000_000);
    assert.deepEqual(await results(), before, 'the report and the table are as they were');
    assert.match((await bare.run(['batches', ...where])).stdout, /ended, trimmed/);

    const why = new RegExp(`The trajectories of batch ${batch} were trimmed on .* by the retention rules \\(rule 1: `);
    for (const words of [
      ['show', row!.rollout],
      ['fork', `${row!.rollout}:1`],
    ]) {
      const refused = await bare.run([...words, ...where]);
      assert.deepEqual([refused.code, why.test(refused.stderr)], [2, true], refused.stderr);
    }
    await assert.rejects(api.events(row!.rollout), (error) => StudioError.is(error, 'gone') && why.test(error.message));
    const info = await api.rollout(row!.rollout);
    assert.deepEqual(
      info.trimmed?.events.map(({ kind }) => kind),
      ['rollout.start', 'rollout.end'],
    );
    const file = bare.path('rows.jsonl');
    const exported = await bare.run(['export', batch, '--to', 'sft-openai', '--out', file, ...where]);
    assert.match(exported.stderr, /60 attempts left out: their trajectories were trimmed\./);
    const manifest = JSON.parse(readFileSync(bare.path('rows.manifest.json'), 'utf8')) as object;
    assert.match(JSON.stringify(manifest), /"their trajectories were trimmed":60/);
    const { entries } = await bare.json<{ entries: { what: string; batch?: string; detail?: string }[] }>([
      'audit',
      ...where,
    ]);
    assert.deepEqual(
      entries.filter(({ what }) => what === 'trim').map(({ batch: of, detail }) => [of, detail]),
      [[batch, 'rule 1: ended more than 1 ms ago, name night*']],
    );
    const named = await bare.run(['gc', batch, '--trim', ...where]);
    assert.match(named.stdout, /^Trimmed 0 batches.*\nKept .*: its trajectories are trimmed already\n$/);
    assert.match((await bare.run(['gc', '--trim', ...where])).stderr, /Name the batches to trim, or add --older-than/);
    const ended = once(serving, 'exit');
    serving.kill('SIGTERM');
    await ended;
  });

  it('copy batches to a target, once, also after an interruption', async () => {
    await using store = new TestStore();
    await using home = new TestStore();
    const batch = await largeStore(store.folder, 40);
    const source = await store.start();
    let target = await home.start();
    const env = { LAB_TOKEN: target.file.token };
    const there = async (): Promise<void> => {
      await bare.run(['target', 'remove', 'lab'], { env });
      await bare.run(['target', 'add', 'lab', '--url', target.url, '--token-env', 'LAB_TOKEN'], { env });
      env.LAB_TOKEN = target.file.token;
    };
    await there();
    const words = ['copy', batch, '--to', 'lab', '--store', store.folder];
    const child = bare.start(words, { env });
    const result = outputOf(child);
    await grown(`${home.folder}/store.db-wal`, 3_000_000);
    await target.kill('SIGKILL');
    const { code, stderr } = await result;
    assert.equal(code, 3, stderr);
    assert.match(stderr, /Run the same command again: the copy continues/);
    target = await home.start();
    await there();
    assert.deepEqual((await target.api.batches()).batches, []);
    const { copied } = await bare.json<{ copied: { batch: string; how: string; bytes: number }[] }>(words, { env });
    assert.deepEqual([copied.length, copied[0]!.batch, copied[0]!.how], [1, batch, 'continued']);
    assert.deepEqual(await target.api.batch(batch), await source.api.batch(batch));
    const repeat = await bare.run(words, { env });
    assert.deepEqual([repeat.code, repeat.stdout], [0, `Batch ${batch} is at lab already.\n`]);
    // And back again, where it is already.
    const back = await bare.run(['copy', batch, '--from', 'lab', '--to', 'local', '--store', store.folder], { env });
    assert.match(back.stdout, /is at local already/);
    const entries = (await target.api.audit()).entries.filter(({ what }) => what === 'copy');
    assert.deepEqual(
      entries.map(({ batch: of, result: how }) => [of, how]),
      [
        [batch, 'done'],
        [batch, 'done'],
      ].slice(0, entries.length),
    );
    const running = await source.submit(plainSubmission({ attempts: 1 }), [{ id: 't', question: 'q', meta: {} }]);
    const refused = await bare.run(['copy', running, '--to', 'lab', '--store', store.folder], { env });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /has not ended, so it cannot be copied\. Wait until it ends, or stop it/);
  });
});
