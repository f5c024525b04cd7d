import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Cluster } from '../../../../src/kubernetes/access/cluster.ts';
import { HEADLESS_LABEL } from '../../../../src/kubernetes/endpoints/findReplicas.ts';
import { SliceReplicas } from '../../../../src/kubernetes/endpoints/sliceReplicas.ts';
import { type KubeReply, startKubeApi, statusReply } from '../../../support/kubeApi.ts';

const DRAINING = '.9';
const slice = (version: string, name: string, ...addresses: string[]) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: version, labels: { [HEADLESS_LABEL]: '' } },
  addressType: 'IPv4',
  endpoints: addresses.map((address) => ({
    addresses: [address],
    conditions: { ready: true, serving: true, terminating: address.endsWith(DRAINING) },
    targetRef: { kind: 'Pod', name: `pod-${address}` },
  })),
  ports: [{ port: 8000 }],
});
const list = (...items: unknown[]): KubeReply => ({ body: { metadata: { resourceVersion: '1' }, items } });

/** The reported replicas, in order. */
function news() {
  const reports: string[] = [];
  let wake: (() => void) | undefined;
  return {
    report: (text: string) => {
      reports.push(text);
      wake?.();
    },
    until: async (count: number): Promise<string[]> => {
      while (reports.length < count) await new Promise<void>((resolve) => (wake = resolve));
      return reports;
    },
  };
}

test('changes in the slices of a Service are reported as changes of its replicas', async () => {
  let watch: ServerResponse | undefined;
  await using api = await startKubeApi(({ query }) => {
    if (query.get('watch') === null) return list(slice('1', 'a', '10.0.0.1'));
    return (response) => {
      watch = response;
      response.writeHead(200);
      for (const event of [
        ['ADDED', slice('2', 'b', '10.0.0.2')],
        ['MODIFIED', slice('3', 'b', '10.0.0.2')],
        ['DELETED', slice('4', 'a', '10.0.0.1')],
        ['MODIFIED', slice('5', 'b')],
        ['MODIFIED', slice('6', 'b', '10.0.0.9')],
        ['DELETED', slice('7', 'b')],
      ] as const) {
        response.write(`${JSON.stringify({ type: event[0], object: event[1] })}\n`);
      }
    };
  });
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const { report, until } = news();
  const source = new SliceReplicas({ cluster, log: () => undefined });
  assert.equal(
    source.follow('http://models.elsewhere.svc/v1', () => undefined),
    undefined,
  );
  assert.equal(api.requests.length, 0);
  const stop = source.follow('http://models:8000/v1', (replicas) =>
    report(
      replicas === undefined
        ? 'one place'
        : `${replicas.ready.map(({ name }) => name).join(' ')}; ${[...replicas.draining].join(' ')}`,
    ),
  );
  assert.deepEqual(await until(6), [
    'pod-10.0.0.1; ',
    'pod-10.0.0.1 pod-10.0.0.2; ',
    'pod-10.0.0.2; ',
    '; ',
    '; pod-10.0.0.9',
    'one place',
  ]);
  assert.deepEqual(
    api.requests.map(({ path, query }) => [path, query.get('labelSelector')]),
    Array.from({ length: 2 }, () => [
      '/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices',
      'kubernetes.io/service-name=models',
    ]),
  );
  assert.ok(watch !== undefined && stop !== undefined);
  const closed = once(watch, 'close');
  stop();
  await closed;
  cluster.close();
});

test('a missing right leaves the endpoint unchanged, and is logged once', async () => {
  await using api = await startKubeApi(() => statusReply(403, 'Forbidden', 'endpointslices is forbidden'));
  const cluster = await Cluster.open({ kubeconfig: api.kubeconfig });
  const { report, until } = news();
  const source = new SliceReplicas({ cluster, log: (text, about) => report(`${about?.level ?? ''}: ${text}`) });
  const stop = source.follow('http://models:8000/v1', () => assert.fail('no replicas were found'));
  assert.match((await until(1))[0] ?? '', /^warning: finding the replicas of models failed: .*endpointslices/);
  stop?.();
  cluster.close();
});
