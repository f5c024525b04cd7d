import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Submission } from '../../../src/config/submission.ts';
import { BatchNetwork } from '../../../src/executor/kubernetes/batchNetwork.ts';
import type { EndpointSlice } from '../../../src/kubernetes/access/objects.ts';
import type { EgressRule } from '../../../src/kubernetes/network/peers.ts';

const model = (...endpoints: string[]) => ({ endpoints });

/** Names much on the network: two models, a judge, MCP servers, and services of built-in tools. */
const SUBMISSION = {
  agent: {
    name: 'desk',
    model: model('${env:VLLM_URL}', 'http://vllm:8000/v1', 'demo:'),
    tools: [
      { kind: 'mcp', server: { url: 'https://tools.example.org/mcp', headers: {} } },
      { kind: 'mcp', server: { command: 'uvx', args: ['http://not-an-address'], env: {} } },
      {
        kind: 'builtin',
        name: 'web',
        settings: { search: { provider: 'searxng', url: 'http://search.tools.svc:8888' } },
      },
    ],
    team: {
      kind: 'leader',
      members: [{ name: 'm', agent: { name: 'm', model: model('http://10.0.0.9/v1'), tools: [] } }],
    },
  },
  scorer: { kind: 'judge', model: model('http://[2001:db8::1]:9000/v1') },
  notify: { url: 'https://hooks.example.org/${env:HOOK}' },
} as unknown as Submission;
const SECRETS = { VLLM_URL: 'https://models.example.org:8443/v1', HOOK: 'secret' };
const SLICES = [{ ports: [{ port: 8000 }, { port: 8001 }] }, { ports: null }] as unknown as readonly EndpointSlice[];

function kit(addresses: Record<string, string[]>) {
  let time = 0;
  const asked: string[] = [];
  const network = new BatchNetwork({
    namespace: 'team',
    slices: (label, service) => {
      asked.push(`${label}=${service}`);
      return Promise.resolve(service === 'vllm' ? SLICES : []);
    },
    resolve: (host) =>
      addresses[host] === undefined ? Promise.reject(new Error(`no ${host}`)) : Promise.resolve(addresses[host]),
    now: () => time,
  });
  return { network, asked, addresses, pass: (ms: number) => (time += ms) };
}

const texts = (rules: readonly EgressRule[]): string[] =>
  rules
    .flatMap(({ to, ports = [] }) =>
      to.map(
        ({ ipBlock, namespaceSelector, podSelector }) =>
          (ipBlock?.cidr ??
            (namespaceSelector === undefined
              ? `pods ${JSON.stringify(podSelector)}`
              : `namespace ${namespaceSelector.matchLabels?.['kubernetes.io/metadata.name'] ?? '*'}`)) +
          ` ${ports.map(({ port }) => port).join(',')}`,
      ),
    )
    .sort();

describe('what a batch may reach', () => {
  it('is the server and what its submission names, at the ports it names', async () => {
    const { network, asked } = kit({
      'models.example.org': ['203.0.113.7', '203.0.113.8'],
      'tools.example.org': ['203.0.113.9'],
      'hooks.example.org': ['203.0.113.10'],
      'search.tools.svc': ['10.96.0.7'],
      'rollout.example.org': ['203.0.113.1'],
    });
    const { workers, server } = await network.rules(SUBMISSION, SECRETS, ['https://rollout.example.org']);
    const models = [
      '10.0.0.9/32 80',
      '2001:db8::1/128 9000',
      '203.0.113.7/32 8443',
      '203.0.113.8/32 8443',
      'pods {} 8000,8001',
    ];
    assert.deepEqual(
      texts(workers),
      [...models, '10.96.0.7/32 8888', '203.0.113.1/32 443', '203.0.113.9/32 443', 'namespace tools 8888'].sort(),
    );
    assert.deepEqual(texts(server), [...models, '203.0.113.10/32 443'].sort());
    assert.ok(asked.every((text) => text === 'kubernetes.io/service-name=vllm'));
    assert.ok(!JSON.stringify([workers, server]).includes('secret'));
  });

  it('never is an address of metadata, whatever a name leads to', async () => {
    const { network } = kit({ 'models.example.org': ['169.254.169.254', '127.0.0.1', 'fd00:ec2::254'] });
    const only = { ...SUBMISSION, agent: { model: model('http://models.example.org/v1'), tools: [] }, scorer: {} };
    delete (only as { notify?: unknown }).notify;
    const { workers } = await network.rules(only as unknown as Submission, {}, []);
    assert.deepEqual(workers, []);
  });

  it('follows names, and keeps their earlier addresses for a while', async () => {
    const { network, addresses, pass } = kit({ 'models.example.org': ['203.0.113.7'] });
    const only = {
      agent: { model: model('http://models.example.org/v1'), tools: [] },
      scorer: {},
    } as unknown as Submission;
    const now = async (): Promise<string[]> => texts((await network.rules(only, {}, [])).workers);
    assert.deepEqual(await now(), ['203.0.113.7/32 80']);
    pass(60_000);
    addresses['models.example.org'] = ['203.0.113.8'];
    assert.deepEqual(await now(), ['203.0.113.7/32 80', '203.0.113.8/32 80']);
    pass(20 * 60_000);
    delete addresses['models.example.org'];
    assert.deepEqual(await now(), ['203.0.113.7/32 80', '203.0.113.8/32 80'], 'while it cannot be resolved, too');
    addresses['models.example.org'] = ['203.0.113.8'];
    pass(10 * 60_000);
    assert.deepEqual(await now(), ['203.0.113.8/32 80']);
  });
});
