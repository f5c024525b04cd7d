/** Working directories of local workers: outside of the store, with names that nobody can guess or list. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { workBases } from '../../src/client/folders.ts';
import { WorkFolders } from '../../src/executor/local/workFolders.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { NO_SANDBOX, submission, task } from '../support/directed.ts';
import { TestServer, TestStore } from '../support/rolloutServer.ts';

const posix = process.platform === 'win32' ? 'Windows has no modes and signals' : false;

describe('folders of workers', () => {
  let folder: string;
  let gone: string;

  beforeEach(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-folders-'));
    for (const name of ['store', 'base']) mkdirSync(path.join(folder, name), { mode: 0o700 });
    const ended = spawn(process.execPath, ['-e', '']);
    await once(ended, 'exit');
    gone = `local-${ended.pid}`;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const at = (store = 'store'): WorkFolders =>
    new WorkFolders({ record: path.join(folder, store, 'work.json'), bases: [path.join(folder, 'base')] });
  const roots = (): string[] => readdirSync(path.join(folder, 'base'));
  /** What a worker has in its folder when it is killed. */
  function work(root: string, worker: string): void {
    mkdirSync(path.join(root, worker, 'directory', 'deep'), { recursive: true });
  }

  test('are found by the next server of the store, which removes those of dead workers', async () => {
    const root = at().open();
    if (posix === false) assert.equal(statSync(root).mode & 0o777, 0o700);
    for (const worker of [gone, `local-${process.pid}`]) work(root, worker);
    const next = at();
    await next.removeLeftovers();
    assert.deepEqual(readdirSync(root).sort(), [`local-${process.pid}`, 'record'].sort());
    assert.equal(next.open(), root, 'a worker that still runs keeps its folder');
    await next.close();
    assert.ok(existsSync(root));
    rmSync(path.join(root, `local-${process.pid}`), { recursive: true });
    await next.close();
    assert.deepEqual([roots(), readdirSync(path.join(folder, 'store'))], [[], []]);
  });

  test('of a deleted store are removed by any server', async () => {
    work(at().open(), gone);
    rmSync(path.join(folder, 'store'), { recursive: true });
    mkdirSync(path.join(folder, 'other'));
    await at('other').removeLeftovers();
    assert.deepEqual(roots(), []);
  });

  test('of another store stay, also if this one is a copy of it', async () => {
    const root = at().open();
    work(root, gone);
    cpSync(path.join(folder, 'store'), path.join(folder, 'copy'), { recursive: true });
    const copy = at('copy');
    await copy.removeLeftovers();
    assert.ok(existsSync(path.join(root, gone)));
    assert.notEqual(copy.open(), root);
    await copy.close();
    assert.deepEqual(roots(), [path.basename(root)]);
  });

  test('are elsewhere if the first place cannot be used', () => {
    const record = path.join(folder, 'store', 'work.json');
    writeFileSync(path.join(folder, 'file'), '');
    const bases = [path.join(folder, 'file', 'below'), path.join(folder, 'base')];
    assert.throws(() => new WorkFolders({ record, bases: bases.slice(0, 1) }).open(), { code: 'storage' });
    assert.equal(path.dirname(new WorkFolders({ record, bases }).open()), bases[1]);
  });

  test('are on the local disk that TMPDIR names, and otherwise in the cache folder of the user', {
    skip: process.platform === 'linux' ? false : 'macOS and Windows have one place',
  }, () => {
    assert.deepEqual(workBases({ TMPDIR: '/scratch', XDG_CACHE_HOME: '/cache' }), [
      '/scratch',
      '/cache/rollout-studio',
    ]);
    assert.equal(workBases({ XDG_CACHE_HOME: 'relative' })[0], path.join(os.homedir(), '.cache', 'rollout-studio'));
  });
});

test('a program without a sandbox finds neither the store nor other rollouts from its directory', {
  skip: posix,
  timeout: 60_000,
}, async () => {
  await using store = new TestStore();
  const cache = mkdtempSync(path.join(os.tmpdir(), 'rollout-cache-'));
  const env = { XDG_CACHE_HOME: cache, TMPDIR: '' };
  const servers: TestServer[] = [];
  try {
    const start = async (): Promise<TestServer> => {
      const server = new TestServer(store.folder, store.folder, [], env);
      servers.push(server);
      await server.ready;
      return server;
    };
    const first = await start();
    const out = path.join(cache, 'out');
    const command = `(pwd; echo $PPID) > ${out}.draft; mv ${out}.draft ${out}; sleep 1000000`;
    await first.submit(submission({ attempts: 1, sandbox: NO_SANDBOX }), [
      task('a', `call execute_command ${JSON.stringify({ command })}`, 'x'),
    ]);
    while (!existsSync(out)) await new Promise((resolve) => setTimeout(resolve, 20));
    const [directory = '', worker = ''] = readFileSync(out, 'utf8').split('\n');
    assert.ok(!directory.startsWith(store.folder), directory);
    const parts = path.relative(path.join(cache, 'rollout-studio'), directory).split(path.sep);
    assert.match(parts.join('/'), /^rollout-work-[0-9a-f]{32}\/local-\d+\/rollouts\/[0-9a-f]{32}$/);
    assert.equal(parts[1], `local-${worker}`);
    assert.equal(statSync(path.dirname(directory)).mode & 0o777, 0o300, 'its parent cannot be listed');
    if (process.getuid?.() !== 0) assert.throws(() => readdirSync(path.dirname(directory)), { code: 'EACCES' });

    // The folder outlives a killed server with its worker, and nothing is left of it in the end.
    await first.kill('SIGKILL');
    process.kill(Number(worker), 'SIGKILL');
    assert.ok(await hasEnded(Number(worker), 10_000));
    const second = await start();
    await second.kill('SIGTERM');
    while (existsSync(directory)) await new Promise((resolve) => setTimeout(resolve, 20));
    const third = await start();
    await third.kill('SIGTERM');
    assert.deepEqual(readdirSync(path.join(cache, 'rollout-studio')), []);
    assert.equal(existsSync(path.join(store.folder, 'work.json')), false);
    assert.ok(!alive(Number(worker)));
  } finally {
    await Promise.all(servers.map((server) => server.kill('SIGKILL')));
    rmSync(cache, { recursive: true, force: true });
  }
});
