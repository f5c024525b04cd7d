/** Two servers on one PostgreSQL: one of them creates the Jobs, and when it dies the other one does. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NAMES } from '../../src/kubernetes/names.ts';
import { type CuttingProxy, cuttingProxy } from '../support/cuttingProxy.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

const TASKS = 8;

describe('several servers on one PostgreSQL', { timeout: 10 * 60_000 }, () => {
  const store = new TestStore();
  let bench: ClusterBench;
  let postgres: TestPostgres | undefined;
  /** The common address of both, like a Service: it leads to the first, and once that is gone to the second. */
  let service: CuttingProxy | undefined;
  before(async () => {
    bench = await ClusterBench.open('replicas');
  });
  after(async () => {
    await bench.close();
    await service?.close();
    await store[Symbol.asyncDispose]();
    await postgres?.stop();
  });

  it('hand over exclusive duties to each other', async (test) => {
    if (bench.site.port === undefined) {
      test.skip('pods do not reach this machine');
      return;
    }
    const { cluster, namespace, workspace } = bench;
    const database = (postgres = await startPostgres());
    const url = await database.createDatabase();
    await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await cluster.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAMES.worker, namespace } });
    const { port } = (service = await cuttingProxy(0));
    const start = (): Promise<TestServer> =>
      store.startOn(url, ['--executor', 'kubernetes', '--advertise', `http://127.0.0.1:${port}`], {
        ROLLOUT_NAMESPACE: namespace,
      });
    const first = await start();
    service.forwardTo(first.file.port);
    await until(
      'the first server is elected',
      async () => (await database.query(url, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")).length > 0,
    );
    const second = await start();

    // Its client is at the second one, which creates no Jobs; its pods are at the first.
    await bench.reachAt(second.url, second.file.token);
    const batch = await workspace.launch(
      'pair',
      steady(bench.site, { tasks: TASKS, steps: 4, batch: { attempts: 2, concurrency: 8 } }),
    );
    await workspace.waitForRows(
      batch,
      (rows) =>
        rows.filter(({ state }) => state === 'ended').length >= 2 && rows.some(({ state }) => state === 'running'),
    );
    const createdJob = / Job \S+: 2 pods in parallel/;
    assert.match(first.stderr, createdJob);
    assert.doesNotMatch(second.stderr, createdJob);

    await first.kill('SIGKILL');
    service.forwardTo(second.file.port);
    // The server that creates pods handles missing ones.
    const [job] = await cluster.list('Job');
    assert.ok(job !== undefined);
    assert.ok(await cluster.remove('Job', job.metadata.name, { propagation: 'Background' }));
    await bench.assertSettledOnce(batch, 2 * TASKS);
    assert.match(second.stderr, createdJob);
    assert.ok((await cluster.list('Job')).every(({ metadata }) => metadata.uid !== job.metadata.uid));
  });
});
