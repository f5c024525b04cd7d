import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EndpointSlice } from '../../../../src/kubernetes/access/objects.ts';
import { findReplicas, HEADLESS_LABEL } from '../../../../src/kubernetes/endpoints/findReplicas.ts';
import { serviceOf } from '../../../../src/kubernetes/endpoints/serviceName.ts';
import { labels } from '../../../../src/kubernetes/names.ts';

const ENDPOINT = 'http://models.lab.svc:8000/v1';
type Endpoint = NonNullable<EndpointSlice['endpoints']>[number];

function slice(
  endpoints: Endpoint[],
  more: Partial<EndpointSlice> & { labels?: Record<string, string> } = {},
): EndpointSlice {
  const { labels: own = { [HEADLESS_LABEL]: '' }, ...rest } = more;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'models-x', labels: own },
    addressType: 'IPv4',
    endpoints,
    ports: [{ name: 'http', protocol: 'TCP', port: 8000 }],
    ...rest,
  };
}

function pod(name: string, address: string, conditions?: Endpoint['conditions']): Endpoint {
  return {
    addresses: [address],
    ...(conditions === undefined ? {} : { conditions }),
    targetRef: { kind: 'Pod', name, uid: `uid of ${name}` },
  };
}

const urls = (slices: EndpointSlice[], endpoint = ENDPOINT): string[] | undefined =>
  findReplicas(endpoint, slices)?.ready.map(({ url }) => url);

describe('the Service an endpoint names', () => {
  it('is one of the namespace, called as pods call it', () => {
    const named = [
      'http://models:8000/v1',
      'http://models.lab/v1',
      ENDPOINT,
      'http://models.lab.svc.cluster.local:80/v1',
      'http://models.lab.svc.cluster.local./v1',
      'http://me:key@models/v1',
    ];
    for (const endpoint of named) assert.equal(serviceOf(endpoint, 'lab'), 'models', endpoint);
  });

  it('is not an address, a name of another namespace, or a host whose certificate is for the name', () => {
    const none = [
      'http://models.other:8000/v1',
      'http://models.lab.example.com/v1',
      'http://10.0.0.1:8000/v1',
      'http://[fd00::1]:8000/v1',
      'http://localhost:8000/v1',
      'https://models.lab.svc/v1',
      'demo:?latency_ms=5',
      '${env:VLLM_URL}',
      'http://${env:HOST}:8000/v1',
      'http://api.models.lab.svc/v1',
    ];
    for (const endpoint of none) assert.equal(serviceOf(endpoint, 'lab'), undefined, endpoint);
  });
});

describe('replicas', () => {
  it('are those that serve and are not terminating', () => {
    const all = slice([
      pod('a', '10.0.0.1', { ready: true, serving: true, terminating: false }),
      pod('b', '10.0.0.2'),
      pod('starts', '10.0.0.3', { ready: false, serving: false, terminating: false }),
      pod('ends', '10.0.0.4', { ready: false, serving: true, terminating: true }),
      pod('published though not ready', '10.0.0.5', { ready: true, serving: false }),
      pod('older cluster', '10.0.0.6', { ready: false }),
    ]);
    assert.deepEqual(findReplicas(ENDPOINT, [all])?.ready, [
      { url: 'http://10.0.0.1:8000/v1', name: 'a', id: 'uid of a' },
      { url: 'http://10.0.0.2:8000/v1', name: 'b', id: 'uid of b' },
    ]);
  });

  it('drain while they are terminating and serve', () => {
    const all = slice([
      pod('ends', '10.0.0.1', { ready: false, serving: true, terminating: true }),
      pod('published though it ends', '10.0.0.2', { ready: true, serving: true, terminating: true }),
      pod('has ended', '10.0.0.3', { ready: false, serving: false, terminating: true }),
      pod('older cluster', '10.0.0.4', { ready: false, terminating: true }),
    ]);
    assert.deepEqual(findReplicas(ENDPOINT, [all]), {
      ready: [],
      draining: new Set(['uid of ends', 'uid of published though it ends']),
    });
  });

  it('of a Service with its own address are called only where it asks for that', () => {
    const endpoints = [pod('a', '10.0.0.1')];
    assert.equal(urls([slice(endpoints, { labels: {} })]), undefined);
    assert.deepEqual(urls([slice(endpoints, { labels: labels('vllm') })]), ['http://10.0.0.1:8000/v1']);
    assert.equal(urls([]), undefined, 'no such Service');
    assert.deepEqual(urls([slice([])]), [], 'there is one, and none of its pods is ready');
    assert.deepEqual(urls([slice([], { endpoints: null, ports: null })]), []);
  });

  it('of many slices are one list, each pod once', () => {
    const four = slice([pod('a', '10.0.0.1'), pod('b', '10.0.0.2', { ready: false })]);
    const moved = slice([pod('a', '10.0.0.1'), pod('b', '10.0.0.2')]);
    const six = slice([pod('a', 'fd00::1'), pod('c', 'fd00::3')], { addressType: 'IPv6' });
    assert.deepEqual(urls([six, four, moved]), [
      'http://10.0.0.1:8000/v1',
      'http://10.0.0.2:8000/v1',
      'http://[fd00::3]:8000/v1',
    ]);
    const [byHand] = findReplicas(ENDPOINT, [slice([{ addresses: ['10.0.0.9'] }])])?.ready ?? [];
    assert.equal(byHand?.name, '10.0.0.9:8000', 'nobody says which pod it is');
  });

  it('are called at the port of their pods', () => {
    const endpoints = [pod('a', '10.0.0.1')];
    const at = (ports: EndpointSlice['ports'], endpoint = ENDPOINT): string | undefined =>
      urls([slice(endpoints, { ports })], endpoint)?.[0];
    assert.equal(
      at([
        { name: 'metrics', port: 9000 },
        { name: 'api', port: 8000 },
      ]),
      'http://10.0.0.1:8000/v1',
    );
    assert.equal(at([{ name: 'api', port: 8080 }], 'http://models/v1'), 'http://10.0.0.1:8080/v1', 'the only one');
    assert.equal(
      at(
        [
          { name: 'metrics', port: 9000 },
          { name: 'http', port: 8080 },
        ],
        'http://models/v1',
      ),
      'http://10.0.0.1:8080/v1',
      'by its name',
    );
    assert.equal(
      at([
        { name: 'udp', protocol: 'UDP', port: 8000 },
        { name: 'api', port: 8080 },
      ]),
      'http://10.0.0.1:8080/v1',
    );
    assert.equal(at([]), 'http://10.0.0.1:8000/v1', 'no conditions');
    assert.equal(at([{}]), 'http://10.0.0.1:8000/v1', 'all');
    assert.equal(
      at([
        { name: 'a', port: 1 },
        { name: 'b', port: 2 },
      ]),
      undefined,
      'nobody knows: it is called by its name',
    );
    assert.equal(
      at([{ name: 'api', port: 80 }], 'http://me:k^y@models:/api/v1/?key=1#x@y'),
      'http://me:k^y@10.0.0.1:80/api/v1/?key=1#x@y',
    );
  });
});
