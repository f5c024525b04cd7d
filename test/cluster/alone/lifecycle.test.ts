/** From an empty namespace to a finished batch and back: install, run, uninstall, each with the command line. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectTarget } from '../../../src/client/targets/connectTarget.ts';
import { serverTokens } from '../../../src/client/targets/serverPod.ts';
import type { TargetStatus } from '../../../src/client/targets/targetStatus.ts';
import { batchLabels, selector } from '../../../src/kubernetes/names.ts';
import { steady } from '../support/batches.ts';
import { ClusterBench, until } from '../support/clusterBench.ts';
import { snapshot } from '../support/snapshot.ts';

interface Report {
  readonly batch: string;
  readonly attempts: number;
  readonly scored: number;
  readonly passed: number;
  readonly infrastructure: number;
}

describe('a batch on a cluster', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  let empty: string[];
  let report: Report;
  before(async () => {
    bench = await ClusterBench.open('life');
    empty = await snapshot(bench.cluster, bench.namespace);
  });
  after(() => bench.close());

  const states = async (): Promise<Record<string, string>> => {
    const ran = await bench.rollout('target', 'status', '--json');
    const { targets } = JSON.parse(ran.stdout) as { targets: TargetStatus[] };
    return Object.fromEntries((targets[0]?.findings ?? []).map(({ name, state }) => [name, state]));
  };

  it('has no server at first, and says so', async () => {
    assert.deepEqual(await states(), {
      cluster: 'ok',
      namespace: 'missing',
      server: 'missing',
      pods: 'ok',
      nodes: 'ok',
      gpus: 'ok',
      quota: 'ok',
    });
    const ran = await bench.rollout('batches');
    assert.equal(ran.code, 2);
    assert.match(
      ran.stderr,
      /No rollout server is installed in namespace rollout-test-life-\w+ .*rollout cluster install/,
    );
  });

  it('is installed, and a second time changes nothing', async () => {
    const first = await bench.install();
    assert.match(first.stdout, /created +Deployment rollout-studio/);
    const second = await bench.install();
    assert.match(second.stdout, /same +Deployment rollout-studio/);
    assert.doesNotMatch(second.stdout, /^(created|changed) /m);
    assert.deepEqual(await states(), {
      cluster: 'ok',
      server: 'ok',
      user: 'ok',
      queue: 'ok',
      pods: 'ok',
      nodes: 'ok',
      gpus: 'ok',
      policy: 'ok',
      quota: 'ok',
      objects: 'ok',
      rights: 'ok',
      access: 'ok',
      limits: 'ok',
      network: 'ok',
      // The kit's pods are on the host's network, so its namespaces do not enforce `restricted`.
      security: bench.site.kit === undefined ? 'ok' : 'missing',
    });
  });

  it('runs in its own pods, which end with the batch', async () => {
    const { site, workspace } = bench;
    report = await workspace.json<Report>(
      'run',
      workspace.batch('life', steady(site, { tasks: 8, steps: 2, batch: { attempts: 2 } })),
    );
    assert.deepEqual([report.attempts, report.scored, report.passed, report.infrastructure], [16, 16, 16, 0]);
    await bench.assertSettledOnce(report.batch, 16);
    await until('no pod of the batch runs', async () => (await bench.workers(report.batch)).length === 0);
    const pods = await bench.cluster.list('Pod', { labels: selector(batchLabels(report.batch)) });
    assert.deepEqual(
      pods
        .filter(({ status }) => status?.phase !== 'Succeeded')
        .map(({ metadata, status }) => `${metadata.name} ${status?.phase ?? ''}`),
      [],
    );
  });

  it('is read like a local one', async () => {
    const { workspace } = bench;
    const { batches } = await workspace.json<{ batches: { batch: string; state: string }[] }>('batches');
    assert.deepEqual(
      batches.map(({ batch, state }) => [batch, state]),
      [[report.batch, 'ended']],
    );
    assert.match((await workspace.run('show', `${report.batch}/t0/1`)).stdout, /calculate/);
  });

  it('is read by its address too, where this machine reaches it', async (test) => {
    const { port } = bench.site;
    if (port === undefined) {
      test.skip('pods have no address here');
      return;
    }
    const { full } = await serverTokens(bench.cluster);
    const url = `http://127.0.0.1:${port}`;
    assert.equal(
      (await bench.rolloutWithoutTarget('target', 'add', 'address', '--url', url, '--token-env', 'ROLLOUT_TEST_TOKEN'))
        .code,
      0,
    );
    const ran = await bench.rolloutWithoutTarget('show', report.batch, '--target', 'address');
    assert.equal(ran.code, 2, 'without its token');
    const connection = await connectTarget('address', { url, token_env: 'TOKEN' }, { env: { TOKEN: full } });
    assert.equal((await connection.api.batch(report.batch)).state, 'ended');
    assert.equal((await bench.rolloutWithoutTarget('target', 'remove', 'address')).code, 0);
  });

  it('runs on the target in the batch file, unless the command line names another', async () => {
    const { workspace, site } = bench;
    const file = workspace.batch('named', steady(site, { tasks: 1, steps: 1, batch: { target: 'nowhere' } }));
    // The bench's --target overrides the file's.
    assert.equal((await workspace.run('run', file)).code, 0);
    const unknown = await bench.rolloutWithoutTarget('run', workspace.path(file));
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /Unknown target “nowhere”\. Available targets: local, suite\./);
  });

  it('leaves the cluster unchanged', async () => {
    await bench.uninstall('--delete-data');
    await until(
      'the cluster is as it was',
      async () => JSON.stringify(await snapshot(bench.cluster, bench.namespace)) === JSON.stringify(empty),
      60_000,
    ).catch(async () => {
      assert.deepEqual(await snapshot(bench.cluster, bench.namespace), empty);
    });
    assert.equal((await states())['server'], 'missing');
  });
});
