/**
 * Replicas of a model that the server finds by the EndpointSlices of their Service, with the permissions of its own
 * account. Nothing resolves the Service's name here: an answer proves that the replica was found.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { byAffinity } from '../../src/model/endpoint.ts';
import { answerText, callsOf, type FakeEndpoint, fakeEndpoint, namesByEndpoint } from '../support/endpoint.ts';
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
      service.replica('stays', stays, true),
      service.replica('goes', goes, true),
      service.replica('comes', comes, false),
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

    await Promise.all([service.replica('comes', comes, true), service.replica('goes', goes, false)]);
    await until(
      'they are seen',
      async () => (await describeReplicas()).join() === `comes of ${SERVICE},stays of ${SERVICE}`,
    );
    await goes[Symbol.asyncDispose]();
    const rows = await bench.assertSettledOnce(batch, TASKS * ATTEMPTS);
    assert.ok(rows.every((row) => row.progress.passed === true));
    for (const row of rows) {
      const [start] = ofKind(await workspace.events(row.rollout), 'model.start');
      assert.equal(start?.data.endpoint, first(row.task), `${row.task} went where it belongs`);
    }
    const messages = await bench.infra(batch);
    for (const said of [/Replica comes of \S+ is ready/, /Replica goes of \S+ was removed/])
      assert.ok(
        messages.some((text) => said.test(text)),
        messages.join('\n'),
      );
  });
});
