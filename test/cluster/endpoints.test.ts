/**
 * Replicas of a model that the server finds by the EndpointSlices of their Service, with the permissions of its own
 * account. Nothing resolves the Service's name here: an answer proves that the replica was found.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { byAffinity } from '../../src/model/endpoint.ts';
import {
  answerText,
  bodiesOf,
  callsOf,
  chatEndpoint,
  type FakeEndpoint,
  fakeEndpoint,
  namesByEndpoint,
} from '../support/endpoint.ts';
import { ofKind } from '../support/testWorkspace.ts';
import { podsOf } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';
import { HeadlessService } from './support/headlessService.ts';

const TASKS = 8;
const ATTEMPTS = 2;
const SERVICE = HeadlessService.url('models');

describe('replicas of a model behind a headless Service', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  const models: FakeEndpoint[] = [];
  before(async () => {
    bench = await ClusterBench.installed('endpoints');
  });
  after(async () => {
    await bench.close();
    for (const model of models) await model[Symbol.asyncDispose]();
  });

  it('are called individually, and followed as they come and go', async (test) => {
    if (bench.site.port === undefined) {
      test.skip('pods do not reach this machine');
      return;
    }
    const { cluster, workspace } = bench;
    const open = async (script: (response: ServerResponse) => void): Promise<FakeEndpoint> => {
      const model = await fakeEndpoint((_, response) => script(response));
      models.push(model);
      return model;
    };
    const yes = (response: ServerResponse): void => answerText(response, 'yes');
    const stays = await open(yes);
    // Accepts calls and does not answer: they are pending when it goes.
    const goes = await open(() => undefined);
    const comes = await open(yes);
    const service = await HeadlessService.create(cluster, 'models');
    await Promise.all([
      service.replica('stays', stays, 'ready'),
      service.replica('goes', goes, 'ready'),
      service.replica('comes', comes, 'notReady'),
    ]);

    const first = (task: string): string | undefined => byAffinity([stays.url, goes.url], task)[0];
    const tasks = namesByEndpoint([stays, goes], 't', TASKS / 2).map((id) => ({ id, question: '?', answer: 'yes' }));
    const stuck = ATTEMPTS * (TASKS / 2);
    const batch = await workspace.launch('models', {
      tasks,
      endpoint: SERVICE,
      batch: { attempts: ATTEMPTS, concurrency: 32, pods: podsOf(bench.site, { count: 1 }) },
    });
    const api = await workspace.api();
    const describeReplicas = async (): Promise<string[]> =>
      (await api.server()).endpoints
        .map(({ service, replica, endpoint }) => `${replica ?? endpoint} of ${service ?? 'none'}`)
        .sort();
    await until(
      'one has answered its calls, and the other one has its own',
      async () => callsOf(goes) === stuck && (await api.batch(batch)).counts.passed === TASKS * ATTEMPTS - stuck,
    );
    assert.deepEqual(await describeReplicas(), [`goes of ${SERVICE}`, `stays of ${SERVICE}`]);

    await Promise.all([service.replica('comes', comes, 'ready'), service.replica('goes', goes, 'draining')]);
    await until(
      'they are seen',
      async () => (await describeReplicas()).join() === `comes of ${SERVICE},stays of ${SERVICE}`,
    );
    await goes[Symbol.asyncDispose]();
    await service.replica('goes', goes, 'ended');
    const rows = await bench.assertSettledOnce(batch, TASKS * ATTEMPTS);
    assert.ok(rows.every((row) => row.progress.passed === true));
    for (const row of rows) {
      const [start] = ofKind(await workspace.events(row.rollout), 'model.start');
      assert.equal(start?.data.endpoint, first(row.task), `${row.task} went where it belongs`);
    }
    const messages = await bench.infra(batch);
    for (const said of [
      /Replica comes of \S+ is ready/,
      /Replica goes of \S+ is draining and gets no new calls/,
      /Replica goes of \S+ ended after draining for \d/,
    ])
      assert.ok(
        messages.some((text) => said.test(text)),
        messages.join('\n'),
      );
  });

  it('are several installed models, which calls choose by name; one is removed without the other', async (test) => {
    if (bench.site.port === undefined) {
      test.skip('pods do not reach this machine');
      return;
    }
    const { cluster, workspace } = bench;
    const open = async (): Promise<FakeEndpoint> => {
      const model = await chatEndpoint(({ body }, response) =>
        answerText(response, `I am ${JSON.stringify(body['model'])}`),
      );
      models.push(model);
      return model;
    };
    const [small, judge] = [await open(), await open()];
    const both = workspace.write(
      'models.yaml',
      'models:\n  small: { model: org/small, adapters: { clerk: /cache/clerk } }\n  judge: { model: org/judge }\n',
    );
    const upgrade = await bench.rollout('cluster', 'upgrade', ...bench.site.arguments, '--models', both);
    assert.equal(upgrade.code, 0, upgrade.stderr);
    await HeadlessService.of(cluster, 'rollout-studio-vllm-small').replica('small-0', small, 'ready');
    await HeadlessService.of(cluster, 'rollout-studio-vllm-judge').replica('judge-0', judge, 'ready');

    const agent = (name: string, model: string): string =>
      workspace.write(
        `agents/${name}.agent.yaml`,
        `version: 1\nname: ${name}\nmodel: { endpoint: 'target:', name: ${model} }\nprompt: Answer.\n`,
      );
    agent('writer', 'clerk');
    agent('reviewer', 'org/judge');
    workspace.write(
      'agents/pair.agent.yaml',
      'version: 1\nname: pair\nteam: { kind: workflow, members: [writer.agent.yaml, reviewer.agent.yaml] }\n',
    );
    workspace.write(
      'tasks.jsonl',
      '{"id":"t1","question":"?","answer":"org/judge"}\n{"id":"t2","question":"?","answer":"org/judge"}\n',
    );
    const file = workspace.write(
      'pair.batch.yaml',
      [
        'version: 1',
        'agent: agents/pair.agent.yaml',
        'dataset: { file: tasks.jsonl }',
        'scorer: { kind: contains }',
        `pods: ${JSON.stringify(podsOf(bench.site, { count: 1 }))}`,
      ].join('\n'),
    );
    const { batch } = await workspace.json<{ batch: string }>('run', file, '--detach');
    const rows = await bench.assertSettledOnce(batch, 2);
    for (const row of rows) {
      const events = await workspace.events(row.rollout);
      assert.deepEqual(
        ofKind(events, 'model.start').map(({ data }) => [data.model, data.endpoint]),
        [
          ['clerk', small.url],
          ['org/judge', judge.url],
        ],
      );
    }
    assert.deepEqual(
      [small, judge].map((model) => bodiesOf(model).map((body) => body['model'])),
      [
        ['clerk', 'clerk'],
        ['org/judge', 'org/judge'],
      ],
    );

    const status = await bench.rollout('target', 'status', 'suite', '--no-probe');
    assert.match(status.stdout, /org\/small, clerk: 0 of 1 replica ready/);
    assert.match(status.stdout, /org\/judge: 0 of 1 replica ready/);

    const before = (await cluster.get('Deployment', 'rollout-studio-vllm-judge'))?.metadata.generation;
    workspace.write('models.yaml', 'models:\n  judge: { model: org/judge }\n');
    const removal = await bench.rollout('cluster', 'upgrade', ...bench.site.arguments, '--models', both);
    assert.equal(removal.code, 0, removal.stderr);
    for (const kind of ['Deployment', 'Service', 'NetworkPolicy', 'PodDisruptionBudget'] as const) {
      assert.equal(await cluster.get(kind, 'rollout-studio-vllm-small'), undefined, kind);
      assert.ok((await cluster.get(kind, 'rollout-studio-vllm-judge')) !== undefined, kind);
    }
    assert.equal((await cluster.get('Deployment', 'rollout-studio-vllm-judge'))?.metadata.generation, before);
    const refused = await bench.rollout('run', file, '--detach');
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(refused.stderr, /The model clerk is not installed on this target\. .*Installed: org\/judge\./s);
  });
});
