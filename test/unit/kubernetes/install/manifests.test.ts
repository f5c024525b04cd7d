/** The manifests of an installation: what must hold for all of them, and the effect of options. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { RULES } from '../../../../src/kubernetes/install/manifests/rights.ts';
import { type InstallInput, resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { newTokens } from '../../../../src/kubernetes/install/tokens.ts';
import { modelUrl } from '../../../../src/kubernetes/install/vllm/models.ts';
import { identityBinding } from '../../../../src/kubernetes/names.ts';

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };

interface Spec {
  replicas: number;
  strategy: { type: string };
  selector: { matchLabels: Record<string, string> };
  template: { metadata: { labels: Record<string, string>; annotations?: Record<string, string> }; spec: PodSpec };
}
interface PodSpec {
  containers: [Container];
  initContainers?: Container[];
  volumes: Record<string, unknown>[];
  securityContext: Record<string, unknown>;
  [more: string]: unknown;
}
interface Container {
  command: string[];
  args: string[];
  env: { name: string; value?: string; valueFrom?: unknown }[];
  volumeMounts: { name: string; mountPath: string }[];
  securityContext: Record<string, unknown>;
  [more: string]: unknown;
}

function create(input: InstallInput): KubeObject[] {
  return manifests(resolveOptions(input), ARCHIVE, 'team');
}

function find(objects: readonly KubeObject[], kind: string, name = 'rollout-studio'): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found !== undefined, `${kind} ${name}`);
  return found;
}

function specOf(objects: readonly KubeObject[], name?: string): Spec {
  return find(objects, 'Deployment', name)['spec'] as Spec;
}

function server(input: InstallInput): PodSpec {
  return specOf(create(input)).template.spec;
}

function option(container: Container, name: string): string | undefined {
  const at = container.args.indexOf(name);
  return at === -1 ? undefined : container.args[at + 1];
}

const PODS: NonNullable<InstallInput['pods']> = {
  server: {
    node_selector: { pool: 'system' },
    tolerations: [{ key: 'system', operator: 'Exists' }],
    priority_class: 'high',
    labels: { team: 'research' },
    annotations: { 'example.org/owner': 'research' },
    service_account: 'cloud',
    image_pull_secrets: ['mirror'],
    spread: 'required',
    requests: { cpu: '2' },
    limits: { memory: '8Gi' },
  },
  workers: { tolerations: [{ key: 'spot', operator: 'Exists' }], image_pull_secrets: ['mirror'], grace_seconds: 120 },
  vllm: { tolerations: [{ key: 'gpus', operator: 'Exists' }], requests: { memory: '200Gi' }, spread: 'none' },
};

describe('pods of an installation', () => {
  const objects = create({ pods: PODS, pullSecret: 'registry', storage: 'postgres:db', vllm: { model: 'org/model' } });

  test('are placed as their file says', () => {
    const { metadata, spec } = specOf(objects).template;
    assert.equal(metadata.labels['team'], 'research');
    assert.equal(metadata.annotations?.['example.org/owner'], 'research');
    assert.deepEqual(
      [spec['nodeSelector'], spec['tolerations'], spec['priorityClassName'], spec['imagePullSecrets']],
      [{ pool: 'system' }, [{ key: 'system', operator: 'Exists' }], 'high', [{ name: 'registry' }, { name: 'mirror' }]],
    );
    assert.deepEqual(spec.containers[0]['resources'], { requests: { cpu: '2' }, limits: { memory: '8Gi' } });
    assert.deepEqual(specOf(objects).selector.matchLabels['team'], undefined, 'selectors never change');
    const vllm = specOf(objects, 'rollout-studio-vllm').template.spec;
    assert.deepEqual(vllm['tolerations'], [
      { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' },
      { key: 'gpus', operator: 'Exists' },
    ]);
    assert.deepEqual((vllm.containers[0]['resources'] as { requests: unknown }).requests, {
      cpu: '4',
      memory: '200Gi',
      'nvidia.com/gpu': '1',
    });
    assert.equal(vllm['topologySpreadConstraints'], undefined);
  });

  test('of batches get what the file says for workers', () => {
    const workers = specOf(objects).template.spec.containers[0].env.find(({ name }) => name === 'ROLLOUT_WORKERS');
    assert.deepEqual(JSON.parse(workers?.value ?? ''), PODS.workers);
    assert.deepEqual(find(objects, 'ServiceAccount', 'rollout-studio-worker')['imagePullSecrets'], [
      { name: 'registry' },
      { name: 'mirror' },
    ]);
  });

  test('of the server run as the account that has its rights, and is confined', () => {
    assert.equal(specOf(objects).template.spec['serviceAccountName'], 'cloud');
    assert.deepEqual(find(objects, 'RoleBinding')['subjects'], [
      { kind: 'ServiceAccount', name: 'cloud', namespace: 'team' },
    ]);
    const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    assert.equal(policies.length, 2);
    for (const policy of policies) assert.match(JSON.stringify(policy), /system:serviceaccount:team:cloud'/);
  });

  test('are drained one at a time, and never stop a drain', () => {
    const budgets = (input: InstallInput): string[] =>
      create(input).flatMap((object) => (object.kind === 'PodDisruptionBudget' ? [object.metadata.name] : []));
    assert.deepEqual(budgets({}), []);
    assert.deepEqual(budgets({ storage: 'postgres:db', replicas: 2 }), ['rollout-studio']);
    assert.deepEqual(budgets({ vllm: { model: 'm' } }), ['rollout-studio-vllm']);
    assert.deepEqual(find(objects, 'PodDisruptionBudget')['spec'], {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: specOf(objects).selector.matchLabels },
    });
  });
});

describe('an installation', () => {
  const objects = create({ vllm: { model: 'org/model' } });

  test('is labelled, in its namespace, and found by its selectors', () => {
    for (const { kind, metadata } of [...objects, newTokens('team')]) {
      const place = /^(Validating|Cluster)/.test(kind)
        ? undefined
        : metadata.name === identityBinding('team')
          ? 'kube-system'
          : 'team';
      assert.equal(metadata.namespace, place, kind);
      assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'rollout-studio', kind);
    }
    for (const name of ['rollout-studio', 'rollout-studio-vllm']) {
      const { selector, template } = specOf(objects, name);
      assert.deepEqual(selector.matchLabels, template.metadata.labels);
      assert.deepEqual(
        (find(objects, 'Service', name)['spec'] as { selector: unknown }).selector,
        template.metadata.labels,
      );
    }
    assert.equal(new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size, objects.length);
  });

  test('grants the server rights in its namespace only, one by one, and to ask the cluster for users', () => {
    const account = { kind: 'ServiceAccount', name: 'rollout-studio', namespace: 'team' };
    const asks = objects.filter(({ metadata }) => metadata.name === identityBinding('team'));
    assert.deepEqual(
      asks.map(({ kind, metadata, ...rest }) => [kind, metadata.namespace, rest['roleRef'], rest['subjects']]),
      [
        [
          'ClusterRoleBinding',
          undefined,
          { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' },
          [account],
        ],
        [
          'RoleBinding',
          'kube-system',
          {
            apiGroup: 'rbac.authorization.k8s.io',
            kind: 'Role',
            name: 'extension-apiserver-authentication-reader',
          },
          [account],
        ],
      ],
    );
    assert.equal(objects.filter(({ kind }) => kind.startsWith('Cluster')).length, 1);
    for (const rule of RULES) {
      for (const words of Object.values(rule)) assert.ok(!(words as readonly string[]).includes('*'));
    }
    const mayWrite = RULES.filter(({ verbs }) =>
      verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)),
    ).flatMap(({ resources }) => resources);
    assert.deepEqual(mayWrite, ['jobs', 'pods', 'configmaps', 'secrets', 'networkpolicies']);
    assert.equal(find(objects, 'ServiceAccount', 'rollout-studio-worker')['automountServiceAccountToken'], false);
    assert.deepEqual(find(objects, 'RoleBinding')['subjects'], [account]);
  });

  test('runs without privileges, with secrets only its group reads', () => {
    const pod = specOf(objects).template.spec;
    assert.deepEqual(
      [pod.securityContext['runAsUser'], pod.securityContext['fsGroup'], pod.securityContext['runAsNonRoot']],
      [1000, 1000, true],
    );
    const [{ securityContext }] = pod.containers;
    assert.deepEqual(
      [
        securityContext['allowPrivilegeEscalation'],
        securityContext['readOnlyRootFilesystem'],
        securityContext['capabilities'],
      ],
      [false, true, { drop: ['ALL'] }],
    );
    for (const volume of pod.volumes as { secret?: { defaultMode: number } }[])
      if (volume.secret !== undefined) assert.equal(volume.secret.defaultMode, 0o440);
    const mounted = pod.containers[0].volumeMounts.map(({ name }) => name).sort();
    assert.deepEqual(mounted, pod.volumes.map((volume) => volume['name']).sort());
  });

  test('has no code in ConfigMaps where the programs are in the image', () => {
    const objects = create({ programs: 'image', image: 'r/rollout:1' });
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name),
      ['rollout-studio-options'],
    );
    const pod = specOf(objects).template.spec;
    const [container] = pod.containers;
    assert.deepEqual(container.command.slice(-1), ['/opt/rollout/dist/server.mjs']);
    assert.equal(container.env.find(({ name }) => name === 'ROLLOUT_PROGRAMS')?.value, 'image');
    assert.ok(!pod.volumes.some((volume) => volume['name'] === 'programs'));
    assert.ok(!container.volumeMounts.some(({ name }) => name === 'programs'));
    assert.throws(() => create({ programs: 'image' }), { code: 'usage', message: /does not contain the programs/ });
  });

  test('takes tokens and authority from Secrets that others manage', () => {
    const secrets = (input: InstallInput): unknown[] =>
      (server(input).volumes as { name: string; secret?: { secretName: string } }[]).flatMap(({ name, secret }) =>
        secret === undefined ? [] : [[name, secret.secretName]],
      );
    assert.deepEqual(secrets({}), [
      ['tokens', 'rollout-studio-tokens'],
      ['authority', 'rollout-studio-ca'],
    ]);
    assert.deepEqual(secrets({ tokensSecret: 'vault-tokens', authoritySecret: 'issuer' }), [
      ['tokens', 'vault-tokens'],
      ['authority', 'issuer'],
    ]);
    assert.throws(() => create({ tokensSecret: 'No Name' }), /--tokens-secret: a name of a Secret/);
  });

  test('supports the cluster’s own tools', () => {
    const { metadata, spec } = specOf(create({ port: 9000 })).template;
    assert.deepEqual(
      ['scrape', 'port', 'path'].map((name) => metadata.annotations?.[`prometheus.io/${name}`]),
      ['true', '9000', '/metrics'],
    );
    const [container] = spec.containers;
    assert.deepEqual(
      ['--log', '--metrics', '--otlp'].map((name) => option(container, name)),
      ['json', 'open', undefined],
    );
    assert.equal(option(server({ otlp: 'http://collector:4318' }).containers[0], '--otlp'), 'http://collector:4318');
    assert.throws(() => create({ otlp: 'collector:4318' }), /--otlp: an address like/);
    const [withHeaders] = server({ otlp: 'http://collector:4318', otlpSecret: 'otel' }).containers;
    assert.deepEqual(withHeaders.env.find(({ name }) => name === 'OTEL_EXPORTER_OTLP_HEADERS')?.valueFrom, {
      secretKeyRef: { name: 'otel', key: 'headers' },
    });
  });

  test('has new, distinct tokens each time', () => {
    const [one, other] = [newTokens('team'), newTokens('team')].map(
      (secret) => secret['data'] as { full: string; read: string },
    );
    assert.equal(new Set([one!.full, one!.read, other!.full, other!.read]).size, 4);
    assert.match(Buffer.from(one!.full, 'base64').toString(), /^[0-9a-f]{64}$/);
  });
});

describe('storage', () => {
  test('is a separate volume for SQLite, with one server at a time', () => {
    const objects = create({ storage: 'pvc:fast', storageSize: '5Gi' });
    assert.deepEqual(find(objects, 'PersistentVolumeClaim', 'rollout-studio-store')['spec'], {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '5Gi' } },
      storageClassName: 'fast',
    });
    assert.equal(specOf(objects).strategy.type, 'Recreate');
    const [container] = specOf(objects).template.spec.containers;
    assert.equal(option(container, '--store'), container.volumeMounts.find(({ name }) => name === 'store')?.mountPath);
    assert.ok(
      !('storageClassName' in (find(create({}), 'PersistentVolumeClaim', 'rollout-studio-store')['spec'] as object)),
    );
  });

  test('in a folder of the node is owned by the server', () => {
    const pod = server({ storage: 'hostPath:/data/rollouts' });
    assert.deepEqual(
      pod.volumes.find(({ name }) => name === 'store'),
      { name: 'store', hostPath: { path: '/data/rollouts', type: 'DirectoryOrCreate' } },
    );
    assert.deepEqual(pod.initContainers?.[0]?.securityContext['capabilities'], { drop: ['ALL'], add: ['CHOWN'] });
    assert.equal(server({ storage: 'emptyDir' }).initContainers, undefined);
  });

  test('in PostgreSQL is named by a Secret, and allows several servers', () => {
    const objects = create({ storage: 'postgres:db/dsn', replicas: 3 });
    const {
      replicas,
      strategy,
      template: {
        spec: {
          containers: [container],
        },
      },
    } = specOf(objects);
    // In a variable, because the address may contain a password, which arguments would show.
    assert.deepEqual([replicas, strategy.type, container.args.includes('--store')], [3, 'RollingUpdate', false]);
    assert.deepEqual(container.env.find(({ name }) => name === 'ROLLOUT_STORE')?.valueFrom, {
      secretKeyRef: { name: 'db', key: 'dsn' },
    });
    assert.ok(!objects.some(({ kind }) => kind === 'PersistentVolumeClaim'));
    assert.throws(() => resolveOptions({ storage: 'pvc', replicas: 2 }), { code: 'usage' });
  });
});

describe('options', () => {
  test('reach the server', () => {
    const [container] = server({ port: 9000, image: 'mine:1', pullPolicy: 'Never' }).containers;
    assert.deepEqual(
      [container['image'], container['imagePullPolicy'], option(container, '--port')],
      ['mine:1', 'Never', '9000'],
    );
    assert.deepEqual(
      ['--tls-port', '--advertise', '--advertise-plain'].map((name) => option(container, name)),
      ['8443', 'https://rollout-studio.team.svc:8443', 'http://rollout-studio.team.svc:9000'],
    );
    const [named] = server({ advertise: 'http://127.0.0.1:7' }).containers;
    assert.deepEqual(
      ['--advertise', '--advertise-plain'].map((name) => option(named, name)),
      ['http://127.0.0.1:7', 'http://127.0.0.1:7'],
    );
    assert.equal(container.env.find(({ name }) => name === 'ROLLOUT_IMAGE')?.value, 'mine:1');
    assert.deepEqual(
      find(create({ pullSecret: 'keys' }), 'ServiceAccount', 'rollout-studio-worker')['imagePullSecrets'],
      [{ name: 'keys' }],
    );
  });

  test('are kept by upgrades, except the ones that are passed', () => {
    const installed = resolveOptions({ port: 9000, storage: 'emptyDir', vllm: { model: 'm' } });
    const upgraded = resolveOptions({ image: 'new:2' }, installed);
    assert.deepEqual(
      [upgraded.port, upgraded.storage, upgraded.image, upgraded.vllm?.model],
      [9000, 'emptyDir', 'new:2', 'm'],
    );
    assert.equal(resolveOptions({ vllm: undefined }, installed).vllm, undefined);
    assert.throws(() => resolveOptions({ storage: 'pvc' }, installed), { code: 'conflict' });
  });

  for (const wrong of [
    { storage: 'disk' },
    { storage: 'hostPath:relative' },
    { storage: 'postgres:' },
    { port: 0 },
    { storageSize: 'much' },
    { replicas: 0 },
    { image: '' },
  ]) {
    test(`refused: ${JSON.stringify(wrong)}`, () => {
      assert.throws(() => resolveOptions(wrong), { code: 'usage' });
    });
  }
});

describe('a model', () => {
  test('that plays worlds gets the flags that it needs, unless the options have them', () => {
    const args = (more: Partial<NonNullable<InstallInput['vllm']>> = {}): string[] => {
      const model = 'Qwen/Qwen-AgentWorld-35B-A3B';
      const [container] = specOf(create({ vllm: { model, ...more } }), 'rollout-studio-vllm').template.spec.containers;
      return container.args;
    };
    const text = args().join(' ');
    assert.match(text, /--max-model-len 262144 --reasoning-parser qwen3 --language-model-only --trust-remote-code/);
    const own = args({ reasoningParser: 'other', arguments: ['--max-model-len=65536'] }).join(' ');
    assert.match(own, /--reasoning-parser other .*--language-model-only --trust-remote-code .*--max-model-len=65536$/);
    assert.doesNotMatch(own, /262144|qwen3/);
  });

  test('has adapters by name, a key from a Secret, and weights that exist on a claim', () => {
    const objects = create({
      vllm: {
        model: '/cache/base',
        loras: ['sql=/cache/sql', 'chat=/cache/chat'],
        apiKeySecret: 'key',
        cache: 'claim:weights',
      },
    });
    const { spec } = specOf(objects, 'rollout-studio-vllm').template;
    const [container] = spec.containers;
    const at = container.args.indexOf('--enable-lora');
    assert.deepEqual(container.args.slice(at, at + 4), [
      '--enable-lora',
      '--lora-modules',
      'sql=/cache/sql',
      'chat=/cache/chat',
    ]);
    assert.deepEqual(container.env.find(({ name }) => name === 'VLLM_API_KEY')?.valueFrom, {
      secretKeyRef: { name: 'key', key: 'api-key' },
    });
    assert.deepEqual(spec.volumes.find(({ name }) => name === 'cache')?.['persistentVolumeClaim'], {
      claimName: 'weights',
    });
    assert.equal(
      objects.some(({ kind, metadata }) => kind === 'PersistentVolumeClaim' && /vllm/.test(metadata.name)),
      false,
    );
    assert.throws(() => resolveOptions({ vllm: { model: 'm', loras: ['nameless'] } }), /an adapter like NAME=PATH/);
  });

  test('is upgraded one replica at a time, each after the calls that it answers', () => {
    const deployed = (upgrade?: 'in_place' | 'surge') =>
      specOf(
        create({ vllm: { model: 'm', replicas: 2, ...(upgrade === undefined ? {} : { upgrade }) } }),
        'rollout-studio-vllm',
      );
    const rolling = (unavailable: number, surge: number) => ({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: unavailable, maxSurge: surge },
    });
    assert.deepEqual(deployed().strategy, rolling(1, 0), 'its GPUs are free only after it has ended');
    assert.deepEqual(deployed('surge').strategy, rolling(0, 1));
    const { spec } = deployed().template;
    const { preStop } = spec.containers[0]['lifecycle'] as { preStop: { exec: { command: string[] } } };
    const [lead = 0, limit = 0] = preStop.exec.command.slice(-2).map(Number);
    assert.ok(Number(spec['terminationGracePeriodSeconds']) > lead + limit);
    assert.equal(preStop.exec.command.at(-3), 'http://127.0.0.1:8000');
  });

  test('requests GPUs of the nodes that have them, and reports when it is busy', () => {
    const objects = create({
      vllm: {
        model: 'org/model',
        gpus: 4,
        replicas: 2,
        toolParser: 'hermes',
        reasoningParser: 'qwen3',
        cache: 'pvc',
        tokenSecret: 'hub',
        arguments: ['--max-model-len', '32768'],
      },
    });
    const {
      replicas,
      template: { spec },
    } = specOf(objects, 'rollout-studio-vllm');
    const [container] = spec.containers;
    assert.equal(replicas, 2);
    assert.deepEqual(container['resources'], {
      requests: { cpu: '16', memory: '72Gi', 'nvidia.com/gpu': '4' },
      limits: { 'nvidia.com/gpu': '4' },
    });
    assert.deepEqual(container.command, ['vllm', 'serve', 'org/model']);
    assert.equal(option(container, '--tensor-parallel-size'), '4');
    assert.equal(option(container, '--tool-call-parser'), 'hermes');
    assert.equal(option(container, '--reasoning-parser'), 'qwen3');
    assert.equal(option(container, '--max-num-queued-reqs'), '512');
    for (const expected of [
      '--enable-auto-tool-choice',
      '--enable-per-request-metrics',
      '--enable-prompt-tokens-details',
    ])
      assert.ok(container.args.includes(expected));
    assert.deepEqual(container.args.slice(-2), ['--max-model-len', '32768']);
    assert.match(JSON.stringify(spec['affinity']), /nvidia\.com\/gpu\.product.*NVIDIA-A100-SXM4-80GB/);
    assert.deepEqual(spec.volumes.find(({ name }) => name === 'shm')?.['emptyDir'], {
      medium: 'Memory',
      sizeLimit: '8Gi',
    });
    // Two replicas share one volume.
    assert.deepEqual(
      (find(objects, 'PersistentVolumeClaim', 'rollout-studio-vllm-cache')['spec'] as { accessModes: string[] })
        .accessModes,
      ['ReadWriteMany'],
    );
    assert.equal((find(objects, 'Service', 'rollout-studio-vllm')['spec'] as { clusterIP: string }).clusterIP, 'None');
    assert.equal(modelUrl(undefined, 'team'), 'http://rollout-studio-vllm.team.svc:8000/v1');
  });

  test('is absent by default', () => {
    assert.ok(!create({}).some(({ metadata }) => metadata.name.includes('vllm')));
  });
});
