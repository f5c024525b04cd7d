/** The rules of the pod security level `restricted`, for every pod that we render: no cluster is asked. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchJob } from '../../../src/executor/kubernetes/jobManifest.ts';
import { manifests } from '../../../src/kubernetes/install/manifests/all.ts';
import { type InstallInput, podSecurityLevel, resolveOptions } from '../../../src/kubernetes/install/options.ts';
import { missingPodSecurity, podSecurityLabels } from '../../../src/kubernetes/security/podSecurity.ts';

interface Container {
  readonly name: string;
  readonly securityContext?: Record<string, unknown>;
  readonly ports?: readonly { hostPort?: number }[];
}
interface PodSpec {
  readonly securityContext?: Record<string, unknown>;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes: readonly Record<string, unknown>[];
  readonly automountServiceAccountToken?: boolean;
  readonly [more: string]: unknown;
}

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };
/** Volume types of the level. */
const VOLUMES = ['configMap', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected', 'secret'];

function installed(input: InstallInput): [string, PodSpec][] {
  return manifests(resolveOptions(input), ARCHIVE, 'team')
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata, ...object }) => [
      metadata.name,
      (object['spec'] as { template: { spec: PodSpec } }).template.spec,
    ]);
}

function worker(sidecars: Record<string, unknown>[]): PodSpec {
  const object = batchJob({
    batch: 'b1',
    round: 1,
    namespace: 'team',
    pods: { sidecars },
    sizing: { completions: 1, parallelism: 1, slots: 1 },
    image: 'node:24-slim',
    pullPolicy: undefined,
    settled: 0,
    fruitless: 0,
  });
  return (object['spec'] as { template: { spec: PodSpec } }).template.spec;
}

const PODS: [string, PodSpec][] = [
  ...installed({ vllm: { model: 'org/model' } }),
  ...installed({ storage: 'emptyDir', vllm: { model: 'org/model', cache: 'pvc' } }),
  ...installed({ storage: 'postgres:db' }),
  ['worker', worker([])],
  [
    'worker with sidecars',
    worker([
      { name: 'a', image: 'a' },
      { name: 'b', image: 'b', securityContext: { runAsUser: 7 } },
    ]),
  ],
];

describe('every pod passes the level restricted, and writes to limited volumes only', () => {
  for (const [index, [name, spec]] of PODS.entries())
    it(`${index} ${name}`, () => {
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace'])
        assert.equal(spec[field], undefined, field);
      assert.equal(
        spec.automountServiceAccountToken,
        name === 'rollout-studio',
        'only the server has an account token',
      );
      for (const volume of spec.volumes) {
        const [type = '', ...others] = Object.keys(volume).filter((key) => key !== 'name');
        assert.ok(VOLUMES.includes(type) && others.length === 0, JSON.stringify(volume));
        if (type === 'emptyDir')
          assert.match(
            (volume['emptyDir'] as { sizeLimit?: string }).sizeLimit ?? '',
            /^\d+[MG]i$/,
            JSON.stringify(volume),
          );
      }
      for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
        const security = container.securityContext ?? {};
        const either = (field: string): unknown => security[field] ?? spec.securityContext?.[field];
        assert.deepEqual(
          [security['allowPrivilegeEscalation'], security['readOnlyRootFilesystem'], security['privileged']],
          [false, true, undefined],
          container.name,
        );
        assert.deepEqual(security['capabilities'], { drop: ['ALL'] }, container.name);
        assert.equal(either('runAsNonRoot'), true, container.name);
        assert.notEqual(either('runAsUser'), 0, container.name);
        assert.deepEqual(either('seccompProfile'), { type: 'RuntimeDefault' }, container.name);
        for (const { hostPort } of container.ports ?? []) assert.equal(hostPort, undefined);
      }
    });
});

describe('a namespace that install creates', () => {
  it('enforces the strictest level that the storage allows', () => {
    assert.equal(podSecurityLevel(resolveOptions({})), 'restricted');
    assert.equal(podSecurityLevel(resolveOptions({ storage: 'hostPath:/data' })), 'privileged');
    assert.equal(podSecurityLevel(resolveOptions({ vllm: { model: 'm', cache: 'hostPath:/models' } })), 'privileged');
    assert.equal(podSecurityLevel(resolveOptions({ podSecurity: 'baseline' })), 'baseline');
    assert.throws(
      () => resolveOptions({ storage: 'hostPath:/data', podSecurity: 'restricted' }),
      /refused at the pod security level restricted/,
    );
    assert.throws(() => resolveOptions({ podSecurity: 'none' as 'restricted' }), /^StudioError: --pod-security: /);
  });

  it('warns and audits at restricted whatever it enforces', () => {
    assert.deepEqual(missingPodSecurity(podSecurityLabels('restricted')), []);
    assert.deepEqual(missingPodSecurity(podSecurityLabels('privileged')), [
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
    assert.equal(missingPodSecurity({}).length, 3);
  });
});
