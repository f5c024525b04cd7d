import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { isQuota } from '../../../../src/kubernetes/access/kubeErrors.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { type KubeApi, kubeconfigText, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const map = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

async function thrown(promise: Promise<unknown>): Promise<StudioError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(StudioError.is(error), `a StudioError, not ${String(error)}`);
  return error;
}

const opened = (api: KubeApi): Promise<Cluster> => Cluster.open({ kubeconfig: api.kubeconfig });

test('objects are read where their kind is served, with the credentials of the kubeconfig', async () => {
  await using api = await startKubeApi(({ path }) => ({
    body: path.endsWith('/jobs')
      ? { metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'a' }, status: { active: 2 } }] }
      : { ...map('m'), status: {} },
  }));
  const cluster = await opened(api);
  assert.deepEqual([cluster.context, cluster.namespace, cluster.server], ['test', 'ns', api.url]);
  assert.equal((await cluster.get('ConfigMap', 'm'))?.metadata.name, 'm');
  await cluster.get('Node', 'n1');
  const jobs = await cluster.list('Job', { labels: 'a=b', fields: 'metadata.name=a', namespace: 'all' });
  assert.deepEqual(
    [jobs[0]?.kind, jobs[0]?.apiVersion, jobs[0]?.status?.active],
    ['Job', 'batch/v1', 2],
    'items of lists get their kind',
  );
  await cluster.inNamespace('elsewhere').get('ConfigMap', 'm');
  assert.deepEqual(
    api.requests.map((request) => request.path),
    [
      '/api/v1/namespaces/ns/configmaps/m',
      '/api/v1/nodes/n1',
      '/apis/batch/v1/jobs',
      '/api/v1/namespaces/elsewhere/configmaps/m',
    ],
  );
  assert.equal(api.requests[0]?.headers.authorization, 'Bearer first-token');
  assert.deepEqual(Object.fromEntries(api.requests[2]?.query ?? []), {
    labelSelector: 'a=b',
    fieldSelector: 'metadata.name=a',
    limit: '500',
  });
  cluster.close();
});

test('fields that the library does not have are sent and returned', async () => {
  await using api = await startKubeApi(({ body }) => ({ body }));
  const job: KubeObject = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j', namespace: 'ns', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { newerThanTheLibrary: 1, template: { spec: { containers: [{ name: 'c', resource: { limits: {} } }] } } },
  };
  const cluster = await opened(api);
  assert.deepEqual(await cluster.create(job), job);
  assert.deepEqual(api.requests[0]?.body, job);
  api.answer = ({ method, body }) =>
    method === 'GET' ? { body: { kind: 'JobList', apiVersion: 'batch/v1', metadata: {}, items: [job] } } : { body };
  assert.deepEqual(await cluster.list('Job'), [job]);
  await cluster.patch('Job', 'j', { spec: { newerThanTheLibrary: null } });
  assert.deepEqual((api.requests.at(-1)?.body as KubeObject)['spec'], { newerThanTheLibrary: null });
});

test('a list reads all its pages, and starts again when they have expired', async () => {
  let gone = true;
  await using api = await startKubeApi(({ query }) => {
    if (query.get('continue') === null)
      return { body: { metadata: { resourceVersion: '1', continue: 'more' }, items: [map('a')] } };
    if (gone) {
      gone = false;
      return statusReply(410, 'Expired', 'The provided continue parameter is too old');
    }
    return { body: { metadata: { resourceVersion: '2', continue: '' }, items: [map('b')] } };
  });
  const { items, resourceVersion } = await (await opened(api)).listAt('ConfigMap');
  assert.deepEqual([items.map((item) => item.metadata.name), resourceVersion], [['a', 'b'], '2']);
});

test('a missing object is undefined, and removing it returns false', async () => {
  await using api = await startKubeApi(() =>
    statusReply(404, 'NotFound', 'configmaps "m" not found', { name: 'm', kind: 'configmaps' }),
  );
  const cluster = await opened(api);
  assert.equal(await cluster.get('ConfigMap', 'm'), undefined);
  assert.equal(await cluster.remove('ConfigMap', 'm'), false);
  assert.equal(await cluster.log('pod'), undefined);
  api.answer = () => statusReply(409, 'Conflict', 'the UID in the precondition does not match');
  assert.equal(await cluster.remove('ConfigMap', 'm', { uid: 'u1' }), false, 'another object with the name stays');
  assert.deepEqual((api.requests.at(-1)?.body as { preconditions?: unknown }).preconditions, { uid: 'u1' });
  api.answer = () => ({ status: 404, body: '404 page not found' });
  assert.equal(
    (await thrown(cluster.get('EndpointSlice', 'x'))).code,
    'unsupported',
    'a kind that is not served is something else',
  );
});

test('apply reports created, changed, and same, and overrides only our own fields', async () => {
  let there: (KubeObject & Record<string, unknown>) | undefined;
  let version = 1;
  await using api = await startKubeApi(({ method, body }) => {
    if (method === 'GET')
      return there === undefined
        ? statusReply(404, 'NotFound', 'no', { name: 'm', kind: 'configmaps' })
        : { body: there };
    const object = body as KubeObject;
    there = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: 'u',
        resourceVersion: String(++version),
        managedFields: [{ time: String(version) }],
      },
    };
    return { body: there };
  });
  const cluster = await opened(api);
  assert.equal((await cluster.apply(map('m', { a: '1' }))).change, 'created');
  assert.equal((await cluster.apply(map('m', { a: '1' }))).change, 'same');
  assert.equal((await cluster.apply(map('m', { a: '2' }), { dryRun: true })).change, 'changed');
  const last = api.requests.at(-1);
  assert.deepEqual(
    [last?.method, last?.headers['content-type'], Object.fromEntries(last?.query ?? [])],
    ['PATCH', 'application/apply-patch+yaml', { fieldManager: 'rollout-studio', dryRun: 'All' }],
  );

  const conflict = (manager: string) =>
    statusReply(409, 'Conflict', 'Apply failed with 1 conflict', {
      causes: [{ reason: 'FieldManagerConflict', message: `conflict with "${manager}" using v1`, field: '.data.a' }],
    });
  api.answer = ({ method }) => (method === 'GET' ? { body: map('m') } : conflict('kubectl-edit'));
  const error = await thrown(cluster.apply(map('m')));
  assert.equal(error.code, 'conflict');
  assert.match(error.message, /kubectl-edit set \.data\.a to another value/);
  assert.equal(api.requests.filter((request) => request.query.has('force')).length, 0);
  api.answer = ({ method, query }) =>
    method === 'GET' || query.get('force') === 'true' ? { body: map('m') } : conflict('rollout-studio');
  assert.equal((await cluster.apply(map('m'))).change, 'same');
});

test('an expired token is read again from the kubeconfig, once', async () => {
  await using api = await startKubeApi(({ headers }) =>
    headers.authorization === 'Bearer second-token'
      ? { body: map('m') }
      : statusReply(401, 'Unauthorized', 'Unauthorized'),
  );
  const cluster = await opened(api);
  const error = await thrown(cluster.get('ConfigMap', 'm'));
  assert.equal(error.code, 'unauthorized');
  assert.match(error.hint ?? '', /log in to the cluster again/);
  assert.equal(api.requests.length, 2);
  await writeFile(api.kubeconfig, kubeconfigText(api.url, 'second-token'));
  assert.equal((await cluster.get('ConfigMap', 'm'))?.metadata.name, 'm');
  api.answer = () =>
    ({
      ...(statusReply(401, 'Unauthorized', 'Unauthorized') as object),
      headers: { date: new Date(Date.now() + 3 * 3600e3).toUTCString() },
    }) as never;
  assert.match((await thrown(cluster.get('ConfigMap', 'm'))).hint ?? '', /clock is 3 hours behind/);
});

test('every refusal has a hint', async () => {
  await using api = await startKubeApi();
  const cluster = await opened(api);
  const refused = async (
    reply: ReturnType<typeof statusReply>,
    call: () => Promise<unknown> = () => cluster.create(map('m')),
  ): Promise<StudioError> => {
    api.answer = () => reply;
    return thrown(call());
  };
  const forbidden = await refused(
    statusReply(
      403,
      'Forbidden',
      'jobs.batch "j" is forbidden: User "system:serviceaccount:ns:sa" cannot create resource "jobs" in API ' +
        'group "batch" in the namespace "ns"',
    ),
    () => cluster.apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' } }),
  );
  assert.equal(forbidden.code, 'forbidden');
  assert.equal(forbidden.message, 'The account system:serviceaccount:ns:sa may not create jobs in namespace ns.');
  assert.match(forbidden.hint ?? '', /\{apiGroups: \["batch"\], resources: \["jobs"\], verbs: \["create"\]\}/);

  const quota = await refused(
    statusReply(
      403,
      'Forbidden',
      'pods "p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2',
    ),
  );
  assert.ok(isQuota(quota) && !isQuota(forbidden));
  assert.match(quota.message, /exceeded quota: small/);
  const missing = await refused(
    statusReply(404, 'NotFound', 'namespaces "ns" not found', { name: 'ns', kind: 'namespaces' }),
  );
  assert.equal(missing.message, 'The namespace ns does not exist.');
  assert.equal((await refused(statusReply(409, 'AlreadyExists', 'exists'))).code, 'conflict');
  assert.equal((await refused(statusReply(422, 'Invalid', 'spec.x: Required value'))).code, 'config');
  assert.equal((await refused(statusReply(500, 'InternalError', 'etcd'))).code, 'unavailable');
  assert.match((await refused({ body: '<html>' })).message, /a response that is not JSON/);
});

test('an unreachable cluster and a missing answer are reported as such', async () => {
  const api = await startKubeApi(() => () => undefined);
  const cluster = await opened(api);
  const cancel = new AbortController();
  const waiting = thrown(cluster.version(cancel.signal));
  cancel.abort();
  assert.equal((await waiting).code, 'cancelled');
  const late = await thrown(cluster.version(AbortSignal.timeout(50)));
  assert.equal(late.code, 'unavailable');
  assert.match(late.message, /does not respond/);
  await api[Symbol.asyncDispose]();
  const away = await thrown(cluster.version());
  assert.equal(away.code, 'unavailable');
  assert.match(away.message, /Cannot reach the API server of test .*: nothing listens on that port/);
});

test('may checks the group and the subresource', async () => {
  await using api = await startKubeApi(({ path, body }) => ({
    body:
      path === '/version'
        ? { gitVersion: 'v1.34.4' }
        : {
            status: {
              allowed:
                (body as { spec: { resourceAttributes: { group: string } } }).spec.resourceAttributes.group === 'batch',
            },
          },
  }));
  const cluster = await opened(api);
  assert.equal(await cluster.isAllowed('create', 'jobs'), true);
  assert.equal(await cluster.isAllowed('get', 'pods/log', { namespace: 'all' }), false);
  assert.deepEqual((api.requests[1]?.body as { spec: unknown }).spec, {
    resourceAttributes: { verb: 'get', group: '', resource: 'pods', subresource: 'log' },
  });
  const version = await cluster.version();
  assert.equal(version.git, 'v1.34.4');
  assert.ok(Math.abs(version.skewSeconds ?? 99) <= 1);
});

test('a log is empty if the container has not written anything, and absent if it has not started', async () => {
  await using api = await startKubeApi(({ path }) =>
    path.includes('/empty/') ? (response) => response.end() : statusReply(400, 'BadRequest', 'is waiting to start'),
  );
  const cluster = await opened(api);
  assert.equal(await cluster.log('empty', { container: 'worker' }), '');
  assert.equal(await cluster.log('pending', { container: 'worker' }), undefined);
});

test('a request that the API server puts off is sent again after the time that it says, a few times', async () => {
  const later = { status: 429, body: { kind: 'Status', message: 'storage is (re)initializing' } };
  let refusals = 2;
  await using api = await startKubeApi(() => {
    if (refusals-- > 0) return { ...later, headers: { 'retry-after': '0' } };
    return { body: map('m') };
  });
  const cluster = await opened(api);
  assert.equal((await cluster.get('ConfigMap', 'm'))?.metadata.name, 'm');
  assert.equal(api.requests.length, 3);
  refusals = Number.POSITIVE_INFINITY;
  assert.match((await thrown(cluster.get('ConfigMap', 'm'))).message, /429/);
  assert.equal(api.requests.length, 3 + 6);
  cluster.close();
});
