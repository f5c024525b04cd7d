/** Workers reach the server by TLS and know it by the authority of the installation. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { batchLabels, NAMES, selector } from '../../src/kubernetes/names.ts';
import { newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { steady } from './support/batches.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

const decoded = (data: Record<string, string> | undefined, key: string): string =>
  Buffer.from(data?.[key] ?? '', 'base64').toString();

describe('connections between pods', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  before(async () => {
    bench = await ClusterBench.installed('tls');
  });
  after(() => bench.close());

  it('use TLS, with the authority of the installation, whose key only the server has', async () => {
    const { workspace, site, cluster } = bench;
    const authority = await cluster.get('Secret', NAMES.authority);
    assert.match(decoded(authority?.data, 'ca.crt'), /^-----BEGIN CERTIFICATE-----/);
    const batch = await workspace.launch('tls', steady(site, { tasks: 2, steps: 8, pods: { count: 1 } }));
    await until('its pod runs', async () => (await bench.workers(batch)).length === 1);
    const secret = await cluster.get('Secret', `rollout-${batch}`);
    assert.equal(decoded(secret?.data, 'ca.crt'), decoded(authority?.data, 'ca.crt'));
    assert.match((JSON.parse(decoded(secret?.data, 'worker.json')) as { server: string }).server, /^https:/);
    assert.deepEqual(Object.keys(secret?.data ?? {}).sort(), ['ca.crt', 'secrets.json', 'worker.json']);
    const [pod] = await bench.workers(batch);
    const env = pod?.spec?.containers[0]?.env ?? [];
    assert.equal(env.find(({ name }) => name === 'NODE_EXTRA_CA_CERTS')?.value, '/rollout/config/ca.crt');
    await bench.assertSettledOnce(batch, 2);
  });

  it('are refused by workers if the server has no certificate of the authority', async () => {
    const { workspace, site, cluster } = bench;
    // Like Kueue, the queue holds the Job until it is resumed.
    const batch = await workspace.launch(
      'impostor',
      steady(site, { tasks: 1, steps: 1, pods: { count: 1, queue: 'nobodys' } }),
    );
    await workspace.waitForEvents(batch, (events) =>
      events.some((event) => event.kind === 'infra' && event.data.what === 'suspended'),
    );
    const other = newAuthority('Rollout Studio', validFor(10)).cert;
    await cluster.patch('Secret', `rollout-${batch}`, { data: { 'ca.crt': Buffer.from(other).toString('base64') } });
    const [job] = await cluster.list('Job', { labels: selector(batchLabels(batch)) });
    await cluster.patch('Job', job?.metadata.name ?? '', { spec: { suspend: false } });
    let log = '';
    await until('the worker says why it waits', async () => {
      const [pod] = await cluster.list('Pod', { labels: selector(batchLabels(batch)) });
      log = pod === undefined ? '' : ((await cluster.log(pod.metadata.name, { container: 'worker' })) ?? '');
      return log.includes('Waiting for the server');
    });
    assert.match(log, /Waiting for the server at https:\S+: .*certificate/);
    await bench.rollout('cancel', batch);
    await workspace.ended(batch);
  });

  it('are kept by upgrades, and begin with one', async () => {
    const { cluster, workspace, site } = bench;
    const before = await cluster.get('Secret', NAMES.authority);
    await bench.rollout('cluster', 'upgrade');
    assert.deepEqual((await cluster.get('Secret', NAMES.authority))?.data, before?.data);
    // An installation of an older version has no authority, so its Jobs have workers that know none.
    await cluster.remove('Secret', NAMES.authority);
    const [pod] = await cluster.list('Pod', { labels: 'app.kubernetes.io/component=server' });
    await cluster.remove('Pod', pod?.metadata.name ?? '');
    await until('another server runs', async () => {
      const pods = await cluster.list('Pod', { labels: 'app.kubernetes.io/component=server' });
      return pods.some(
        ({ metadata, status }) =>
          metadata.name !== pod?.metadata.name && status?.containerStatuses?.every(({ ready }) => ready) === true,
      );
    });
    const batch = await workspace.launch('plain', steady(site, { tasks: 4, steps: 40, pods: { count: 1 } }));
    await until('its pod runs', async () => (await bench.workers(batch)).length === 1);
    const upgraded = await bench.rollout('cluster', 'upgrade', '--memory', '1500Mi');
    assert.equal(upgraded.code, 0, upgraded.stderr);
    assert.match(upgraded.stdout, new RegExp(`created +Secret ${NAMES.authority}`));
    await bench.assertSettledOnce(batch, 4);
    const jobs = await cluster.list('Job', { labels: selector(batchLabels(batch)) });
    assert.deepEqual(
      jobs.map(({ metadata }) => metadata.annotations?.['rollout-studio/tls']),
      ['true'],
    );
  });
});
