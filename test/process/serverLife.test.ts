/** The server as a process: discovery, its lock, its end. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { readServerFile } from '../../src/client/serverFile.ts';
import { hasEnded } from '../support/cli.ts';
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';

test('a second server on the same store exits and names the first', async () => {
  await using store = new TestStore();
  const first = await store.start();
  assert.equal((await first.ready).type, 'ready');
  if (process.platform !== 'win32') assert.equal(statSync(path.join(store.folder, 'server.json')).mode & 0o777, 0o600);
  const second = await store.start();
  const line = await second.ready;
  assert.ok(line.type === 'taken');
  assert.match(line.message, new RegExp(`process ${first.process.pid} at 127.0.0.1, port ${first.file.port}`));
  assert.equal(await second.exited, 3);
  assert.equal((await first.fetch('/healthz')).status, 200);
});

test('a killed server leaves a file but no lock', async () => {
  await using store = new TestStore();
  const first = await store.start();
  await first.kill('SIGKILL');
  assert.ok(existsSync(path.join(store.folder, 'server.json')));
  const second = await store.start();
  assert.equal((await second.ready).type, 'ready');
  assert.equal(second.file.pid, second.process.pid);
});

test('SIGTERM ends it with exit code 0, and nothing is left behind', {
  skip: process.platform === 'win32' ? 'Windows has no signals' : false,
}, async () => {
  await using store = new TestStore();
  const server = await store.start();
  const client = await server.client();
  server.process.kill('SIGTERM');
  assert.equal((await client.frames.closed).code, 1012);
  assert.equal(await server.exited, 0);
  assert.ok(!existsSync(path.join(store.folder, 'server.json')));
});

test('it ends when nobody needs it, and not before', async () => {
  await using store = new TestStore();
  const server = await store.start(['--executor', 'none', '--idle-seconds', '0.6']);
  const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
  // Something is queued: it stays, although no client is connected.
  assert.equal(
    await Promise.race([server.exited, new Promise((resolve) => setTimeout(() => resolve('lives'), 1_200))]),
    'lives',
  );
  const client = await server.client();
  await server.api.commandBatch(batch, { command: 'c1', verb: 'cancel' });
  assert.equal(
    await Promise.race([server.exited, new Promise((resolve) => setTimeout(() => resolve('lives'), 1_200))]),
    'lives',
  );
  client.close();
  assert.equal(await server.exited, 0);
});

test('invalid arguments and unusable stores are reported in one line', async () => {
  await using store = new TestStore();
  const wrong = await store.start(['--port', 'many']);
  assert.deepEqual([(await wrong.ready).type, await wrong.exited], ['failed', 2]);
  const occupied = await store.start();
  await using other = new TestStore();
  const taken = await other.start(['--port', String(occupied.file.port), '--executor', 'none']);
  const line = await taken.ready;
  assert.equal(line.type === 'failed' && line.code, 'unavailable');
  assert.equal(await taken.exited, 3);
  await using file = new TestStore();
  writeFileSync(path.join(file.folder, 'store.db'), 'this is no database, and it is long enough to be read as one');
  const broken = await file.start();
  const report = await broken.ready;
  assert.equal(report.type === 'failed' && report.code, 'storage');
  assert.equal(await broken.exited, 3);
});

test('secrets live in a 0600 file until their batch ends', async () => {
  await using store = new TestStore();
  const server = await store.start();
  const folder = path.join(store.folder, 'secrets');
  const submission = plainSubmission({ attempts: 1, env: { names: ['KEY'], shown: [] } });
  await assert.rejects(server.submit(submission, tasks(1)), /\$\{env:KEY\}/);
  const batch = await server.submit(submission, tasks(1), { secrets: { KEY: 'hush-hush' } });
  assert.deepEqual(readdirSync(folder), [`${batch}.json`]);
  if (process.platform !== 'win32') assert.equal(statSync(path.join(folder, `${batch}.json`)).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(readFileSync(path.join(folder, `${batch}.json`), 'utf8')), { KEY: 'hush-hush' });

  const worker = await server.worker(batch);
  const [grant] = await worker.lease(1);
  await worker.finish(grant!, { passed: true });
  await worker.frames.next('granted', (frame) => frame.drained);
  while (readdirSync(folder).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  // Its events and its submission never contained the value.
  const events = JSON.stringify(await server.api.events(batch));
  assert.ok(!events.includes('hush-hush'));
});

test('other users of the machine can read nothing of a store', {
  skip: process.platform === 'win32' ? 'Windows has no modes of files' : false,
}, async () => {
  await using store = new TestStore();
  chmodSync(store.folder, 0o755); // created before the first server, as by `mkdir`
  const server = await store.start([]);
  await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
  const open = readdirSync(store.folder, { recursive: true, encoding: 'utf8' })
    .concat('.')
    .filter((name) => (statSync(path.join(store.folder, name)).mode & 0o077) !== 0);
  assert.deepEqual(open, []);
  await server.kill('SIGTERM');
  // Whoever can read the database cannot forge a token with it.
  const key = readFileSync(path.join(store.folder, 'secret.key'), 'utf8').trim();
  for (const name of readdirSync(store.folder).filter((file) => file.startsWith('store.db')))
    assert.equal(readFileSync(path.join(store.folder, name)).includes(key), false);
  chmodSync(store.folder, 0o750);
  const line = await (await store.start()).ready;
  assert.ok(line.type === 'failed');
  assert.match(line.message, /^Other users of this machine can read the store/);
  assert.match(line.hint ?? '', /chmod -R go= /);
});

test("a store's address, which may contain a password, is not in the arguments of its server", {
  skip: process.platform === 'linux' ? false : 'only /proc shows the arguments',
}, async () => {
  await using store = new TestStore();
  await connect({ store: store.folder });
  const { pid } = readServerFile(store.folder) ?? assert.fail('no server.json');
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    assert.match(line, /server/);
    assert.equal(line.includes(store.folder), false);
  } finally {
    process.kill(pid, 'SIGTERM');
    assert.ok(await hasEnded(pid, 15_000));
  }
});
