/** How a batch has its pods: one for each attempt, its secrets, and its place in the queue where a quota is short. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { batchLabels, selector } from '../../src/kubernetes/names.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

const SECRET = 'a-value-that-nobody-may-see';

describe('pods of a batch', { timeout: 5 * 60_000 }, () => {
  let bench: ClusterBench;
  before(async () => {
    bench = await ClusterBench.installed('pods');
  });
  after(() => bench.close());

  const podsOf = async (batch: string): Promise<{ name: string; phase: string | undefined }[]> =>
    (await bench.cluster.list('Pod', { labels: selector(batchLabels(batch)) })).map(({ metadata, status }) => ({ name: metadata.name, phase: status?.phase }));

  it('are one for each attempt where that is asked for', async () => {
    const { workspace, site } = bench;
    const batch = await workspace.launch('alone', steady(site, { tasks: 2, steps: 1, pods: { isolation: 'pod' }, batch: { attempts: 2 } }));
    const rows = await bench.assertSettledOnce(batch, 4);
    assert.equal(new Set(rows.map(({ worker }) => worker)).size, 4, 'no two attempts had one worker');
    await until('all of them ended well', async () => (await podsOf(batch)).every(({ phase }) => phase === 'Succeeded'));
    assert.equal((await podsOf(batch)).length, 4);
  });

  it('wait where a quota is short, which is said once and fails nothing', async () => {
    const { workspace, site, cluster, namespace } = bench;
    const quota = (pods: string) => cluster.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'tight', namespace }, spec: { hard: { 'count/jobs.batch': pods } } });
    await quota('0');
    await until('the quota counts', async () => (await cluster.get('ResourceQuota', 'tight'))?.status?.hard !== undefined);
    const batch = await workspace.launch('queued', steady(site, { tasks: 2, steps: 1 }));
    await workspace.untilEvents(batch, (events) => events.some((event) => event.kind === 'infra' && event.data.what === 'quota'));
    const status = await bench.rollout('target', 'status');
    assert.match(status.stdout, /✗ quota +used up: count\/jobs\.batch/);
    assert.ok(await cluster.remove('ResourceQuota', 'tight'));
    await bench.assertSettledOnce(batch, 2);
    const told = (await workspace.events(batch)).filter((event) => event.kind === 'infra' && event.data.what === 'quota');
    assert.equal(told.length, 1);
  });

  it('have the secrets of their batch, which stand nowhere else', async () => {
    const { workspace, site, cluster } = bench;
    const file = workspace.batch('secretive', { ...steady(site, { tasks: 1, steps: 1 }), model: { headers: { 'x-secret': '${env:ROLLOUT_TEST_SECRET}' } } });
    const ran = await bench.rolloutIn(workspace.path(), { ROLLOUT_TEST_SECRET: SECRET }, 'run', file, '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const { batch } = JSON.parse(ran.stdout) as { batch: string };
    await bench.assertSettledOnce(batch, 1);
    const text = JSON.stringify(await Promise.all((await workspace.rows(batch)).map(({ rollout }) => workspace.events(rollout))));
    assert.ok(!text.includes(SECRET));
    const pods = await cluster.list('Pod', { labels: selector(batchLabels(batch)) });
    assert.ok(pods.length > 0 && !JSON.stringify(pods).includes(SECRET), 'the manifests name it only');
    await until('its Secret is gone with the batch', async () => (await cluster.list('Secret', { labels: selector(batchLabels(batch)) })).length === 0);
  });
});
