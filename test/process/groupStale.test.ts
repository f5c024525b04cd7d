/** Stale groups that wait for fresh members, with real servers and a worker. */
import assert from 'node:assert/strict';
import { EventEmitter, on } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { Export } from '../../src/client/export/run.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { exportRedaction } from '../../src/common/redaction/exported.ts';
import { type Submission, submissionSha } from '../../src/config/submission.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import { LEFT_OUT_TEXT } from '../../src/trace/selection/selection.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { chatEndpoint, type FakeEndpoint } from '../support/endpoint.ts';
import { plainSubmission, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const SIZE = 2;

let demo: DemoServer;
let policy: FakeEndpoint;
const calls = new EventEmitter();
/** The calls of each set of members begin only when their gate is open. */
const gates = [Promise.withResolvers<null>(), Promise.withResolvers<null>()] as const;

before(async () => {
  demo = await startDemoServer();
  let count = 0;
  policy = await chatEndpoint(async ({ body }, response) => {
    const gate = gates[Math.floor(count++ / SIZE)];
    calls.emit('call', count);
    await gate?.promise;
    const reply = await fetch(`${demo.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await reply.arrayBuffer()));
  });
});
after(async () => {
  for (const { resolve } of gates) resolve(null);
  await policy[Symbol.asyncDispose]();
  await demo.close();
});

/** Resolves with the next call that is the `nth`. Begin to wait before it is made. */
async function called(nth: number): Promise<void> {
  for await (const [count] of on(calls, 'call')) if (count === nth) return;
}

function submission(): Submission {
  const plain = plainSubmission();
  const { agent } = plain;
  const capture = { token_ids: true, logprobs: true };
  return { ...plain, agent: { ...agent, model: { ...agent.model, endpoints: [policy.url], capture } } };
}

describe('a stale group that waits', { timeout: 480_000 }, () => {
  it('is delivered once, with members of the current weights, although a server is killed meanwhile', async (t) => {
    const store = new TestStore();
    t.after(() => store[Symbol.asyncDispose]());
    let server = await store.start();
    const batch = newId('b');
    const own = submission();
    const sha = submissionSha(own);
    await server.api.putBlob(sha, new TextEncoder().encode(canonicalJson(own)));
    const tasks = [{ id: 'task-1', question: 'answer 1', answer: '1', meta: {} }];
    const group = { size: SIZE, max_versions: 1, stale: 'wait' } as const;
    await server.api.createBatch({ batch, submission: sha, open: true, tasks, group });
    const announce = (version: number): Promise<unknown> =>
      server.api.setEndpoint({ endpoint: policy.url, state: 'serving', version });
    while (!(await server.api.endpoints()).some(({ endpoint }) => endpoint === policy.url));
    await announce(1);

    const [first, replaced] = [called(SIZE), called(2 * SIZE)];
    await server.api.requestGroup({ batch, group: 'g', task: 'task-1' });
    await using worker = await TestWorker.start(store, server, batch);
    await first;
    await announce(2);
    await announce(3);
    // A reader waits: the group ends, is found too old, and is open again.
    const dying = server.api.finishedGroups(batch, { wait: 60 }).then(
      (groups) => groups.length,
      () => 'died',
    );
    gates[0].resolve(null);
    await replaced;
    const { groups: waiting } = await server.api.groups(batch);
    assert.deepEqual(
      waiting.map(({ state, scored, open, replaced: others, stale }) => [state, scored, open, others, stale]),
      [['open', 0, SIZE, SIZE, SIZE]],
      worker.stderr,
    );
    await server.kill();
    assert.equal(await dying, 'died');
    server = await store.start();
    assert.deepEqual(await server.api.finishedGroups(batch), []);
    gates[1].resolve(null);

    const [fresh, ...others] = await server.api.finishedGroups(batch, { wait: 120 });
    assert.deepEqual(others, []);
    assert.deepEqual(
      [fresh!.state, fresh!.usable, fresh!.stale, fresh!.replaced, fresh!.rows.length],
      ['complete', true, undefined, SIZE, SIZE],
      worker.stderr,
    );
    for (const row of fresh!.rows as unknown as TrainingRow[]) assert.ok(Number(row.weights?.[0]) >= 2);
    assert.deepEqual(
      fresh!.members.map(({ attempt }) => attempt).toSorted(),
      [3, 4],
      'those that took the places of the first two',
    );
    assert.deepEqual(
      fresh!.excluded.map(({ attempt, outcome, why }) => [attempt, outcome, why]),
      [1, 2].map((attempt) => [attempt, 'passed', 'its weights were too old, and another took its place']),
    );

    // Exports have who is in the feed, in every format.
    const signal = AbortSignal.timeout(60_000);
    const settings = { batches: [batch], nullReward: undefined, redaction: exportRedaction(['none'], {}) };
    for (const format of ['groups', 'csv', 'sft-openai']) {
      const prepared = await Export.prepare(server.api, { ...settings, format, selection: {} }, signal);
      for await (const part of prepared.bytes()) assert.ok(part.length > 0);
      const { counts } = prepared;
      assert.deepEqual([prepared.attempts, counts.attempts], [SIZE, SIZE], format);
      assert.deepEqual(counts.attempts_left_out, { [LEFT_OUT_TEXT.replaced]: SIZE }, format);
      const all = await Export.prepare(server.api, { ...settings, format, selection: { replaced: true } }, signal);
      assert.deepEqual([all.attempts, all.counts.attempts_left_out], [2 * SIZE, {}], format);
    }

    // Read again under later weights, it is the same group, and says that it is old by now.
    await announce(5);
    const [again] = await server.api.finishedGroups(batch, { wait: 1 });
    const members = fresh!.members.map(({ rollout }) => rollout);
    assert.deepEqual([again!.cursor, again!.members], [fresh!.cursor, fresh!.members]);
    assert.deepEqual([again!.stale?.members, again!.stale?.dropped], [members, false]);
    assert.deepEqual(await server.api.finishedGroups(batch, { after: fresh!.cursor }), []);
  });
});
