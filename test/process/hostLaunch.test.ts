/** How the extension launches: the real command line as a child process, on a store of the test. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Connection, connect } from '../../src/client/connect.ts';
import { StudioError } from '../../src/common/errors.ts';
import type { Memory } from '../../src/host/launch/memory.ts';
import { allTasks, failedTasks, submissionOf } from '../../src/host/launch/relaunch.ts';
import { runBatch } from '../../src/host/launch/runBatch.ts';
import { type SecretStore, StoredValues } from '../../src/host/launch/values/storedValues.ts';
import { withValues } from '../../src/host/launch/values/withValues.ts';
import { missingValues, problemsOf } from '../../src/host/server/cliFailure.ts';
import { type CliPorts, cliOf } from '../../src/host/server/runCli.ts';
import type { Cli } from '../../src/host/services.ts';
import { Bench } from '../support/cli.ts';

const bench = new Bench();
const folder = bench.path('desk');
const batchFile = path.join(folder, 'batches', 'first.batch.yaml');
const logged: string[] = [];

function cli(ports: Partial<CliPorts> = {}): Cli {
  return cliOf({
    store: () => bench.store,
    target: () => 'local',
    trusted: () => true,
    log: (text) => logged.push(text),
    ...ports,
  });
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('it should have failed'),
    (error: unknown) => error,
  );
}

before(async () => {
  const created = await cli().json(['init', folder], { cwd: bench.folder });
  assert.equal((created as { folder: string }).folder, folder);
});
after(() => bench.close());

/** In-memory memento and secret storage. */
class MemoryStorage {
  readonly values = new Map<string, unknown>();
  readonly memory: Memory = {
    get: (key) => this.values.get(key),
    update: (key, value) => Promise.resolve(void this.values.set(key, value)),
  };
  readonly vault: SecretStore = {
    get: (key) => Promise.resolve(this.values.get(key) as string | undefined), // only texts are stored
    store: (key, value) => Promise.resolve(void this.values.set(key, value)),
    delete: (key) => Promise.resolve(void this.values.delete(key)),
  };
  readonly stored = new StoredValues(this.vault, this.memory);
}

describe('an invalid file', () => {
  test('reports problems with file, line, and column', async () => {
    const file = path.join(folder, 'batches', 'wrong.batch.yaml');
    writeFileSync(
      file,
      readFileSync(batchFile, 'utf8')
        .replace('attempts: 1', 'atempts: 1')
        .replace('desk.agent.yaml', 'nobody.agent.yaml'),
    );
    const error = await failureOf(runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'all' } } }));
    assert.ok(StudioError.is(error, 'config'));
    const problems = problemsOf(error);
    assert.deepEqual(
      problems.map((problem) => [path.normalize(problem.file), problem.line, problem.column, problem.code]),
      [
        [file, 2, 8, 'file'],
        [file, 5, 1, 'unknown_key'],
      ],
    );
    assert.deepEqual(missingValues(error), []);
  });

  test('is reported in words when it is missing', async () => {
    const error = await failureOf(cli().json(['run', 'none.batch.yaml', '--detach'], { cwd: folder }));
    assert.ok(error instanceof StudioError);
    assert.match(error.message, /none\.batch\.yaml/);
  });
});

describe('values for ${env:…}', () => {
  const file = path.join(folder, 'batches', 'secret.batch.yaml');

  before(() => {
    const agent = readFileSync(path.join(folder, 'agents', 'desk.agent.yaml'), 'utf8').replace(
      /^model:$/m,
      'model:\n  api_key: "${env:DESK_TEST_KEY}"\n  headers: { x-team: "${env:DESK_TEST_TEAM}" }',
    );
    assert.match(agent, /DESK_TEST_KEY/);
    writeFileSync(path.join(folder, 'agents', 'secret.agent.yaml'), agent);
    writeFileSync(file, readFileSync(batchFile, 'utf8').replace('desk.agent.yaml', 'secret.agent.yaml'));
  });

  test('are named when they are missing', async () => {
    const error = await failureOf(runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'all' } } }));
    assert.deepEqual(missingValues(error).toSorted(), ['DESK_TEST_KEY', 'DESK_TEST_TEAM']);
  });

  test('are requested once, kept, and never written to the log or the command line', async () => {
    const { stored } = new MemoryStorage();
    const prompted: string[] = [];
    const launch = (names: readonly string[]): ReturnType<typeof withValues<string>> =>
      withValues(
        stored,
        names,
        (name) => {
          prompted.push(name);
          return Promise.resolve(`value-of-${name}`);
        },
        (env) => runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'all' } }, env }),
      );
    const first = await launch([]);
    assert.match(first.result, /^b/);
    assert.deepEqual(prompted.toSorted(), ['DESK_TEST_KEY', 'DESK_TEST_TEAM']);
    const second = await launch(first.names);
    assert.notEqual(second.result, first.result);
    assert.equal(prompted.length, 2, 'the second launch prompts for nothing');
    assert.equal(logged.filter((line) => line.includes('value-of-')).length, 0);
    assert.equal(await stored.deleteAll(), 2);
    assert.deepEqual(await stored.of(first.names), {});
  });

  test('end the launch when nobody provides them', async () => {
    const kept = new MemoryStorage();
    const error = await failureOf(
      withValues(
        kept.stored,
        [],
        () => Promise.resolve(undefined),
        (env) => runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'all' } }, env }),
      ),
    );
    assert.ok(StudioError.is(error, 'cancelled'));
    assert.equal(kept.values.size, 0);
  });
});

describe('a launch', () => {
  let connection: Connection;

  before(async () => {
    connection = await connect({ store: bench.store });
  });

  test('runs the selected tasks n times; Run Failed Again and Launch Again remember them', async () => {
    const file = path.join(folder, 'batches', 'desk.batch.yaml');
    const ids = ['renew-one', 'hand-over'];
    const batch = await runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'some', ids }, attempts: 2 } });
    const row = await connection.api.batch(batch);
    assert.deepEqual([row.tasks, row.attempts, row.name], [2, 2, 'desk']);
    assert.deepEqual(await allTasks(connection.api, batch), { kind: 'some', ids });
    assert.equal((await submissionOf(connection.api, row)).file, 'batches/desk.batch.yaml');
    await ended(connection, batch);
    const failed: string[] = [];
    for await (const rollout of connection.api.allRollouts(batch))
      if (rollout.progress.passed === false) failed.push(rollout.task);
    assert.deepEqual(
      await failedTasks(connection.api, batch),
      ids.filter((id) => failed.includes(id)),
    );
  });

  test('passes more tasks than a command line holds in a file, and removes it', async () => {
    const file = path.join(folder, 'batches', 'many.batch.yaml');
    const lines = Array.from({ length: 3_000 }, (_, index) =>
      JSON.stringify({ id: `a task with a rather long name, number ${index}`, question: 'Renew?', answer: 'x' }),
    );
    writeFileSync(path.join(folder, 'data', 'many.jsonl'), `${lines.join('\n')}\n`);
    writeFileSync(file, readFileSync(batchFile, 'utf8').replace('tasks.jsonl', 'many.jsonl'));
    const ids = lines.slice(0, 2_500).map((line) => (JSON.parse(line) as { id: string }).id);
    let taskFile = '';
    const watching: Cli = {
      json: (args, options) => {
        taskFile = args.find((arg) => arg.startsWith('--task-file='))?.slice('--task-file='.length) ?? '';
        return cli().json(args, options);
      },
    };
    const batch = await runBatch(watching, {
      file,
      cwd: folder,
      answers: { tasks: { kind: 'some', ids }, attempts: 1 },
    });
    assert.equal((await connection.api.batch(batch)).tasks, 2_500);
    await connection.api.commandBatch(batch, { command: 'stop-many', verb: 'cancel' });
    assert.ok(path.isAbsolute(taskFile) && !existsSync(taskFile));
  });
});

describe('a cancelled launch', () => {
  test('leaves no incomplete batch when it is cancelled while its tasks are sent', async () => {
    const connection = await connect({ store: bench.store });
    const earlier = new Set((await connection.api.batches()).batches.map((row) => row.batch));
    const file = path.join(folder, 'batches', 'long.batch.yaml');
    const lines = Array.from({ length: 8_000 }, (_, index) =>
      JSON.stringify({ id: `t${index}`, question: `Renew ${'x'.repeat(500)}?`, answer: 'x' }),
    );
    writeFileSync(path.join(folder, 'data', 'long.jsonl'), `${lines.join('\n')}\n`);
    writeFileSync(file, readFileSync(batchFile, 'utf8').replace('tasks.jsonl', 'long.jsonl').replace(', limit: 1', ''));
    const stop = new AbortController();
    const launching = failureOf(
      runBatch(cli(), { file, cwd: folder, answers: { tasks: { kind: 'all' } }, signal: stop.signal }),
    );
    const begun = await until(async () =>
      (await connection.api.batches()).batches.find((row) => !earlier.has(row.batch) && row.tasks > 0),
    );
    assert.equal(begun.state, 'open', 'it is cancelled while tasks are missing');
    stop.abort();
    assert.ok(StudioError.is(await launching, 'cancelled'));
    const left = await until(async () => {
      const row = await connection.api.batch(begun.batch);
      return row.state === 'ended' ? row : undefined;
    });
    assert.ok(left.tasks < lines.length && left.counts.cancelled > 0, JSON.stringify(left.counts));
  });
});

async function until<T>(query: () => Promise<T | undefined>): Promise<T> {
  for (const end = performance.now() + 60_000; performance.now() < end; ) {
    const answer = await query();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return assert.fail('it did not come about');
}

async function ended(connection: Connection, batch: string): Promise<void> {
  for (const until = performance.now() + 120_000; performance.now() < until; ) {
    if ((await connection.api.batch(batch)).state === 'ended') return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail('the batch did not end');
}

describe('the command as a process', () => {
  test('does not run in Restricted Mode', () => {
    assert.throws(
      () => cli({ trusted: () => false }).json(['init', 'x'], { cwd: folder }),
      (error) => StudioError.is(error, 'forbidden'),
    );
  });

  test('ends when it is cancelled', async () => {
    const stop = new AbortController();
    const script = bench.path('slow.mjs');
    writeFileSync(
      script,
      'process.once("disconnect", () => process.exit(1)); process.stderr.write("begun\\n"); setInterval(() => ' +
        '{}, 1000);',
    );
    const running = cli({ file: script }).json(['x'], {
      cwd: folder,
      signal: stop.signal,
      onProgress: (line) => line === 'begun' && stop.abort(),
    });
    assert.ok(StudioError.is(await failureOf(running), 'cancelled'));
  });

  test('ends even when it ignores the signal', async () => {
    const stop = new AbortController();
    const script = bench.path('deaf.mjs');
    writeFileSync(script, 'process.stderr.write("begun\\n"); setInterval(() => {}, 1000);');
    const running = cli({ file: script, stopTimeoutMs: 200 }).json(['x'], {
      cwd: folder,
      signal: stop.signal,
      onProgress: (line) => line === 'begun' && stop.abort(),
    });
    assert.ok(StudioError.is(await failureOf(running), 'cancelled'));
  });

  test('is reported with its last output when it prints nothing or no JSON', async () => {
    const script = bench.path('broken.mjs');
    writeFileSync(script, 'console.error("first"); console.error("the reason"); process.exitCode = 3;');
    const error = await failureOf(cli({ file: script }).json(['x'], { cwd: folder }));
    assert.ok(StudioError.is(error, 'internal'));
    assert.match(error.message, /exited with code 3 .*the reason/);
  });

  test('gets the store in its environment, where a password is not visible', async () => {
    const script = bench.path('echo.mjs');
    writeFileSync(
      script,
      'console.log(JSON.stringify({ args: process.argv.slice(2), store: process.env.ROLLOUT_STORE, node: ' +
        'process.env.ELECTRON_RUN_AS_NODE }));',
    );
    const store = 'postgres://me:secret@host/db';
    assert.deepEqual(await cli({ file: script, store: () => store }).json(['import', 'a file'], { cwd: folder }), {
      args: ['import', 'a file', '--json'],
      store,
      node: '1',
    });
  });
});
