import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { batchConfigMap, batchJob, batchSecret, type JobPlan } from '../../../src/executor/kubernetes/jobManifest.ts';
import { withDefaults } from '../../../src/executor/kubernetes/podResources.ts';
import { sidecarVariables } from '../../../src/executor/kubernetes/sidecarSecrets.ts';

interface Manifest {
  metadata: {
    name: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences?: unknown[];
  };
  spec: {
    completions: number;
    parallelism: number;
    suspend?: boolean;
    backoffLimitPerIndex: number;
    podFailurePolicy: {
      rules: { action: string; onExitCodes?: { values: number[] }; onPodConditions?: { type: string }[] }[];
    };
    template: {
      metadata: { labels: Record<string, string>; annotations: Record<string, string> };
      spec: Record<string, unknown> & {
        containers: Record<string, unknown>[];
        initContainers?: Record<string, unknown>[];
        volumes: unknown[];
      };
    };
  };
}

const PLAN: JobPlan = {
  batch: 'b01abc',
  round: 2,
  namespace: 'n',
  pods: {},
  sizing: { completions: 4, parallelism: 2, slots: 8 },
  image: 'node:24-slim',
  pullPolicy: undefined,
  settled: 7,
  fruitless: 1,
};

const SIDECAR_SECURITY = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

function job(changes: Partial<JobPlan> = {}): Manifest {
  return JSON.parse(JSON.stringify(batchJob({ ...PLAN, ...changes }))) as Manifest;
}

describe('the Job of a batch', () => {
  it('is indexed, counts tries per index, and cleans up after itself', () => {
    const { metadata, spec } = job();
    assert.equal(metadata.name, 'rollout-b01abc-2');
    assert.deepEqual(
      { ...spec, template: undefined, podFailurePolicy: undefined },
      {
        completionMode: 'Indexed',
        completions: 4,
        parallelism: 2,
        backoffLimitPerIndex: 6,
        ttlSecondsAfterFinished: 600,
        podReplacementPolicy: 'Failed',
        template: undefined,
        podFailurePolicy: undefined,
      },
    );
    assert.deepEqual(spec.template.metadata.labels, metadata.labels);
    assert.equal(metadata.labels['rollout-studio/batch'], 'b01abc');
    assert.equal(metadata.ownerReferences, undefined);
  });

  it('ignores disruptions, and never retries a wrong configuration', () => {
    const rules = (isolation: 'shared' | 'pod'): string[] =>
      job({ pods: { isolation } }).spec.podFailurePolicy.rules.map(
        (rule) =>
          `${rule.action} ` +
          (rule.onExitCodes?.values.join(',') ?? rule.onPodConditions?.map(({ type }) => type).join(',') ?? ''),
      );
    // 4: the worker was told to stop, and handed its rollouts over.
    assert.deepEqual(rules('shared'), ['Ignore DisruptionTarget', 'Ignore 4', 'FailJob 2']);
    assert.deepEqual(rules('pod'), ['Ignore DisruptionTarget', 'Ignore 4', 'FailIndex 2']);
  });

  it('runs pods without permissions, as a plain user, with private volumes', () => {
    const { spec } = job().spec.template;
    const [worker = {}] = spec.containers;
    assert.equal(spec['automountServiceAccountToken'], false);
    assert.equal(spec['serviceAccountName'], 'rollout-studio-worker');
    assert.equal(spec['restartPolicy'], 'Never');
    assert.equal(spec['shareProcessNamespace'], undefined);
    assert.deepEqual(spec['securityContext'], {
      fsGroup: 1000,
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(worker['securityContext'], {
      runAsUser: 1000,
      runAsGroup: 1000,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    const limits = (plan: Partial<JobPlan>): [string, { sizeLimit?: string }][] =>
      (job(plan).spec.template.spec.volumes as { name: string; emptyDir?: { sizeLimit?: string } }[]).flatMap(
        ({ name, emptyDir }) => (emptyDir === undefined ? [] : [[name, emptyDir]]),
      );
    assert.deepEqual(limits({}), [
      ['own', { sizeLimit: '4Gi' }],
      ['tmp', { sizeLimit: '4Gi' }],
      ['programs', { sizeLimit: '256Mi' }],
      ['socket', { sizeLimit: '1Mi' }],
      ['work', { sizeLimit: '7Gi' }],
      ['tools', { sizeLimit: '7Gi' }],
      ['tools-tmp', { sizeLimit: '4Gi' }],
    ]);
    assert.deepEqual(
      limits({ pods: { limits: { 'ephemeral-storage': '100Gi' } } }).filter(
        ([, { sizeLimit }]) => sizeLimit === '100Gi',
      ),
      [
        ['work', { sizeLimit: '100Gi' }],
        ['tools', { sizeLimit: '100Gi' }],
      ],
    );
    assert.deepEqual(
      (worker['env'] as { name: string }[]).map(({ name }) => name),
      ['POD_NAME', 'POD_UID', 'POD_GRACE_SECONDS', 'HOME', 'TMPDIR', 'MALLOC_ARENA_MAX'],
    );
    assert.ok(
      spec.volumes.some(
        (volume) =>
          JSON.stringify(volume) ===
          '{"name":"config","secret":{"secretName":"rollout-b01abc","defaultMode":288,"items":[' +
            '{"key":"worker.json","path":"worker.json"},{"key":"secrets.json","path":"secrets.json"}]}}',
      ),
    );
  });

  it('gives the programs of tools a container of their own, without the configuration and the secrets', () => {
    const { spec } = job().spec.template;
    const [prepare = {}, tools = {}] = spec.initContainers ?? [];
    assert.deepEqual([prepare['name'], tools['name'], tools['restartPolicy']], ['prepare', 'tools', 'Always']);
    const mounts = (container: Readonly<Record<string, unknown>>): string[] =>
      (container['volumeMounts'] as { name: string }[]).map(({ name }) => name).sort();
    assert.deepEqual(mounts(tools), ['programs', 'socket', 'tools', 'tools-tmp', 'work']);
    assert.deepEqual(
      mounts(spec.containers[0] ?? {}).filter((name) => mounts(tools).includes(name)),
      ['programs', 'socket', 'work'],
    );
    assert.deepEqual(
      [prepare, tools, spec.containers[0]].map((container) => {
        const security = container?.['securityContext'] as { runAsUser: number; runAsGroup: number };
        return [security.runAsUser, security.runAsGroup];
      }),
      [
        [1000, 1000],
        [1001, 1000],
        [1000, 1000],
      ],
    );
    assert.deepEqual(
      (tools['env'] as { name: string }[]).map(({ name }) => name),
      ['HOME', 'TMPDIR'],
    );
  });

  it("applies the batch file's pod settings", () => {
    const tolerations = [{ key: 'nvidia.com/gpu', operator: 'Exists' }];
    const { metadata, spec } = job({
      pullPolicy: 'Always',
      pods: {
        image: 'mine:1',
        pull_policy: 'Never',
        requests: { cpu: '1' },
        limits: { memory: '2Gi' },
        node_selector: { disktype: 'ssd' },
        tolerations,
        priority_class: 'low',
        queue: 'team-a',
        service_account: 'sa',
        backoff: 0,
      },
    });
    const pod = spec.template.spec;
    assert.deepEqual(
      [pod.containers[0]?.['image'], pod.containers[0]?.['imagePullPolicy'], pod.containers[0]?.['resources']],
      [
        'mine:1',
        'Never',
        { requests: { cpu: '50m', memory: '64Mi', 'ephemeral-storage': '128Mi' }, limits: { memory: '2Gi' } },
      ],
    );
    const tools = pod.initContainers?.at(-1);
    assert.deepEqual(
      [tools?.['image'], tools?.['imagePullPolicy'], tools?.['resources']],
      ['mine:1', 'Never', { requests: { cpu: '1', 'ephemeral-storage': '512Mi' }, limits: { memory: '2Gi' } }],
    );
    assert.deepEqual(
      [pod['nodeSelector'], pod['tolerations'], pod['priorityClassName'], pod['serviceAccountName']],
      [{ disktype: 'ssd' }, tolerations, 'low', 'sa'],
    );
    assert.equal(metadata.labels['kueue.x-k8s.io/queue-name'], 'team-a');
    assert.equal(spec.template.metadata.labels['kueue.x-k8s.io/queue-name'], undefined);
    assert.deepEqual([spec.suspend, spec.backoffLimitPerIndex], [true, 0]);
  });

  it('requests and limits what its rollouts need, as far as nobody says otherwise', () => {
    const resources = (pods: JobPlan['pods'], slots: number) => {
      const { containers, initContainers } = job({ pods, sizing: { ...PLAN.sizing, slots } }).spec.template.spec;
      return [containers[0]?.['resources'], initContainers?.at(-1)?.['resources']];
    };
    assert.deepEqual(resources({}, 1), [
      { requests: { cpu: '55m', memory: '136Mi', 'ephemeral-storage': '128Mi' }, limits: { memory: '1056Mi' } },
      { requests: { cpu: '125m', memory: '160Mi', 'ephemeral-storage': '288Mi' }, limits: { memory: '4352Mi' } },
    ]);
    assert.deepEqual(resources({}, 32), [
      { requests: { cpu: '210m', memory: '384Mi', 'ephemeral-storage': '128Mi' }, limits: { memory: '2Gi' } },
      { requests: { cpu: '900m', memory: '1152Mi', 'ephemeral-storage': '1280Mi' }, limits: { memory: '12Gi' } },
    ]);
    // A request of a resource leaves it without a limit, and the other way round.
    assert.deepEqual(resources({ requests: { memory: '100Gi' }, limits: { cpu: '20m' } }, 1)[1], {
      requests: { memory: '100Gi', 'ephemeral-storage': '288Mi' },
      limits: { cpu: '20m' },
    });
  });

  it('has the settings of the installation, which its own replace key by key', () => {
    const defaults = {
      tolerations: [{ key: 'spot', operator: 'Exists' as const }],
      node_selector: { pool: 'batch' },
      labels: { team: 'a', cost: '1' },
      annotations: { 'example.org/owner': 'a' },
      image_pull_secrets: ['registry'],
      requests: { cpu: '1', memory: '1Gi' },
      grace_seconds: 120,
    };
    const own = { node_selector: { pool: 'mine' }, labels: { team: 'b' }, requests: { cpu: '2' } };
    const { metadata, spec } = job({ pods: withDefaults(own, defaults) }).spec.template;
    assert.deepEqual(
      [spec['tolerations'], spec['nodeSelector'], spec['imagePullSecrets'], spec['terminationGracePeriodSeconds']],
      [defaults.tolerations, { pool: 'mine' }, undefined, 120],
    );
    assert.deepEqual(
      [metadata.labels['team'], metadata.labels['cost'], metadata.annotations['example.org/owner']],
      ['b', '1', 'a'],
    );
    assert.deepEqual(withDefaults(own, defaults).requests, { cpu: '2', memory: '1Gi' });
    assert.deepEqual(withDefaults(own), own);
    assert.equal(
      (spec.containers[0]?.['env'] as { name: string; value?: string }[]).find(
        ({ name }) => name === 'POD_GRACE_SECONDS',
      )?.value,
      '120',
    );
  });

  it('is spread over nodes and zones, may be evicted, and keeps our labels whatever a batch says', () => {
    const spread = (pods: JobPlan['pods']): string[] =>
      (
        (job({ pods }).spec.template.spec['topologySpreadConstraints'] ?? []) as {
          topologyKey: string;
          whenUnsatisfiable: string;
          labelSelector: { matchLabels: Record<string, string> };
        }[]
      ).map(({ topologyKey, whenUnsatisfiable, labelSelector }) => {
        assert.equal(labelSelector.matchLabels['rollout-studio/batch'], 'b01abc');
        return `${topologyKey} ${whenUnsatisfiable}`;
      });
    const [node, zone] = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'];
    assert.deepEqual(spread({}), [`${node} ScheduleAnyway`, `${zone} ScheduleAnyway`]);
    assert.deepEqual(spread({ spread: 'required' }), [`${node} DoNotSchedule`, `${zone} ScheduleAnyway`]);
    assert.deepEqual(spread({ spread: 'none' }), []);
    const safe = 'cluster-autoscaler.kubernetes.io/safe-to-evict';
    assert.equal(job().spec.template.metadata.annotations[safe], 'true');
    const { metadata } = job({
      pods: { annotations: { [safe]: 'false' }, labels: { 'rollout-studio/batch': 'other' } },
    }).spec.template;
    assert.equal(metadata.annotations[safe], 'false');
    assert.equal(metadata.labels['rollout-studio/batch'], 'b01abc');
  });

  it('makes the worker wait for its sidecars, and passes their variables as secrets', () => {
    const sidecars = [
      {
        name: 'browser',
        image: 'b:1',
        readinessProbe: { httpGet: { port: 80 }, periodSeconds: 20 },
        env: [
          { name: 'KEY', value: '${env:BROWSER_KEY}' },
          { name: 'MODE', value: 'x' },
        ],
      },
      {
        name: 'plain',
        image: 'p:1',
        startupProbe: { exec: { command: ['true'] } },
        readinessProbe: { httpGet: { port: 80 } },
      },
    ];
    const [, browser, plain] = job({ pods: { sidecars } }).spec.template.spec.initContainers ?? [];
    assert.deepEqual(browser, {
      ...sidecars[0],
      restartPolicy: 'Always',
      startupProbe: { httpGet: { port: 80 }, failureThreshold: 120, periodSeconds: 1 },
      env: [
        { name: 'KEY', valueFrom: { secretKeyRef: { name: 'rollout-b01abc', key: 'env.BROWSER_KEY' } } },
        { name: 'MODE', value: 'x' },
      ],
      securityContext: SIDECAR_SECURITY,
      volumeMounts: [{ name: 'scratch-0', mountPath: '/tmp', subPath: '0' }],
    });
    assert.deepEqual(plain?.['startupProbe'], { exec: { command: ['true'] } });
    assert.deepEqual(sidecarVariables({ sidecars }), ['BROWSER_KEY']);
  });
});

describe('a sidecar', () => {
  it('runs without rights, and writes only to a volume of its own with a limit', () => {
    const { initContainers: containers = [], volumes } = job({
      pods: {
        sidecars: [
          { name: 'a', image: 'a:1' },
          {
            name: 'b',
            image: 'b:1',
            securityContext: { runAsUser: 70, readOnlyRootFilesystem: false },
            volumeMounts: [
              { name: 'scratch', mountPath: '/data' },
              { name: 'scratch', mountPath: '/tmp' },
            ],
          },
        ],
      },
    }).spec.template.spec;
    const initContainers = containers.slice(1, -1);
    assert.deepEqual(
      initContainers.map(({ securityContext }) => securityContext),
      [SIDECAR_SECURITY, { ...SIDECAR_SECURITY, runAsUser: 70, readOnlyRootFilesystem: false }],
    );
    assert.deepEqual(
      initContainers.map(({ volumeMounts }) => volumeMounts),
      [
        [{ name: 'scratch-0', mountPath: '/tmp', subPath: '0' }],
        [
          { name: 'scratch-1', mountPath: '/tmp', subPath: '0' },
          { name: 'scratch-1', mountPath: '/data', subPath: '1' },
        ],
      ],
    );
    assert.deepEqual(volumes.slice(-2), [
      { name: 'scratch-0', emptyDir: { sizeLimit: '4Gi' } },
      { name: 'scratch-1', emptyDir: { sizeLimit: '4Gi' } },
    ]);
  });
});

describe('the objects of a batch', () => {
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'u' };
  const about = { batch: 'b01abc', namespace: 'n', owner };
  const worker = {
    server: 'http://s',
    token: 't',
    batch: 'b01abc',
    slots: 2,
    reconnect_seconds: 600,
    programs: 'a'.repeat(64),
  };

  it('belong to its Job', () => {
    for (const object of [batchConfigMap(about), batchSecret(about, worker, {}, [])])
      assert.deepEqual([object.metadata.name, object.metadata.ownerReferences], ['rollout-b01abc', [owner]]);
    assert.equal(batchConfigMap({ ...about, owner: undefined }).metadata.ownerReferences, undefined);
  });

  it('keep values only in the Secret', () => {
    const secret = batchSecret(about, worker, { A: 'hidden', B: 'too' }, ['B']);
    const data = Object.fromEntries(
      Object.entries(secret['data'] as Record<string, string>).map(([key, text]) => [
        key,
        Buffer.from(text, 'base64').toString(),
      ]),
    );
    assert.deepEqual(Object.keys(data), ['worker.json', 'secrets.json', 'env.B']);
    assert.deepEqual(
      [JSON.parse(data['worker.json'] ?? ''), JSON.parse(data['secrets.json'] ?? ''), data['env.B']],
      [worker, { A: 'hidden', B: 'too' }, 'too'],
    );
  });

  it('have a valid name for any batch ID', () => {
    for (const batch of ['bUPPER_case-', `b${'x'.repeat(63)}`]) {
      const { metadata } = job({ batch });
      assert.match(metadata.name, /^rollout-b-[0-9a-f]{16}-2$/);
      assert.match(metadata.labels['rollout-studio/batch'] ?? '', /^b-[0-9a-f]{16}$/);
      assert.equal(metadata.annotations['rollout-studio/batch-id'], batch);
    }
  });
});
