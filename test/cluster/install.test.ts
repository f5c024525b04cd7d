/** What `rollout cluster install` reports when the server does not start, and what upgrades and uninstalls preserve. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { verifyArchive } from '../../src/client/data/archiveFile.ts';
import type { Change } from '../../src/kubernetes/install/install.ts';
import { NAMES } from '../../src/kubernetes/names.ts';
import { changedObjects, installDiff } from '../../src/protocol/installDiff.ts';
import { ClusterBench, until } from './support/clusterBench.ts';

describe('an installation', { timeout: 10 * 60_000 }, () => {
  let bench: ClusterBench;
  before(async () => {
    bench = await ClusterBench.open('install');
  });
  after(() => bench.close());

  async function changes(...args: string[]): Promise<Record<string, Change['change']>> {
    const ran = await bench.rollout('cluster', ...args, '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const list = (JSON.parse(ran.stdout) as { changes: Change[] }).changes;
    return Object.fromEntries(list.map(({ kind, name, change }) => [`${kind} ${name}`, change]));
  }

  /** The error line of a failed command. */
  async function refusal(code: number, ...args: string[]): Promise<string> {
    const ran = await bench.rollout('cluster', ...args);
    assert.equal(ran.code, code, ran.stderr);
    return ran.stderr.trim().split('\n').at(-1) ?? '';
  }

  it('needs a namespace, or the option to create one; a dry run creates nothing', async () => {
    assert.match(await refusal(2, 'install', ...bench.site.arguments), /does not exist\. Add --create-namespace/);
    assert.match(await refusal(2, 'upgrade'), /No server is installed in namespace/);
    const would = await changes('install', '--create-namespace', '--dry-run', ...bench.site.arguments);
    assert.ok(
      Object.values(would).length > 8 && Object.values(would).every((change) => change === 'created'),
      JSON.stringify(would),
    );
    const ran = await bench.rollout('cluster', 'diff', '--json', ...bench.site.arguments);
    const diff = installDiff.parse(JSON.parse(ran.stdout));
    assert.deepEqual([...new Set(diff.objects.map(({ change }) => change))], ['create']);
    assert.equal(diff.objects.length, Object.keys(would).length);
    const secret = diff.objects.find(({ name }) => name === NAMES.tokens);
    assert.match(secret?.after ?? '', /full: \(hidden\)/);
    assert.equal(await bench.cluster.get('Namespace', bench.namespace), undefined);
  });

  it('reports why the server does not start: no Secret, then a database that does not respond', async () => {
    const args = [
      'install',
      '--create-namespace',
      ...bench.site.arguments.filter((word, at, all) => word !== '--storage' && all[at - 1] !== '--storage'),
      '--storage',
      'postgres:db',
    ];
    assert.match(await refusal(3, ...args), /not ready: .*secret "db" not found/);
    await bench.cluster.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'db' },
      stringData: { url: 'postgres://user:passphrase@127.0.0.1:1/none' },
    });
    const line = await refusal(3, 'upgrade');
    assert.match(
      line,
      /not ready: The server ends as soon as it starts \(exit code 3\)\. Its log: Cannot reach the database/,
    );
    assert.doesNotMatch(line, /passphrase/);
    assert.match(await refusal(2, 'upgrade', '--storage', 'emptyDir'), /keeps its data in postgres:db/);
  });

  it('preserves foreign objects, and the namespace with them', async () => {
    const removed = await changes('uninstall');
    assert.equal(removed[`Namespace ${bench.namespace}`], 'stays');
    assert.ok(await bench.cluster.get('Secret', 'db'));
    assert.equal(await bench.cluster.get('Deployment', NAMES.server), undefined);
    await bench.cluster.remove('Secret', 'db');
  });

  it('waits for quota, and reports the shortage', async () => {
    await bench.cluster.create({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small' },
      spec: { hard: { pods: '0' } },
    });
    await until(
      'the quota counts',
      async () => (await bench.cluster.get('ResourceQuota', 'small'))?.['status'] !== undefined,
    );
    assert.match(
      await refusal(3, 'install', '--timeout', '5', ...bench.site.arguments),
      /creates no pod: .*exceeded quota: small/,
    );
    await bench.cluster.remove('ResourceQuota', 'small');
  });

  it('continues where it stopped, and keeps tokens and options', async () => {
    const tokens = await bench.cluster.get('Secret', NAMES.tokens);
    const done = await changes('install');
    assert.deepEqual([...new Set(Object.values(done))], ['same'], JSON.stringify(done));
    const ran = await bench.rollout('cluster', 'diff', '--memory', '1Gi', '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const diff = installDiff.parse(JSON.parse(ran.stdout));
    const differs = changedObjects(diff);
    assert.deepEqual(
      differs.map(({ kind, name, change }) => [kind, name, change]),
      [
        ['ConfigMap', NAMES.options, 'change'],
        ['Deployment', NAMES.server, 'change'],
      ],
      JSON.stringify(differs.map(({ fields }) => fields)),
    );
    const memory = 'spec.template.spec.containers[0].resources.limits.memory';
    assert.deepEqual(
      differs[1]?.fields.find(({ path }) => path === memory),
      { path: memory, before: '2Gi', after: '1Gi' },
    );
    assert.doesNotMatch(ran.stdout, new RegExp(String((tokens?.['data'] as Record<string, string>)['full'])));
    assert.match((await bench.rollout('cluster', 'options')).stdout, /^memory: 2Gi$/m, 'nothing was changed');
    const changed = await changes('upgrade', '--memory', '1Gi');
    assert.deepEqual(
      Object.entries(changed).filter(([, change]) => change !== 'same'),
      [
        [`ConfigMap ${NAMES.options}`, 'changed'],
        [`Deployment ${NAMES.server}`, 'changed'],
      ],
    );
    assert.deepEqual((await bench.cluster.get('Secret', NAMES.tokens))?.['data'], tokens?.['data']);
  });

  it('saves its store before an upgrade, and removes batches by rules', async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-install-'));
    try {
      const rules = path.join(folder, 'retention.yaml');
      writeFileSync(rules, 'version: 1\nrules: [{ name: none, delete: true }]\n');
      const file = path.join(folder, 'before.rollouts');
      const changed = await changes('upgrade', '--retention', rules, '--backup', file);
      assert.equal(changed[`Deployment ${NAMES.server}`], 'changed');
      const { start } = await verifyArchive(file, { signal: new AbortController().signal });
      assert.equal(start.batches, 0);
      const planned = await bench.rollout('gc', '--dry-run', '--json');
      assert.deepEqual((JSON.parse(planned.stdout) as { why: unknown[] }).why, []);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('serves a model too, until that is removed', async () => {
    const parts = [`Deployment ${NAMES.vllm}`, `Service ${NAMES.vllm}`];
    const installed = await changes(
      'upgrade',
      '--retention',
      'none',
      '--vllm',
      'org/model',
      '--vllm-gpus',
      '2',
      '--vllm-tool-parser',
      'hermes',
    );
    assert.deepEqual(
      parts.map((part) => installed[part]),
      ['created', 'created'],
    );
    assert.equal(installed[`Deployment ${NAMES.server}`], 'changed', 'the rules are taken back');
    const taken = await changes('upgrade', '--vllm', 'none');
    assert.deepEqual(
      parts.map((part) => taken[part]),
      ['removed', 'removed'],
    );
    assert.equal(await bench.cluster.get('Service', NAMES.vllm), undefined);
  });

  it('names an image that cannot be pulled, and is fixed by one that can', async () => {
    assert.match(
      await refusal(3, 'upgrade', '--image', 'localhost/none-of-this:name'),
      /Cannot pull the image localhost\/none-of-this:name/,
    );
    await changes('upgrade', '--image', bench.site.image);
  });

  it('keeps its volume until that is to be deleted too', async () => {
    await bench.uninstall();
    await changes('install', '--create-namespace', '--storage', 'pvc', '--timeout', '0', '--image', bench.site.image);
    const kept = await changes('uninstall');
    assert.equal(kept[`PersistentVolumeClaim ${NAMES.volume}`], 'stays');
    assert.ok(await bench.cluster.get('ConfigMap', NAMES.options), 'a bare install finds the data by its options');
    assert.ok(await bench.cluster.get('PersistentVolumeClaim', NAMES.volume));
    const gone = await changes('uninstall', '--delete-data');
    assert.equal(gone[`PersistentVolumeClaim ${NAMES.volume}`], 'removed');
    assert.equal(gone[`Namespace ${bench.namespace}`], 'removed');
    assert.equal(await bench.cluster.get('Namespace', bench.namespace), undefined);
  });
});
