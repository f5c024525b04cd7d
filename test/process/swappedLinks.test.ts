// Programs that replace names in the working directory with links while the worker uses them. That nothing happens
// between two steps is proved in test/unit/tools/workFolderRaces.test.ts.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { makeWorkDirectory, removeWorkDirectory } from '../../src/worker/run/workDirectory.ts';
import { callTool, toolBench } from '../support/tools.ts';

const skip = process.platform === 'linux' ? false : 'macOS and Windows guarantee less';
const PROGRAM = path.resolve(import.meta.dirname, '../fixtures/hostile/swap.mjs');
const CALLS = 150;
const ROUNDS = 20;

let folder: string;
let outside: string;
let kept: string[];
let program: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'swapped-'));
  outside = path.join(folder, 'outside');
  fill(outside, 'secret');
  writeFileSync(path.join(outside, 'dir', 'outer.txt'), 'secret');
  kept = contents(outside);
});
afterEach(async () => {
  await end();
  rmSync(folder, { recursive: true, force: true });
});

function fill(root: string, text: string): void {
  mkdirSync(path.join(root, 'dir', 'sub', 'deep'), { recursive: true });
  for (let n = 0; n < 40; n++) writeFileSync(path.join(root, 'dir', 'sub', `${n}.txt`), text);
  for (const name of ['dir/file.txt', 'dir/gone.txt', 'file.txt']) writeFileSync(path.join(root, name), text);
}

function contents(root: string): string[] {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => {
    const file = path.join(entry.parentPath, entry.name);
    return `${file} ${entry.isFile() ? readFileSync(file, 'utf8') : ''}`;
  });
  return files.sort();
}

async function start(cwd: string): Promise<void> {
  const args = [PROGRAM, outside, 'dir', 'file.txt', 'dir/sub', 'dir/file.txt'];
  program = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  if (program.stdout !== null) await once(program.stdout, 'data');
}

async function end(): Promise<void> {
  if (program === undefined) return;
  program.kill('SIGKILL');
  if (program.exitCode === null && program.signalCode === null) await once(program, 'exit');
  program = undefined;
}

it('the tools for files use nothing outside', { skip, timeout: 120_000 }, async () => {
  const bench = await toolBench();
  const sets = (['files', 'documents'] as const).map((name) => ({ kind: 'builtin', name }) as const);
  const tools = await openTools(sets, bench.environment);
  try {
    fill(bench.cwd, 'own');
    await start(bench.cwd);
    const told = { ok: 0, failed: 0 };
    const call = async (name: string, args: JsonObject): Promise<void> => {
      try {
        const { response } = await callTool(tools, name, args);
        told.ok += 1;
        assert.doesNotMatch(JSON.stringify(response), /secret|outer/, name);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        told.failed += 1;
      }
    };
    for (let n = 0; n < CALLS; n++) {
      for (const file of ['file.txt', 'dir/file.txt', 'dir/sub/1.txt']) {
        await call('read_file', { path: file });
        await call('edit_file', { path: file, find: 'own', replace: 'own' });
        await call('write_file', { path: file, content: 'own' });
      }
      await call('write_file', { path: `dir/new-${n}/made.txt`, content: 'own' });
      await call('list_files', { recursive: true });
      await call('delete_file', { path: 'dir/gone.txt' });
      await call('delete_file', { path: 'dir/sub/deep' });
      if (n % 10 === 0) await call('extract_document_content', { file_path: 'dir/file.txt' });
    }
    assert.ok(told.ok > 0 && program?.exitCode === null, `${JSON.stringify(told)}, and the program still runs`);
    assert.deepEqual(contents(outside), kept);
  } finally {
    await end();
    await tools.close();
    await bench.close();
  }
});

it('removing a working directory removes nothing outside, and all of it', { skip, timeout: 120_000 }, async () => {
  const work = path.join(folder, 'work');
  mkdirSync(work);
  for (let round = 0; round < ROUNDS; round++) {
    const task = { id: 't', question: 'q', meta: {} };
    const directory = await makeWorkDirectory(work, task, () => Promise.reject(new Error('no attachments')));
    fill(directory, 'own');
    await start(directory);
    // It may fail while the program goes on.
    await removeWorkDirectory(directory).catch(() => undefined);
    await end();
    await removeWorkDirectory(directory);
    assert.ok(!existsSync(directory));
    assert.deepEqual(contents(outside), kept);
  }
});
