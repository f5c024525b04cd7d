/** Installations that Argo CD or Flux keep: changes made past their repository would be reverted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forOwner } from '../../../../src/client/targets/status/finding.ts';
import { objectsFinding } from '../../../../src/client/targets/status/installation.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { collectionPath, isKind } from '../../../../src/kubernetes/access/kinds.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { gitOpsOwnerOf } from '../../../../src/kubernetes/install/gitOps.ts';
import { inspectInstallation } from '../../../../src/kubernetes/install/inspect.ts';
import { install } from '../../../../src/kubernetes/install/install.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { uninstall } from '../../../../src/kubernetes/install/uninstall.ts';
import { type KubeReply, type KubeRequest, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const OPTIONS = resolveOptions({});
const TRACKING = { 'argocd.argoproj.io/tracking-id': 'rollouts:apps/Deployment:ns/rollout-studio' };
const FLUX = { 'kustomize.toolkit.fluxcd.io/name': 'lab', 'kustomize.toolkit.fluxcd.io/namespace': 'flux' };
const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('programs') };
const OBJECTS = manifests(OPTIONS, ARCHIVE, 'ns').map((object) =>
  object.kind === 'Deployment'
    ? { ...object, metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...TRACKING } } }
    : object,
);
/** Those of Flux, which has pruned the Deployment. */
const PRUNED = manifests(OPTIONS, ARCHIVE, 'ns')
  .filter(({ kind }) => kind !== 'Deployment')
  .map((object) => ({ ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...FLUX } } }));

test('the application, or the object of Flux, is read from what they write', () => {
  const owner = (metadata: Partial<KubeObject['metadata']>) =>
    gitOpsOwnerOf({ metadata: { name: 'rollout-studio', ...metadata } });
  assert.equal(owner({ annotations: TRACKING }), 'the Argo CD application rollouts');
  assert.equal(owner({ labels: { 'helm.toolkit.fluxcd.io/name': 'lab' } }), 'the Flux HelmRelease lab');
  assert.equal(owner({ labels: FLUX }), 'the Flux Kustomization flux/lab');
  assert.equal(owner({ name: 'a-copy', annotations: TRACKING }), undefined);
  assert.equal(owner({}), undefined);
});

test('installation and removal refuse before they change anything; the status names the application', async () => {
  const writes: string[] = [];
  await using api = await startKubeApi(clusterOf(OBJECTS, (write) => writes.push(write)));
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  const { signal } = new AbortController();
  const notice = { change: () => undefined, note: () => undefined };
  const refused = (hint: RegExp) => (error: unknown) =>
    StudioError.is(error, 'conflict') &&
    /namespace ns is kept by the Argo CD application rollouts, which may revert/.test(error.message) &&
    hint.test(error.hint ?? '');
  try {
    const call = { options: OPTIONS, createNamespace: false, dryRun: false, timeoutMs: 0, signal };
    await assert.rejects(install(cluster, call, notice), refused(/rollout cluster render .* add --force\.$/));
    await assert.rejects(
      uninstall(cluster, { deleteData: false, signal }, notice),
      refused(/^Remove its manifests from the repository instead\. .* add --force\.$/),
    );
    assert.deepEqual(writes, []);
    const found = await inspectInstallation(cluster, undefined, undefined);
    assert.ok(found !== undefined);
    const lacking = objectsFinding(found);
    assert.equal(
      lacking.hint,
      'Create Secret rollout-studio-tokens and Secret rollout-studio-ca with the commands that rollout cluster ' +
        'render prints at the start.',
      'no repository has them',
    );
    const complete = objectsFinding({ ...found, objects: found.objects.filter(({ state }) => state === 'ok') });
    assert.match(complete.text, /; kept by the Argo CD application rollouts$/);
  } finally {
    cluster.close();
  }
});

test('without its Deployment, the installation is still kept, and repaired by what keeps it', async () => {
  await using api = await startKubeApi(clusterOf(PRUNED));
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  try {
    const found = await inspectInstallation(cluster, undefined, undefined);
    assert.ok(found !== undefined);
    assert.match(objectsFinding(found).hint ?? '', /^Create Secret .* Sync the Flux Kustomization flux\/lab\.$/);
    const unfound = { name: 'server', state: 'missing', text: '', hint: 'Use rollout cluster install.' } as const;
    assert.match(forOwner(unfound, found.owner).hint ?? '', /kept by the Flux Kustomization flux\/lab: there, render/);
  } finally {
    cluster.close();
  }
});

/** Answers as the API server of a cluster with these objects. */
function clusterOf(
  objects: readonly KubeObject[],
  onWrite?: (write: string) => void,
): (request: KubeRequest) => KubeReply {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns' } };
  const byPath = new Map<string, KubeObject>([['/api/v1/namespaces/ns', namespace]]);
  for (const object of objects) {
    assert.ok(isKind(object.kind));
    byPath.set(`${collectionPath(object.kind, object.metadata.namespace)}/${object.metadata.name}`, object);
  }
  return ({ path, method }) => {
    if (method !== 'GET') onWrite?.(`${method} ${path}`);
    const found = byPath.get(path);
    return found === undefined ? statusReply(404, 'NotFound', 'no', { name: path, kind: 'x' }) : { body: found };
  };
}
