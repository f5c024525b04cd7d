/** Which connections the network policies of an installation and of its batches allow: these, and no others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchPolicies } from '../../../../src/executor/kubernetes/batchNetwork.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { type InstallInput, resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { batchLabels, labels } from '../../../../src/kubernetes/names.ts';
import { type End, isAllowed, selecting } from '../../../support/networkRules.ts';

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };
const MODEL_IP = '203.0.113.7';

const ours = (own: Record<string, string>): End => ({ namespace: 'team', labels: own });
const ENDS = {
  server: ours(labels('server')),
  worker: ours(batchLabels('b1')),
  other_worker: ours(batchLabels('b2')),
  vllm: ours(labels('vllm')),
  database: ours({ app: 'postgres' }),
  foreign: { namespace: 'elsewhere', labels: { app: 'any' } },
  dns: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  models: { namespace: 'models', labels: { app: 'llm' } },
  monitoring: { namespace: 'monitoring', labels: { app: 'prometheus' } },
  node_dns: { ip: '169.254.20.10' },
  api: { ip: '10.0.0.1' },
  model: { ip: MODEL_IP },
  internet: { ip: '198.51.100.9' },
  metadata: { ip: '169.254.169.254' },
  pod_identity: { ip: '169.254.170.23' },
  azure: { ip: '168.63.129.16' },
  metadata_v6: { ip: 'fd00:ec2::254' },
} satisfies Record<string, End>;
type Name = keyof typeof ENDS;

/** The policies of an installation, and of the batch b1, which names a model at MODEL_IP:8000. */
function policies(input: InstallInput = {}): KubeObject[] {
  const rules = [{ to: [{ ipBlock: { cidr: `${MODEL_IP}/32` } }], ports: [{ protocol: 'TCP' as const, port: 8000 }] }];
  return [
    ...manifests(resolveOptions(input), ARCHIVE, 'team').filter(({ kind }) => kind === 'NetworkPolicy'),
    ...batchPolicies('b1', { workers: rules, server: rules }, (name) => ({ name, namespace: 'team' })),
  ];
}

const PORTS = [53, 80, 443, 4318, 5432, 6443, 8000, 8080];

/** Every allowed connection that begins or ends at a pod of ours. */
function allowed(all: readonly KubeObject[]): string[] {
  const own: Name[] = ['server', 'worker', 'other_worker', 'vllm'];
  const names = Object.keys(ENDS) as Name[];
  return names.flatMap((from) =>
    names.flatMap((to) =>
      from === to || !(own.includes(from) || own.includes(to))
        ? []
        : PORTS.filter((port) => isAllowed(all, ENDS[from], ENDS[to], port)).map((port) => `${from} ${to} ${port}`),
    ),
  );
}

const names = (from: Name, to: Name, ...ports: number[]): string[] => ports.map((port) => `${from} ${to} ${port}`);
/** What every pod of ours may reach. */
const dns = (from: Name): string[] =>
  (['database', 'foreign', 'dns', 'models', 'monitoring', 'node_dns'] as const).flatMap((to) => names(from, to, 53));
const outside: Name[] = ['api', 'model', 'internet'];

const MINIMUM = [
  ...dns('server'),
  ...outside.flatMap((to) => names('server', to, 443, 6443)),
  ...names('server', 'model', 8000),
  ...dns('worker'),
  ...names('worker', 'server', 8080),
  ...names('worker', 'model', 8000),
  ...dns('other_worker'),
  ...names('other_worker', 'server', 8080),
];
const sorted = (list: readonly string[]): string[] => [...new Set(list)].sort();

describe('the network policies', () => {
  it('allow what an installation and a batch need', () => {
    assert.deepEqual(sorted(allowed(policies())), sorted([...MINIMUM, ...dns('vllm')]));
  });

  it('select each pod of ours, and no other', () => {
    const all = policies({ vllm: { model: 'org/model' } });
    const found = Object.fromEntries(
      (['server', 'worker', 'other_worker', 'vllm', 'database', 'foreign', 'dns'] as const).map((name) => [
        name,
        selecting(all, ENDS[name]).sort(),
      ]),
    );
    assert.deepEqual(found, {
      server: ['rollout-b1-server', 'rollout-studio', 'rollout-studio-pods'],
      worker: ['rollout-b1', 'rollout-studio-pods', 'rollout-studio-worker'],
      other_worker: ['rollout-studio-pods', 'rollout-studio-worker'],
      vllm: ['rollout-studio-pods', 'rollout-studio-vllm'],
      database: [],
      foreign: [],
      dns: [],
    });
  });

  it('open the model of the installation to workers and the server only', () => {
    const all = policies({ vllm: { model: 'org/model' } });
    const to = allowed(all).filter((text) => text.split(' ')[1] === 'vllm');
    assert.deepEqual(to.sort(), ['other_worker vllm 8000', 'server vllm 8000', 'worker vllm 8000']);
    const from = allowed(all).filter((text) => text.startsWith('vllm '));
    assert.deepEqual(sorted(from), sorted([...dns('vllm'), ...outside.flatMap((to) => names('vllm', to, 443))]));
    const offline = allowed(policies({ vllm: { model: '/models/own' } })).filter((text) => text.startsWith('vllm '));
    assert.deepEqual(sorted(offline), sorted(dns('vllm')));
  });

  it('open the ports of a database and of a collector to the server only', () => {
    const more = (input: InstallInput): string[] => {
      const before = new Set(allowed(policies()));
      return allowed(policies(input)).filter((text) => !before.has(text));
    };
    assert.deepEqual(
      sorted(more({ storage: 'postgres:db' })),
      sorted(outside.flatMap((to) => names('server', to, 5432))),
    );
    assert.deepEqual(
      sorted(more({ otlp: 'http://collector:4318' })),
      sorted(outside.flatMap((to) => names('server', to, 4318))),
    );
    assert.deepEqual(more({ allowIngress: ['namespace:monitoring'] }), ['monitoring server 8080']);
  });

  it('open what is allowed, but never the addresses of metadata', () => {
    const all = policies({
      vllm: { model: 'org/model' },
      allowEgress: ['0.0.0.0/0', '::/0', 'namespace:models:8000', '169.254.0.0/16'],
    });
    for (const from of ['server', 'worker', 'other_worker', 'vllm'] as const) {
      for (const port of PORTS) {
        assert.ok(isAllowed(all, ENDS[from], ENDS.internet, port), `${from} ${port}`);
        for (const to of ['metadata', 'pod_identity', 'azure', 'metadata_v6'] as const)
          assert.ok(!isAllowed(all, ENDS[from], ENDS[to], port), `${from} ${to} ${port}`);
      }
      assert.deepEqual(
        [8000, 80].map((port) => isAllowed(all, ENDS[from], ENDS.models, port)),
        [true, false],
      );
    }
  });
});
