import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { Cluster as Clusters } from '../../../../src/kubernetes/access/cluster.ts';
import { collectionPath, isKind } from '../../../../src/kubernetes/access/kinds.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { rightsOf, rightsText } from '../../../../src/kubernetes/access/rights.ts';
import { differenceOf, type InspectedObject, inspectInstallation } from '../../../../src/kubernetes/install/inspect.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { RULES } from '../../../../src/kubernetes/install/manifests/rights.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { secretsOf } from '../../../../src/kubernetes/install/secrets.ts';
import { NAMES } from '../../../../src/kubernetes/names.ts';
import { type KubeApi, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const OPTIONS = resolveOptions({ image: 'i:1', storage: 'pvc' });
const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('programs') };
const INSTALLED = [...secretsOf(OPTIONS, 'ns'), ...manifests(OPTIONS, ARCHIVE, 'ns')];

function pathOf({ kind, metadata }: KubeObject): string {
  assert.ok(isKind(kind));
  return `${collectionPath(kind, metadata.namespace)}/${metadata.name}`;
}

/** An API server that has these objects. */
function apiWith(objects: readonly KubeObject[], forbidden: (path: string) => boolean = () => false): Promise<KubeApi> {
  const byPath = new Map(objects.map((object) => [pathOf(object), object]));
  return startKubeApi(({ path }) => {
    const name = path.split('/').at(-1) ?? '';
    if (forbidden(path)) return statusReply(403, 'Forbidden', `User "me" cannot get resource "x" in API group ""`);
    const found = byPath.get(path);
    return found === undefined ? statusReply(404, 'NotFound', 'no', { name, kind: 'x' }) : { body: found };
  });
}

async function inspected(
  objects: readonly KubeObject[],
  { sha = ARCHIVE.sha, forbidden }: { sha?: string; forbidden?: (path: string) => boolean } = {},
) {
  await using api = await apiWith(objects, forbidden);
  const cluster: Cluster = await Clusters.open({ kubeconfig: api.kubeconfig, context: 'test' });
  try {
    return await inspectInstallation(cluster, sha, undefined);
  } finally {
    cluster.close();
  }
}

const bad = (found: { objects: readonly InspectedObject[] } | undefined): string[] =>
  (found?.objects ?? [])
    .filter(({ state }) => state !== 'ok')
    .map(({ kind, name, state, difference }) => [`${kind} ${name} ${state}`, difference].filter(Boolean).join(': '));
const without = (kind: string, name: string): KubeObject[] =>
  INSTALLED.filter((object) => object.kind !== kind || object.metadata.name !== name);
const changed = (kind: string, name: string, change: (object: KubeObject) => KubeObject): KubeObject[] =>
  INSTALLED.map((object) => (object.kind === kind && object.metadata.name === name ? change(object) : object));

describe('an inspected installation', () => {
  it('has every object that install applies', async () => {
    const found = await inspected(INSTALLED);
    assert.deepEqual(bad(found), []);
    assert.equal(found?.isThisVersion, true);
    assert.deepEqual(
      found.objects.map(({ kind, name }) => `${kind} ${name}`).sort(),
      INSTALLED.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(),
    );
    assert.equal(await inspected([]), undefined, 'nothing is installed');
  });

  it('names what is missing, also the programs', async () => {
    for (const { kind, metadata } of INSTALLED) {
      // Then only the options say that something is installed.
      if (kind === 'Deployment') continue;
      assert.deepEqual(bad(await inspected(without(kind, metadata.name))), [`${kind} ${metadata.name} missing`]);
    }
    assert.deepEqual(bad(await inspected(without('Deployment', NAMES.server))), [`Deployment ${NAMES.server} missing`]);
  });

  it('says what differs, but not what others added or only their tools set', async () => {
    const typed = changed('Service', NAMES.server, (object) => ({
      ...object,
      spec: { ...(object['spec'] as object), type: 'NodePort', clusterIP: '10.0.0.7' },
    }));
    assert.deepEqual(bad(await inspected(typed)), [
      `Service ${NAMES.server} differs: spec.type is "NodePort", not "ClusterIP"`,
    ]);
    const byHelm = INSTALLED.map((object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        labels: { ...object.metadata.labels, 'app.kubernetes.io/managed-by': 'Helm', more: 'theirs' },
      },
    }));
    assert.deepEqual(bad(await inspected(byHelm)), []);
    const stopped = changed('Deployment', NAMES.server, (object) => ({
      ...object,
      spec: { ...(object['spec'] as object), replicas: 0 },
    }));
    assert.deepEqual(bad(await inspected(stopped)), [], 'that it does not run is said elsewhere');
    const grown = changed('PersistentVolumeClaim', NAMES.volume, (object) => ({
      ...object,
      spec: { ...(object['spec'] as object), resources: { requests: { storage: '90Gi' } } },
    }));
    assert.deepEqual(bad(await inspected(grown)), []);
  });

  it('has objects of another version, which are not compared', async () => {
    const typed = changed('Service', NAMES.server, (object) => ({ ...object, spec: {} }));
    const found = await inspected(typed, { sha: 'b'.repeat(64) });
    assert.deepEqual([found?.isThisVersion, bad(found)], [false, []]);
  });

  it('tells objects of other programs, Secrets without content, and what the account may not read', async () => {
    const foreign = changed('Role', NAMES.server, (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { app: 'theirs' } },
    }));
    assert.deepEqual(bad(await inspected(foreign)), [`Role ${NAMES.server} foreign`]);
    const empty = changed('Secret', NAMES.tokens, (object) => ({ ...object, data: {} }));
    assert.deepEqual(bad(await inspected(empty)), [`Secret ${NAMES.tokens} differs: keys are missing`]);
    const found = await inspected(INSTALLED, { forbidden: (path) => path.includes('/roles/') });
    assert.deepEqual(bad(found), [`Role ${NAMES.server} unreadable`]);
  });
});

describe('a difference', () => {
  const object = (spec: unknown): KubeObject => ({ apiVersion: 'v1', kind: 'X', metadata: { name: 'x' }, spec });
  const between = (wanted: unknown, found: unknown): string | undefined => differenceOf(object(wanted), object(found));

  it('is the first one, with its place', () => {
    assert.equal(between({ a: [{ b: 1 }] }, { a: [{ b: 2, c: 3 }] }), 'spec.a[0].b is 2, not 1');
    assert.equal(between({ a: [1] }, { a: [1, 2] }), 'spec.a has 2 entries, not 1');
    assert.equal(between({ a: { b: 'x' } }, {}), 'spec.a.b is missing, not "x"');
  });

  it('is none where the API server leaves out what is empty, or adds a default', () => {
    assert.equal(between({ a: {}, b: [], c: false, d: 0 }, { e: 'default' }), undefined);
    assert.equal(between({ d: 0 }, { d: 10 }), 'spec.d is 10, not 0');
  });
});

describe('rights', () => {
  it('are those of the roles that an account is bound to', () => {
    const rights = rightsOf(INSTALLED, NAMES.server);
    assert.equal(
      rights.length,
      RULES.reduce((sum, { resources, verbs }) => sum + resources.length * verbs.length, 0),
    );
    assert.ok(rights.every(({ namespace }) => namespace === 'ns'));
    assert.deepEqual(rightsOf(INSTALLED, NAMES.worker), []);
    assert.match(rightsText(rights), /^get, list, watch, create, patch, delete jobs; get, list, watch, delete pods; /);
  });
});
