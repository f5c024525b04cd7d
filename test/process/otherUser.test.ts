// Another user of the machine, while a batch runs: nothing of it can be read, and no port or socket is open.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { DEFAULT_SANDBOX } from '../../src/config/submission.ts';
import { submission, task } from '../support/directed.ts';
import { listeningSockets } from '../support/listeners.ts';
import { TestServer, TestStore } from '../support/rolloutServer.ts';

const OTHER = 54_321;
const SECRET = 'a-secret-of-the-batch-4711';

/** Opens what its arguments name, and prints what could be opened. */
const SCRIPT = `
const fs = require('fs');
const opened = JSON.parse(fs.readFileSync(0, 'utf8')).filter((file) => {
  for (const act of [fs.readFileSync, fs.readdirSync, fs.readlinkSync])
    try { act(file); return true; } catch {} // refused, as it should be
  return false;
});
console.log(JSON.stringify(opened));
`;

function openedByOther(files: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', SCRIPT], {
    ...{ uid: OTHER, gid: OTHER, cwd: '/', env: {}, encoding: 'utf8', input: JSON.stringify(files) },
  });
  return JSON.parse(stdout === '' ? assert.fail(stderr) : stdout) as string[];
}

const skip =
  process.platform !== 'linux'
    ? 'reads /proc'
    : process.getuid?.() !== 0
      ? 'only root can act as another user'
      : spawnSync(process.execPath, ['-e', ''], { uid: OTHER, gid: OTHER, cwd: '/' }).status === 0
        ? false
        : 'other users cannot run this Node.js';

test('another user reads neither files nor memory, and finds no open socket', { skip, timeout: 60_000 }, async () => {
  await using store = new TestStore();
  const cache = mkdtempSync(path.join(os.tmpdir(), 'rollout-cache-'));
  const server = new TestServer(store.folder, store.folder, [], { XDG_CACHE_HOME: cache, TMPDIR: '' });
  try {
    await server.ready;
    await server.submit(
      submission({ attempts: 1, sandbox: { ...DEFAULT_SANDBOX, write: [cache] } }),
      [task('a', `call execute_command ${JSON.stringify({ command: `touch ${cache}/there; sleep 1000000` })}`, 'x')],
      { secrets: { API_KEY: SECRET } },
    );
    while (!readdirSync(cache).includes('there')) await new Promise((resolve) => setTimeout(resolve, 20));

    const folders = [store.folder, cache];
    const files = folders.flatMap((folder) => [
      folder,
      ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name)),
    ]);
    for (const name of ['server.json', 'store.db', 'secrets', 'work.json'])
      assert.ok(files.includes(path.join(store.folder, name)), `${name} is there`);
    assert.ok(
      files.some((file) => /rollout-work-\w+\/local-\d+\/rollouts\/\w{32}$/.test(file)),
      'a working directory is there',
    );
    assert.deepEqual(openedByOther(['/etc/hostname', ...files]), ['/etc/hostname']);

    const pids = descendants(server.process.pid ?? 0);
    assert.ok(pids.length >= 5, `server, worker, reaper, and a sandbox with a program: ${pids.length}`);
    const memory = ['environ', 'mem', 'fd', 'cwd', 'root'].flatMap((name) => pids.map((pid) => `/proc/${pid}/${name}`));
    assert.deepEqual(openedByOther(memory), []);

    // Everybody can read arguments.
    const { token, read_token: readToken } = server.file;
    for (const pid of pids) {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      for (const hidden of [SECRET, token, readToken]) assert.ok(!args.includes(hidden), args);
    }

    const listening = pids.slice(1).flatMap(listeningSockets);
    assert.deepEqual(listening, [], 'only the server listens');
    assert.equal((await server.fetch('/v1/batches', { token: '' })).status, 401);
  } finally {
    await server.kill('SIGTERM');
    rmSync(cache, { recursive: true, force: true });
  }
});

/** Returns a process, the processes that it started, and theirs. */
function descendants(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const fields = textOf(`/proc/${name}/stat`).split(') ').at(-1)?.split(' ');
      return fields === undefined ? [] : [{ pid: Number(name), parent: Number(fields[1]) }];
    });
  const found = [pid];
  for (const each of found) found.push(...parents.filter(({ parent }) => parent === each).map((child) => child.pid));
  return found;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
