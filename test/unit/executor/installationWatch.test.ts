import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { InstallationWatch } from '../../../src/executor/kubernetes/installationWatch.ts';
import { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import { RULES } from '../../../src/kubernetes/install/manifests/rights.ts';
import { resolveOptions } from '../../../src/kubernetes/install/options.ts';
import { optionsMap } from '../../../src/kubernetes/install/stored.ts';
import { NAMES } from '../../../src/kubernetes/names.ts';
import { type KubeReply, type KubeRequest, startKubeApi, statusReply } from '../../support/kubeApi.ts';

const POD = {
  metadata: { name: 'server-1' },
  spec: {
    containers: [],
    volumes: [
      { name: 'tokens', secret: { secretName: NAMES.tokens } },
      { name: 'authority', secret: { secretName: NAMES.authority, optional: true } },
      {
        name: 'programs',
        projected: { sources: [{ configMap: { name: 'rollout-studio-programs-1-0' } }] },
      },
      { name: 'account', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
    ],
  },
};

async function kit(context: TestContext) {
  const gone = new Set<string>();
  const denied = new Set<string>();
  let isKnown = true;
  const reads: string[] = [];
  const answer = ({ path, method, body }: KubeRequest): KubeReply => {
    if (!isKnown) return statusReply(401, 'Unauthorized', 'Unauthorized');
    if (path.endsWith('selfsubjectrulesreviews')) {
      const resourceRules = RULES.map((rule) => ({
        ...rule,
        verbs: rule.verbs.filter((verb) => !rule.resources.some((resource) => denied.has(`${verb} ${resource}`))),
      }));
      // Authorizers may know of more rights than they list.
      const listed = resourceRules.filter(({ resources }) => !resources.some((resource) => resource === 'events'));
      return { status: 201, body: { ...(body as object), status: { resourceRules: listed, incomplete: true } } };
    }
    if (path.endsWith('selfsubjectaccessreviews')) {
      const { spec } = body as { spec: { resourceAttributes: { verb: string; resource: string } } };
      const { verb, resource } = spec.resourceAttributes;
      return { status: 201, body: { ...(body as object), status: { allowed: !denied.has(`${verb} ${resource}`) } } };
    }
    const name = path.split('/').at(-1) ?? '';
    if (method === 'GET') reads.push(`${path.split('/').at(-2) ?? ''} ${name}`);
    if (gone.has(name)) return statusReply(404, 'NotFound', 'no', { name, kind: 'x' });
    if (name === POD.metadata.name) return { body: POD };
    if (name === NAMES.options) return { body: optionsMap(resolveOptions({}), 'ns') };
    return { body: { metadata: { name } } };
  };
  const api = await startKubeApi(answer);
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig, context: 'test' });
  context.after(async () => {
    cluster.close();
    await api[Symbol.asyncDispose]();
  });
  const reports: string[] = [];
  const watch = new InstallationWatch({
    cluster,
    ownPod: 'server-1',
    log: () => undefined,
    report: (text) => reports.push(text),
    signal: new AbortController().signal,
  });
  const look = async (): Promise<string[]> => {
    await watch.check();
    return reports.splice(0);
  };
  return { look, watch, gone, denied, reads, revoke: () => (isKnown = false) };
}

describe('what the server sees of its installation', () => {
  it('is every object that it may read, and none that it may not', async (context) => {
    const { look, reads, watch } = await kit(context);
    await look();
    reads.length = 0;
    assert.deepEqual([await look(), watch.troubles], [[], []]);
    const names = new Set(reads);
    for (const name of [
      `configmaps ${NAMES.options}`,
      'configmaps rollout-studio-programs-1-0',
      `secrets ${NAMES.tokens}`,
      `services ${NAMES.server}`,
      `networkpolicies ${NAMES.worker}`,
    ])
      assert.ok(names.has(name), name);
    for (const name of names)
      assert.doesNotMatch(name, /^(roles|rolebindings|deployments|serviceaccounts|persistentvolumeclaims) /);
  });

  it('is reported when it is missing for longer than a moment, once, and when it is back', async (context) => {
    const { look, watch, gone } = await kit(context);
    await look();
    gone.add(NAMES.tokens);
    assert.deepEqual(await look(), [], 'an upgrade may just replace it');
    gone.delete(NAMES.tokens);
    assert.deepEqual(await look(), []);
    gone.add(NAMES.worker);
    gone.add('rollout-studio-programs-1-0');
    await look();
    const [text, ...more] = await look();
    assert.deepEqual(more, []);
    assert.equal(
      text,
      'The installation of the server lacks ConfigMap rollout-studio-programs-1-0 and NetworkPolicy ' +
        'rollout-studio-worker, which were deleted or changed by someone else. Repair it with rollout cluster ' +
        'upgrade --force.',
    );
    assert.deepEqual(watch.troubles, [text]);
    assert.deepEqual(await look(), []);
    gone.clear();
    assert.match((await look()).join(), /^The installation of the server is complete again after /);
    assert.deepEqual(watch.troubles, []);
  });

  it('has the rights that it lost, and an account that is gone', async (context) => {
    const { look, denied, revoke } = await kit(context);
    await look();
    denied.add('create jobs');
    denied.add('get secrets');
    await look();
    assert.match(
      (await look()).join(),
      /lacks the right to create jobs; get secrets \(Role or RoleBinding rollout-studio\), which was deleted/,
    );
    revoke();
    await look();
    assert.match(
      (await look()).join(),
      /lacks ServiceAccount rollout-studio in namespace ns, whose token is not accepted/,
    );
  });
});
