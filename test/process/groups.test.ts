/** Groups that a trainer requests over HTTP, with real servers and workers as processes: none is lost. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it, type TestContext } from 'node:test';
import { reportInput } from '../../src/client/commands/reportInput.ts';
import { reportText } from '../../src/client/text/reportText.ts';
import { sha256Hex } from '../../src/common/hash.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { type Submission, submissionSha } from '../../src/config/submission.ts';
import type { NewBatchBody } from '../../src/protocol/client.ts';
import { type FinishedGroup, finishedGroup } from '../../src/protocol/groups.ts';
import { serverFile } from '../../src/protocol/serverFile.ts';
import { advantagesOf } from '../../src/trace/groups/advantages.ts';
import { tokenRecord } from '../../src/trace/schema.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import { report } from '../../src/trace/statistics.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { endingEvents, openingEvents } from '../support/fakeWorker.ts';
import { startPostgres } from '../support/postgres.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { TestWorker } from '../support/workerProcess.ts';

let demo: DemoServer;
before(async () => {
  demo = await startDemoServer();
});
after(() => demo.close());

const STEPS = 2;
/** The first task of each pair is solved. */
const DATASET: (TaskRecord & { readonly answer: string })[] = [1, 2, 3, 4].map((n) => ({
  id: `task-${n}`,
  question: `call calculate {"expression":"${n} + 1"} times ${STEPS}\nanswer {{last}}`,
  answer: n % 2 === 1 ? String(n + 1) : 'wrong',
  meta: {},
}));

function submission(changes: Partial<Submission> = {}): Submission {
  const plain = plainSubmission(changes);
  return {
    ...plain,
    agent: {
      ...plain.agent,
      model: { ...plain.agent.model, endpoints: [demo.url], capture: { token_ids: true, logprobs: true } },
      tools: [{ kind: 'builtin', name: 'calculator' }],
    },
  };
}

async function openGroups(
  server: TestServer,
  group: NonNullable<NewBatchBody['group']>,
  dataset: readonly TaskRecord[] = DATASET,
  changes: Partial<Submission> = {},
): Promise<string> {
  const batch = newId('b');
  const own = submission(changes);
  const sha = submissionSha(own);
  await server.api.putBlob(sha, new TextEncoder().encode(canonicalJson(own)));
  const row = await server.api.createBatch({ batch, submission: sha, open: true, tasks: [...dataset], group });
  assert.deepEqual([row.state, row.groups, row.tasks], ['open', true, 0]);
  return batch;
}

function testStore(t: TestContext): TestStore {
  const store = new TestStore();
  t.after(() => store[Symbol.asyncDispose]());
  return store;
}

/** Reads the feed until it has `count` groups, at most `page` at once; by any server that answers. */
async function readFeed(
  api: () => TestServer['api'],
  batch: string,
  count: number,
  page: number,
  groups: FinishedGroup[] = [],
  got?: () => void,
): Promise<FinishedGroup[]> {
  while (groups.length < count) {
    const last = groups.at(-1);
    const some = await api()
      .finishedGroups(batch, { limit: page, wait: 5, ...(last === undefined ? {} : { after: last.cursor }) })
      .catch(() => []); // its server died
    groups.push(...some);
    got?.();
  }
  return groups;
}

/** What groups are worth, apart from times and IDs. */
function statistics(groups: readonly FinishedGroup[]): unknown[] {
  return groups
    .map(({ group, task, state, mean, members }) => ({
      group,
      task,
      state,
      mean,
      members: members.map(({ reward, advantage }) => [reward, advantage]),
    }))
    .sort((a, b) => a.group.localeCompare(b.group));
}

const COUNT = 64;
const requests = (batch: string): Parameters<TestServer['api']['requestGroup']>[0][] =>
  Array.from({ length: COUNT }, (_, n) => ({ batch, group: `step-${n}`, task: `task-${(n % 4) + 1}` }));

describe('groups for trainers', { timeout: 480_000 }, () => {
  it('are each in the feed once, with tokens, although workers and the server are killed', async (t) => {
    const store = testStore(t);
    let server = await store.start();
    const batch = await openGroups(server, { size: 4, estimator: 'rloo' }, DATASET, { retry: { infrastructure: 3 } });
    const { api } = server;
    const rows = await Promise.all(requests(batch).map((one) => api.requestGroup(one)));
    assert.equal(new Set(rows.map(({ index }) => index)).size, COUNT);
    const seen: FinishedGroup[] = [];
    const progress = new EventEmitter();
    const got = (): boolean => progress.emit('got');
    const feeds = [
      readFeed(() => server.api, batch, COUNT, 7, seen, got),
      readFeed(() => server.api, batch, COUNT, 64),
    ];

    for (const victim of ['worker', 'server', 'worker'] as const) {
      const worker = await TestWorker.start(store, server, batch);
      const target = seen.length + 8;
      while (seen.length < target) await once(progress, 'got');
      if (victim === 'server') {
        await server.kill();
        server = await store.start();
      }
      await worker.kill();
    }
    const last = await TestWorker.start(store, server, batch);
    // A trainer that is restarted requests everything again.
    await Promise.all(requests(batch).map((one) => server.api.requestGroup(one)));
    const [small, large] = await Promise.all(feeds);
    assert.deepEqual(
      small!.map(({ group }) => group).sort(),
      requests(batch)
        .map(({ group }) => group)
        .sort(),
    );
    assert.deepEqual(
      small!.map(({ cursor, group }) => [cursor, group]),
      large!.map(({ cursor, group }) => [cursor, group]),
    );
    for (const group of small!) {
      assert.deepEqual([group.state, group.usable, group.members.length, group.cut], ['complete', true, 4, []]);
      const reward = Number(group.task.at(-1)) % 2;
      assert.deepEqual(
        [...new Set(group.members.map((member) => member.reward))],
        [reward],
        'no loss changed a reward',
      );
      assert.equal(group.rows.length, 4);
      for (const row of group.rows as unknown as TrainingRow[]) {
        assert.equal(row.calls.length, STEPS + 1);
        assert.ok(row.response_mask.includes(1) && row.response_logprobs.length === row.response_ids.length);
        assert.equal(row.group, `${batch}/${group.group}`);
      }
    }
    await server.api.commandBatch(batch, { command: newId('c'), verb: 'seal' });
    assert.equal(await last.exited, 0, last.stderr);
    assert.equal((await server.api.batch(batch)).counts.passed, COUNT * 2);

    // The same groups without a kill have the same statistics.
    const calm = await openGroups(server, { size: 4, estimator: 'rloo' });
    await Promise.all(requests(calm).map((one) => server.api.requestGroup(one)));
    await using worker = await TestWorker.start(store, server, calm);
    assert.equal(worker.process.exitCode, null);
    assert.deepEqual(statistics(await readFeed(() => server.api, calm, COUNT, 64)), statistics(small!));

    // All token records of the batch, in pages.
    const records: string[] = [];
    let after: string | undefined;
    do {
      const page = await server.api.tokens(batch, { limit: 100, ...(after === undefined ? {} : { after }) });
      for (const { rollout, seq, tokens } of page.records) {
        assert.ok(tokenRecord.parse(tokens).completion.length > 0);
        records.push(`${rollout} ${seq}`);
      }
      assert.ok(page.records.length <= 100);
      after = page.next;
    } while (after !== undefined);
    assert.equal(new Set(records).size, records.length);
    const inRows = small!.flatMap(({ rows: own }) =>
      (own as unknown as TrainingRow[]).flatMap(({ rollout, calls }) => calls.map(({ seq }) => `${rollout} ${seq}`)),
    );
    assert.deepEqual(records.toSorted(), inRows.toSorted());
  });

  it('say what was cut off, and how long it was', async (t) => {
    const store = testStore(t);
    const server = await store.start();
    const batch = await openGroups(server, { size: 2, extra: 2 }, tasks(1));
    await server.api.requestGroup({ batch, group: 'g', task: 't1' });
    const worker = await server.worker(batch);
    const grants = await worker.lease(3);
    for (const grant of grants.slice(0, 2)) {
      const opening = openingEvents(grant);
      await worker.appendAcked(grant, opening);
      await worker.appendAcked(grant, endingEvents(opening.length + 1, { passed: grant.attempt === 1 }));
    }
    const [group] = await server.api.finishedGroups(batch, { wait: 30 });
    assert.deepEqual(
      group!.cut.map(({ attempt, state }) => [attempt, state]),
      [
        [3, 'running'],
        [4, 'queued'],
      ],
    );
    assert.deepEqual(
      group!.members.map(({ advantage }) => advantage),
      advantagesOf('ms_swift', [1, 0]),
    );
    const control = await worker.frames.next('control');
    assert.deepEqual([control.verb, control.rollout], ['cancel', grants[2]!.rollout]);
    const [rloo] = await server.api.finishedGroups(batch, { estimator: 'rloo' });
    assert.deepEqual(
      rloo!.members.map(({ advantage }) => advantage),
      [1, -1],
    );
  });

  it('end at their deadline on another server, when the one that got them is dead', async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.stop());
    const store = testStore(t);
    const url = await postgres.createDatabase();
    const [here, there] = [await store.startOn(url), await store.startOn(url)];
    const batch = await openGroups(here, { size: 2, min_usable: 1, deadline_s: 8 }, tasks(1));
    // Both servers get the same requests at once.
    const all = Array.from({ length: 16 }, (_, n) => ({ batch, group: `g${n}`, task: 't1' }));
    const answers = await Promise.all(all.flatMap((one) => [here.api.requestGroup(one), there.api.requestGroup(one)]));
    assert.equal(new Set(answers.map(({ index }) => index)).size, 16);
    const worker = await there.worker(batch);
    const [grant] = await worker.lease(1);
    const opening = openingEvents(grant!);
    await worker.appendAcked(grant!, opening);
    await worker.appendAcked(grant!, endingEvents(opening.length + 1, { passed: true }));
    await here.kill();
    const groups = await readFeed(() => there.api, batch, 16, 5);
    assert.deepEqual(
      groups.map(({ group, state }) => `${group} ${state}`).sort(),
      all.map(({ group }) => `${group} ${group === grant!.task.id ? 'short' : 'failed'}`).sort(),
    );
    for (const group of groups) assert.match(group.why ?? '', /^Its deadline passed: [01] of 2 members have a reward/);
  });

  it('refuse what cannot be a group, and cursors of other batches', async (t) => {
    const store = testStore(t);
    const server = await store.start();
    const batch = await openGroups(server, { size: 2, extra: 1 }, tasks(1));
    const other = await openGroups(server, { size: 2 }, tasks(1));
    const refused = async (body: object, status: number, text: RegExp): Promise<void> => {
      const response = await server.fetch('/v1/groups', {
        method: 'POST',
        body: JSON.stringify({ batch, group: 'g', task: 't1', ...body }),
      });
      const answer = await response.text();
      assert.equal(response.status, status, answer);
      assert.match(answer, text);
    };
    await refused({ size: 100_000 }, 400, /a group has at most 1024 members, not 100001/);
    await refused({ deadline_s: -5 }, 400, /the deadline is in the past/);
    await refused({ min_usable: 3 }, 400, /a group of 2 never has 3 usable members/);
    await refused({ group: '../etc' }, 400, /a group ID consists of/);
    await refused({ sizes: 4 }, 400, /Unrecognized key: \\"sizes\\"/);
    await refused({ task: 'unknown' }, 404, /has no task/);
    await refused({ batch: 'bunknown' }, 404, /no batch bunknown/);
    await refused(
      { task: { id: 'own', question: '?', meta: {}, files: [{ name: 'a', sha: sha256Hex('a'), bytes: 1 }] } },
      409,
      /A task/,
    );
    await server.api.requestGroup({ batch, group: 'g', task: 't1' });
    await refused({ size: 5 }, 409, /already exists in batch b\w+ with another size, min_usable/);
    const feed = async (query: string, status: number, text: RegExp): Promise<void> => {
      const response = await server.fetch(`/v1/batches/${batch}/groups${query}`);
      assert.equal(response.status, status);
      assert.match(await response.text(), text);
    };
    await feed(`?after=${other}.1`, 400, new RegExp(`The cursor belongs to batch ${other}, not to ${batch}`));
    await feed(`?after=${batch}.999999`, 410, /past the end of the feed/);
    await feed('?after=nonsense', 400, /is not a cursor of a feed/);
    await feed('?estimator=mine', 400, /There is no estimator/);
    const plain = await server.submit(plainSubmission(), tasks(1));
    assert.equal((await server.fetch(`/v1/batches/${plain}/groups`)).status, 409);
    await refused({ batch: plain }, 409, /was not created for groups/);
    assert.equal((await server.fetch(`/v1/batches/${batch}/tokens?after=${other}.-.5`)).status, 400);
    const closed = await server.api.commandBatch(batch, {
      command: newId('c'),
      verb: 'cancel_group',
      args: { group: 'g', reason: 'Not needed.' },
    });
    assert.equal(closed.changed, 1);
    const [cancelled] = await server.api.finishedGroups(batch);
    assert.deepEqual([cancelled!.state, cancelled!.usable, cancelled!.cut.length], ['cancelled', false, 3]);
    await server.api.commandBatch(batch, { command: newId('c'), verb: 'seal' });
    await refused({ group: 'late' }, 409, /has ended/);
  });

  it('are left out by a filter, with the same answer for each reader and server', async (t) => {
    const store = testStore(t);
    let server = await store.start();
    await assert.rejects(openGroups(server, { size: 2, filter: 'spred > 0' }), /group\.filter: Column 1: there is no/);
    // Attempts of the demo model are equal: the tasks that are solved pass.
    const batch = await openGroups(server, { size: 2, filter: 'mean == 1 && drift == 0 && duplicates == 1' });
    for (const task of ['task-1', 'task-2']) await server.api.requestGroup({ batch, group: `of-${task}`, task });
    await using worker = await TestWorker.start(store, server, batch);
    const groups = await readFeed(() => server.api, batch, 2, 1);
    const byName = (list: readonly FinishedGroup[]) => new Map(list.map((group) => [group.task, group]));
    const [kept, left] = ['task-1', 'task-2'].map((task) => byName(groups).get(task)!);
    assert.deepEqual([kept!.usable, kept!.filtered, kept!.why, kept!.rows.length], [true, undefined, undefined, 2]);
    assert.deepEqual([left!.state, left!.usable, left!.filtered, left!.rows], ['complete', false, true, []]);
    assert.match(left!.why ?? '', /^The filter mean == 1 && .* is false: mean is 0, duplicates is 1, drift is 0\.$/);
    assert.equal(left!.members.length, 2, 'its statistics are there');
    // Another server delivers them again.
    await server.kill();
    server = await store.start();
    assert.deepEqual(await readFeed(() => server.api, batch, 2, 64), groups);
    const { groups: rows } = await server.api.groups(batch);
    assert.deepEqual(
      rows.map(({ task, filtered }) => [task, filtered?.why]),
      [
        ['task-1', undefined],
        ['task-2', left!.why],
      ],
    );
    const tokens = rows[1]!.filtered!.tokens;
    assert.ok(tokens > 0);
    const row = await server.api.batch(batch);
    const input = await reportInput(server.api, row, [], AbortSignal.timeout(60_000));
    assert.deepEqual(report(input).filtered, { groups: 1, tokens });
    // The template writes arguments without spaces: other tokens than those that were sampled.
    const spaced = { id: 'spaced', question: 'call calculate { "expression": "1 + 1" }\nanswer {{last}}', answer: '2' };
    const drifting = await openGroups(server, { size: 2, filter: 'drift < 0.5' }, [{ ...spaced, meta: {} }]);
    await server.api.requestGroup({ batch: drifting, group: 'g', task: 'spaced' });
    await using other = await TestWorker.start(store, server, drifting);
    const [drifted] = await readFeed(() => server.api, drifting, 1, 1);
    assert.equal(drifted!.why, 'The filter drift < 0.5 is false: drift is 1.', other.stderr);
    assert.match(reportText(report(input), 120), /^filtered {3}1 group left out at the delivery, with .* tokens$/m);
    assert.equal(worker.process.exitCode, null, worker.stderr);
  });

  it('are served to the trainer of the guide, from a batch file', async (t) => {
    const workspace = new Workspace(new Bench());
    t.after(() => workspace.close());
    const file = workspace.batch('train', {
      endpoint: demo.url,
      tasks: DATASET.map(({ id, question, answer }) => ({ id, question, answer })),
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true } },
      batch: { group: { size: 3, min_usable: 2, filter: 'mean >= 0' } },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file, '--groups', 'file', '--extra', '1');
    const { port, token } = serverFile.parse(
      JSON.parse(readFileSync(path.join(workspace.bench.store, 'server.json'), 'utf8')),
    );
    const guide = readFileSync('docs/guide/train.md', 'utf8');
    const code = guide.slice(guide.indexOf('```python') + '```python'.length).split('```')[0]!;
    const python = spawn('python3', ['-c', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ROLLOUT_SERVER: `http://127.0.0.1:${port}`, ROLLOUT_TOKEN: token, ROLLOUT_BATCH: batch },
    });
    const [output] = await Promise.all([text(python.stdout), once(python, 'exit')]);
    assert.equal(python.exitCode, 0);
    const lines = output.trim().split('\n');
    assert.equal(lines.length, 4 * 3);
    assert.ok(lines.every((line) => /^b\w+\/step-[01]-task-[123] [1-4] \d+ tokens, advantage [+-]0\.00$/.test(line)));
    const { groups } = await workspace.json<{ groups: { group: string; state: string }[] }>('groups', batch);
    assert.deepEqual(
      groups.map(({ group, state }) => `${group} ${state}`),
      ['step-0-task-1', 'step-0-task-2', 'step-1-task-2', 'step-1-task-3'].map((group) => `${group} complete`),
    );
    const { stdout } = await workspace.run('groups', batch);
    assert.match(stdout, /^step-0-task-1 +task-1 +complete +[34]\/3/m);
    const wrong = await workspace.run('run', file, '--extra', '2');
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /need --groups/);
  });

  it('reach a callback, again until it accepts them, and readers of events; others cost nothing', async (t) => {
    const store = testStore(t);
    let server = await store.start();
    const received: FinishedGroup[] = [];
    let refusals = 1;
    const callback = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (refusals-- > 0) {
          response.writeHead(503).end();
          return;
        }
        received.push(finishedGroup.parse(JSON.parse(Buffer.concat(chunks).toString())));
        response.writeHead(204).end();
        callback.emit('received');
      });
    });
    callback.listen(0, '127.0.0.1');
    await once(callback, 'listening');
    t.after(() => callback.close().closeAllConnections());
    const { port } = callback.address() as AddressInfo;
    const batch = await openGroups(server, { size: 2, callback: `http://127.0.0.1:${port}/groups` });

    // One reader never reads, one dies in the middle.
    const idle = httpRequest(`${server.url}/v1/batches/${batch}/groups`, {
      headers: { authorization: `Bearer ${server.file.token}`, accept: 'text/event-stream' },
    });
    idle.on('error', () => undefined).end();
    const dying = new AbortController();
    const died = server.fetch(`/v1/batches/${batch}/groups?wait=60`, { signal: dying.signal }).then(
      () => 'answered',
      () => 'died',
    );
    const events = await server.fetch(`/v1/batches/${batch}/groups`, { headers: { accept: 'text/event-stream' } });
    dying.abort();
    assert.equal(await died, 'died');

    await server.api.requestGroup({ batch, group: 'one', task: 'task-1' });
    const accepted = once(callback, 'received');
    await using worker = await TestWorker.start(store, server, batch);
    await accepted;
    const reader = events.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const stream = new TextDecoder().decode((await reader.read()).value);
    assert.match(stream, new RegExp(`^id: ${batch}\\.\\d+\nevent: group\ndata: \\{"schema":1`));
    idle.destroy();

    // The next server continues. It may repeat the group that was accepted when its predecessor died.
    await server.kill();
    server = await store.start();
    await server.api.requestGroup({ batch, group: 'two', task: 'task-2' });
    while (received.at(-1)?.group !== 'two') await once(callback, 'received');
    assert.deepEqual([...new Set(received.map(({ group }) => group))], ['one', 'two']);
    assert.equal(worker.process.exitCode, null);
  });

  it('are stale when their weights are too old at the delivery: marked, or without their rows', async (t) => {
    const store = testStore(t);
    const server = await store.start();
    for (const stale of ['mark', 'drop'] as const) {
      const batch = await openGroups(server, { size: 2, max_versions: 1, stale });
      await server.api.requestGroup({ batch, group: 'one', task: 'task-1' });
      const announce = (version: number, force = false): Promise<unknown> =>
        server.api.setEndpoint({ endpoint: demo.url, state: 'serving', version, force });
      while (!(await server.api.endpoints()).some(({ endpoint }) => endpoint === demo.url));
      await announce(3, true);
      await using worker = await TestWorker.start(store, server, batch);
      const feed = (): Promise<FinishedGroup[]> => readFeed(() => server.api, batch, 1, 1);
      const [fresh] = await feed();
      assert.deepEqual([fresh!.stale, fresh!.usable, fresh!.rows.length], [undefined, true, 2], worker.stderr);
      for (const row of fresh!.rows as unknown as TrainingRow[]) assert.deepEqual(row.weights, ['3', '3']);
      await announce(4);
      const [near] = await feed();
      assert.equal(near!.stale, undefined, 'one version behind');
      await announce(5);
      const [old] = await feed();
      const members = old!.members.map(({ rollout }) => rollout);
      assert.deepEqual(old!.stale, { behind: 2, members, dropped: stale === 'drop' });
      assert.deepEqual([old!.usable, old!.rows.length], stale === 'drop' ? [false, 0] : [true, 2]);
      await announce(2, true);
      const [back] = await feed();
      assert.equal(back!.stale?.behind, null, 'its version was taken back');
    }
  });
});
