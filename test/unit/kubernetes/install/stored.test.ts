/** The options of an installation: where they are stored, and who finds them again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { installedOptions } from '../../../../src/kubernetes/install/stored.ts';

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };
const { signal } = new AbortController();
const OPTIONS = resolveOptions({ storage: 'postgres:db', replicas: 2, allowHosts: ['b', 'a'], vllm: { model: 'm' } });

function clusterWith(objects: readonly KubeObject[]): Cluster {
  return {
    namespace: 'team',
    get: (kind: string, name: string) =>
      Promise.resolve(objects.find((object) => object.kind === kind && object.metadata.name === name)),
  } as unknown as Cluster;
}

describe('the options of an installation', () => {
  const objects = manifests(OPTIONS, ARCHIVE, 'team');

  test('are found again, with the Deployment and without it', async () => {
    assert.deepEqual(await installedOptions(clusterWith(objects), signal), OPTIONS);
    const pruned = objects.filter(({ kind }) => kind !== 'Deployment');
    assert.deepEqual(await installedOptions(clusterWith(pruned), signal), OPTIONS);
    assert.equal(await installedOptions(clusterWith([]), signal), undefined);
  });

  test('are read from the Deployment of older versions', async () => {
    const old = objects
      .filter(({ metadata }) => metadata.name !== 'rollout-studio-options')
      .map((object) => ({
        ...object,
        metadata: { ...object.metadata, annotations: { 'rollout-studio/options': JSON.stringify(OPTIONS) } },
      }));
    assert.deepEqual(await installedOptions(clusterWith(old), signal), OPTIONS);
  });

  test('are the same text, whatever the order they were given in', () => {
    const again = manifests(resolveOptions({ ...OPTIONS, image: OPTIONS.image }), ARCHIVE, 'team');
    assert.deepEqual(again, objects);
  });

  test('are not replaced by defaults if they cannot be read, nor taken from another program', async () => {
    const broken = objects.map((object) =>
      object.metadata.name === 'rollout-studio-options' ? { ...object, data: { 'options.json': '{' } } : object,
    );
    await assert.rejects(installedOptions(clusterWith(broken), signal), { code: 'conflict', message: /are invalid/ });
    const foreign = objects.map((object) => ({ ...object, metadata: { ...object.metadata, labels: {} } }));
    await assert.rejects(installedOptions(clusterWith(foreign), signal), { message: /belongs to another program/ });
    const helm = objects.map((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, 'app.kubernetes.io/managed-by': 'Helm' },
      },
    }));
    assert.deepEqual(await installedOptions(clusterWith(helm), signal), OPTIONS);
  });
});
