/** Successes of earlier groups are delivered with groups that have none, with real servers and workers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import type { JsonObject } from '../../src/common/json.ts';
import type { FinishedGroup } from '../../src/protocol/groups.ts';
import { replayAdvantage } from '../../src/trace/groups/replay.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { chatEndpoint, type FakeEndpoint } from '../support/endpoint.ts';
import { Workspace } from '../support/testWorkspace.ts';

let demo: DemoServer;
let policy: FakeEndpoint;
/** What the policy answers, attempt by attempt; then always the last one. */
let answers = ['1'];
const workspace = new Workspace();

before(async () => {
  demo = await startDemoServer();
  policy = await chatEndpoint(async ({ body }, response) => {
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? '';
    const reply = await fetch(`${demo.url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body).replaceAll('MOOD', answer),
    });
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await reply.arrayBuffer()));
  });
});
after(async () => {
  await workspace.close();
  await policy[Symbol.asyncDispose]();
  await demo.close();
});

async function openBatch(name: string, replay: JsonObject): Promise<string> {
  const file = workspace.batch(name, {
    endpoint: policy.url,
    tasks: ['task-1', 'task-2'].map((id) => ({ id, question: 'answer MOOD', answer: '1' })),
    model: { capture: { token_ids: true, logprobs: true }, stream: 'never' },
    batch: { group: { size: 4, replay } },
  });
  return (await workspace.json<{ batch: string }>('run', file, '--groups', 'file')).batch;
}

const rewardsOf = ({ members }: FinishedGroup): number[] => members.map(({ reward }) => reward).toSorted();
const replaysOf = ({ rows }: FinishedGroup) => rows.filter(({ replayed }) => replayed !== undefined);

describe('replay', { timeout: 480_000 }, () => {
  it('adds marked successes of earlier groups, up to a share and an age, the same at each delivery', async () => {
    const batch = await openBatch('first', { share: '25%', age: 2 });
    const api = await workspace.api();
    const announce = (version: number): Promise<unknown> =>
      api.setEndpoint({ endpoint: policy.url, state: 'serving', version });
    while (!(await api.endpoints()).some(({ endpoint }) => endpoint === policy.url));
    await announce(1);
    let cursor = '';
    const next = async (group: string, task: string, then: string[], of = batch): Promise<FinishedGroup> => {
      answers = then;
      await api.requestGroup({ batch: of, group, task });
      const [finished] = await api.finishedGroups(of, { wait: 120, ...(of === batch ? { after: cursor } : {}) });
      assert.equal(finished?.group, group);
      if (of === batch) ({ cursor } = finished);
      return finished;
    };
    const mixed = await next('mixed', 'task-1', ['1', '2', '1', '2']);
    assert.deepEqual([rewardsOf(mixed), replaysOf(mixed)], [[0, 0, 1, 1], []]);
    const successes = mixed.members.filter(({ reward }) => reward === 1).map(({ rollout }) => rollout);

    const failed = await next('failed', 'task-1', ['2']);
    assert.deepEqual([failed.mean, failed.members.map(({ advantage }) => advantage)], [0, [0, 0, 0, 0]]);
    const [row, ...others] = replaysOf(failed) as unknown as (TrainingRow & FinishedGroup['rows'][number])[];
    assert.deepEqual(others, [], 'one in four is a quarter');
    assert.ok(successes.includes(row!.rollout));
    assert.deepEqual(row!.replayed, { batch, rollout: row!.rollout, behind: 0 });
    assert.deepEqual([row!.reward, row!.weights, row!.group], [1, ['1', '1'], `${batch}/mixed`]);
    assert.equal(row!.advantage, replayAdvantage('ms_swift', [0, 0, 0, 0], 1));
    const original = mixed.rows.find(({ rollout }) => rollout === row!.rollout) as unknown as TrainingRow;
    assert.deepEqual(row!.response_logprobs, original.response_logprobs, 'as they were sampled');
    assert.ok(row!.response_mask.includes(1));

    assert.deepEqual(replaysOf(await next('other', 'task-2', ['2'])), [], 'no earlier success of this task');
    await announce(4);
    assert.deepEqual(replaysOf(await next('late', 'task-1', ['2'])), [], 'the success is too old');
    const [, again] = await api.finishedGroups(batch);
    assert.deepEqual(again, failed, 'although it would be too old by now');

    const report = await workspace.json<Report>('report', batch);
    assert.deepEqual(report.replayed, { groups: 1, rollouts: 1 });
    const { stdout } = await workspace.run('report', batch);
    assert.match(stdout, /^replayed {3}1 success of earlier groups, with 1 group$/m);
    assert.match((await workspace.run('groups', batch)).stdout, /^failed +task-1 .* 1 of earlier groups replayed$/m);

    // Another batch takes them from this one.
    const later = await openBatch('later', { from: [batch], share: 0.5, age: 3 });
    const moved = await next('g', 'task-1', ['2'], later);
    assert.deepEqual(
      replaysOf(moved).map(({ replayed }) => [replayed?.batch, replayed?.behind]),
      [[batch, 3]],
      'the second success is the same trajectory',
    );
    for (const id of [batch, later]) await api.commandBatch(id, { command: newId('c'), verb: 'seal' });
    await assert.rejects(openBatch('none', { from: ['b0'] }), /There is no batch b0 here/);
  });
});
