/** A store that cannot be written to: it is viewed with the usual commands, and nothing in it changes. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { sha256Hex } from '../../src/common/hash.ts';
import { databaseFile } from '../../src/protocol/storeFolder.ts';
import { root } from '../support/cli.ts';
import { importBatch } from '../support/finishedBatch.ts';
import { TestStore } from '../support/rolloutServer.ts';

const isRoot = process.getuid?.() === 0;
/** Root may write anywhere except on a read-only disk. `$1` is the store, the rest a command. */
const ON_READ_ONLY_DISK = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';
const canMount =
  isRoot &&
  spawnSync('unshare', ['-rm', 'sh', '-c', ON_READ_ONLY_DISK, 'sh', import.meta.dirname, 'true']).status === 0;
const skip =
  process.platform === 'win32'
    ? 'folders have no such permissions'
    : isRoot && !canMount
      ? 'root cannot mount anything here'
      : false;

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Names and contents of all files of a folder. */
function contents(folder: string): string[] {
  return globSync('**/*', { cwd: folder })
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .map((name) => `${name} ${sha256Hex(readFileSync(path.join(folder, name)))}`)
    .toSorted();
}

describe('a store that cannot be written to', { skip }, () => {
  const home = mkdtempSync(path.join(os.tmpdir(), 'rollout-home-'));
  const store = new TestStore();
  let batch: string;
  let rollout: string;
  let files: string[];
  const modes = (folder: number, file: number): void => {
    if (isRoot) return;
    chmodSync(databaseFile(store.folder), file);
    chmodSync(store.folder, folder);
  };
  const run = (...args: string[]): Result => {
    const cli = path.join(root, 'dist', 'cli.mjs');
    const command = [process.execPath, '--disable-warning=ExperimentalWarning', cli, ...args, '--store', store.folder];
    const wrapped = isRoot
      ? ['unshare', '-rm', 'sh', '-c', ON_READ_ONLY_DISK, 'sh', store.folder, ...command]
      : command;
    const [file = '', ...rest] = wrapped;
    const { status, stdout, stderr } = spawnSync(file, rest, {
      encoding: 'utf8',
      cwd: home,
      timeout: 60_000,
      env: { ...process.env, HOME: home, XDG_DATA_HOME: home },
    });
    return { code: status, stdout, stderr };
  };
  /** Ends the server that shows it, which keeps its file in the user's data folder. */
  const endServer = (): void => {
    for (const name of globSync('**/server.json', { cwd: home })) {
      const { pid } = JSON.parse(readFileSync(path.join(home, name), 'utf8')) as { pid: number };
      process.kill(pid, 'SIGKILL');
      rmSync(path.join(home, name));
    }
  };
  before(async () => {
    const server = await store.start();
    const imported = await importBatch(server, { tasks: 2, attempts: 2, steps: 5 });
    batch = imported.batch;
    rollout = imported.rollouts[0] ?? '';
    await server.kill('SIGTERM');
    files = contents(store.folder);
    modes(0o500, 0o400);
  });
  after(async () => {
    endServer();
    modes(0o700, 0o600);
    await store[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });

  it('is shown', () => {
    const shown: [RegExp, ...string[]][] = [
      [/nightly/, 'batches'],
      [/2 tasks x 2/, 'show', batch],
      [/step 2/, 'show', `${rollout}:2`],
      [/2 tasks, 4 attempts/, 'report', batch],
      [/batch,task,attempt/, 'export', batch],
    ];
    for (const [pattern, ...args] of shown) {
      const { code, stdout, stderr } = run(...args);
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
      assert.match(stdout, pattern);
    }
    assert.deepEqual(contents(store.folder), files);
  });

  it('is not changed: commands that would do so say why', () => {
    const results = path.join(import.meta.dirname, '../fixtures/tau-bench/two-tasks.json');
    for (const args of [
      ['cancel', batch],
      ['gc', '--older-than', '0d'],
      ['import', results],
    ]) {
      const { code, stderr } = run(...args);
      assert.notEqual(code, 0);
      assert.match(stderr, /is read-only: it can be viewed, but not changed\. Copy the folder/, args.join(' '));
    }
    assert.deepEqual(contents(store.folder), files);
  });

  it('is refused if its newest changes are only in a log that cannot be read', () => {
    endServer();
    modes(0o700, 0o600);
    // Like a store that was copied while its server was running.
    const database = new DatabaseSync(databaseFile(store.folder));
    database.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE later (x)');
    const log = readFileSync(`${databaseFile(store.folder)}-wal`);
    assert.ok(log.length > 0);
    rmSync(`${databaseFile(store.folder)}-shm`);
    modes(0o500, 0o400);
    const { code, stderr } = run('batches');
    modes(0o700, 0o600);
    database.close();
    assert.equal(code, 3);
    assert.match(stderr, /was not closed, and reading it requires writing to it\. Copy the folder/);
  });
});
