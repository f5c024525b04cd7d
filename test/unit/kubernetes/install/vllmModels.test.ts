/** Several models in one installation: their objects, their names, and who reaches them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseArgs } from 'node:util';
import { INSTALL_OPTIONS, readInstallOptions } from '../../../../src/cli/clusterOptions.ts';
import { parseOptions } from '../../../../src/cli/command.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { modelsIn } from '../../../../src/executor/kubernetes/open.ts';
import type { KubeObject } from '../../../../src/kubernetes/access/objects.ts';
import { manifests } from '../../../../src/kubernetes/install/manifests/all.ts';
import { type InstallInput, type InstallOptions, resolveOptions } from '../../../../src/kubernetes/install/options.ts';

const ARCHIVE = { sha: 'a'.repeat(64), packed: Buffer.from('packed') };
const MODELS: InstallInput['models'] = {
  small: { model: 'org/small', replicas: 2, loras: ['clerk=/cache/clerk'], cache: 'pvc' },
  judge: { model: 'org/judge', gpus: 2, autoscale: 'keda', maxReplicas: 4, prometheus: 'http://prometheus:9090' },
};

function create(input: InstallInput): KubeObject[] {
  return manifests(resolveOptions(input), ARCHIVE, 'team');
}

function named(objects: readonly KubeObject[], name: string): string[] {
  return objects
    .filter(({ metadata }) => metadata.name === name || metadata.name === `${name}-cache`)
    .map(({ kind }) => kind)
    .sort();
}

function fieldOf(object: KubeObject | undefined, ...at: readonly string[]): unknown {
  return at.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

function find(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found !== undefined, `${kind} ${name}`);
  return found;
}

async function read(files: Readonly<Record<string, string>>, args: readonly string[], installed?: InstallOptions) {
  const folder = await mkdtemp(path.join(tmpdir(), 'rs-models-'));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
    const { positionals, values } = parseArgs({
      args: [...args],
      options: parseOptions(INSTALL_OPTIONS),
      allowPositionals: true,
    });
    return await readInstallOptions({ words: positionals, options: values }, installed, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('several models', () => {
  it('have objects of their own, and pods that no other model selects', () => {
    const objects = create({ vllm: { model: 'org/first' }, models: MODELS });
    const all = ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
    assert.deepEqual(named(objects, 'rollout-studio-vllm'), all);
    assert.deepEqual(named(objects, 'rollout-studio-vllm-small'), [
      ...all.slice(0, 2),
      'PersistentVolumeClaim',
      ...all.slice(2),
    ]);
    assert.deepEqual(named(objects, 'rollout-studio-vllm-judge'), [...all.slice(0, 3), 'ScaledObject', 'Service']);
    const selectors = ['', '-small', '-judge'].map((end) => {
      const name = `rollout-studio-vllm${end}`;
      const deployment = find(objects, 'Deployment', name);
      const labels = fieldOf(deployment, 'spec', 'selector', 'matchLabels');
      assert.deepEqual(fieldOf(deployment, 'spec', 'template', 'metadata', 'labels'), labels);
      assert.deepEqual(fieldOf(find(objects, 'Service', name), 'spec', 'selector'), labels);
      assert.deepEqual(fieldOf(find(objects, 'PodDisruptionBudget', name), 'spec', 'selector', 'matchLabels'), labels);
      assert.deepEqual(fieldOf(find(objects, 'NetworkPolicy', name), 'spec', 'podSelector', 'matchLabels'), labels);
      return Object.entries(labels as Record<string, string>);
    });
    for (const [at, one] of selectors.entries())
      for (const [other, labels] of selectors.entries()) {
        const isSelected = one.every(([key, value]) => labels.some(([name, text]) => name === key && text === value));
        assert.equal(isSelected, at === other, `${at} selects ${other}`);
      }
    const query = JSON.stringify(
      fieldOf(find(objects, 'ScaledObject', 'rollout-studio-vllm-judge'), 'spec', 'triggers'),
    );
    assert.match(query, /pod=~\\"rollout-studio-vllm-judge-\[a-z0-9\]\+-\[a-z0-9\]\+\\"/);
  });

  it('do not change the one that was installed before', () => {
    const of = (objects: readonly KubeObject[]) =>
      objects.filter(
        ({ metadata, kind }) => /^rollout-studio-vllm(-cache)?$/.test(metadata.name) && kind !== 'ConfigMap',
      );
    const alone = create({ vllm: { model: 'org/first', cache: 'pvc' } });
    assert.deepEqual(of(create({ vllm: { model: 'org/first', cache: 'pvc' }, models: MODELS })), of(alone));
  });

  it('are known to the server by the names that calls may use', () => {
    const env = fieldOf(
      find(create({ vllm: { model: 'org/first', gpus: 4 }, models: MODELS }), 'Deployment', 'rollout-studio'),
      'spec',
      'template',
      'spec',
      'containers',
      '0',
      'env',
    ) as { name: string; value: string }[];
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const { addresses, servers } = modelsIn(variables, 'team');
    const small = 'http://rollout-studio-vllm-small.team.svc:8000/v1';
    assert.deepEqual(addresses, {
      'org/first': 'http://rollout-studio-vllm.team.svc:8000/v1',
      'org/judge': 'http://rollout-studio-vllm-judge.team.svc:8000/v1',
      'org/small': small,
      clerk: small,
    });
    assert.deepEqual(
      servers.map(({ name, gpus }) => [name, gpus]),
      [
        ['rollout-studio-vllm', 4],
        ['rollout-studio-vllm-judge', 2],
        ['rollout-studio-vllm-small', 1],
      ],
    );
    const several = { ...variables };
    delete several['ROLLOUT_MODEL_GPUS'];
    assert.deepEqual(modelsIn(several, 'team').servers, []);
    assert.deepEqual(modelsIn({}, 'team'), { addresses: {}, servers: [] });
  });

  it('have pods of their own kind, with what holds for all of them', () => {
    const pods: InstallInput['pods'] = {
      vllm: {
        node_selector: { pool: 'a100' },
        tolerations: [{ key: 'team', operator: 'Exists' }],
        labels: { cost: 'research' },
        requests: { cpu: '2', memory: '24Gi' },
        limits: { memory: '64Gi' },
      },
    };
    const models: InstallInput['models'] = {
      judge: {
        model: 'org/judge',
        gpus: 2,
        sharedMemory: '1500Mi',
        pods: {
          node_selector: { pool: 'h100' },
          tolerations: [],
          priority_class: 'high',
          spread: 'none',
          requests: { memory: '100Gi' },
          limits: { 'ephemeral-storage': '20Gi' },
        },
      },
      small: { model: 'org/small', sharedMemory: '8Gi' },
    };
    const specOf = (input: InstallInput, name: string) => {
      const spec = fieldOf(
        find(create(input), 'Deployment', `rollout-studio-vllm-${name}`),
        'spec',
        'template',
        'spec',
      );
      const at = (...keys: string[]): unknown => fieldOf(spec as KubeObject, ...keys);
      return {
        nodeSelector: at('nodeSelector'),
        tolerations: at('tolerations'),
        priorityClassName: at('priorityClassName'),
        spread: at('topologySpreadConstraints') !== undefined,
        resources: at('containers', '0', 'resources'),
        shm: at('volumes', '0', 'emptyDir', 'sizeLimit'),
      };
    };
    const gpu = { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' };
    assert.deepEqual(specOf({ pods, models }, 'judge'), {
      nodeSelector: { pool: 'h100' },
      tolerations: [gpu],
      priorityClassName: 'high',
      spread: false,
      resources: {
        requests: { cpu: '2', memory: '100Gi', 'nvidia.com/gpu': '2' },
        limits: { memory: '64Gi', 'ephemeral-storage': '20Gi', 'nvidia.com/gpu': '2' },
      },
      shm: '1500Mi',
    });
    assert.deepEqual(specOf({ pods, models }, 'small'), {
      nodeSelector: { pool: 'a100' },
      tolerations: [gpu, { key: 'team', operator: 'Exists' }],
      priorityClassName: undefined,
      spread: true,
      resources: {
        requests: { cpu: '2', memory: '24Gi', 'nvidia.com/gpu': '1' },
        limits: { memory: '64Gi', 'nvidia.com/gpu': '1' },
      },
      shm: '8Gi',
    });
    // Without sizes of its own, memory has room for what is shared.
    const plain = { models: { ...models, judge: { ...models['judge']!, pods: undefined } } };
    assert.deepEqual(
      ['judge', 'small'].map((name) => fieldOf(specOf(plain, name).resources as KubeObject, 'requests', 'memory')),
      ['34268Mi', '24Gi'],
    );
  });

  it('must be served under different names', () => {
    assert.throws(() => resolveOptions({ models: { a: { model: 'm' }, b: { model: 'm' } } }), {
      code: 'usage',
      message: 'Two models are served as m, so calls could not choose one.',
    });
    const other = ['--served-model-name', 'm-2', 'm-3', '--seed', '1'];
    const { models } = resolveOptions({ models: { a: { model: 'm' }, b: { model: 'm', arguments: other } } });
    assert.deepEqual(Object.keys(models ?? {}), ['a', 'b']);
  });
});

describe('the file of --models', () => {
  const file = `
models:
  small:
    model: Qwen/Qwen3-8B
    gpu: a100-40
    gpus: 1
    replicas: 2
    adapters: { clerk: /cache/clerk }
  judge:
    model: Qwen/Qwen3-32B
    gpu: a100-80
    autoscale: { by: keda, max_replicas: 4, prometheus: http://prometheus:9090 }
    arguments: [--seed, "1"]
`;

  it('is stored, replaced as a whole, and taken back', async () => {
    const installed = await read({ 'models.yaml': file }, ['--models', 'models.yaml', '--vllm', 'org/first']);
    assert.deepEqual(
      Object.entries(installed.models ?? {}).map(([name, { gpus, replicas, loras, maxReplicas }]) => [
        name,
        gpus,
        replicas,
        loras,
        maxReplicas,
      ]),
      [
        ['small', 1, 2, ['clerk=/cache/clerk'], undefined],
        ['judge', 2, 1, [], 4],
      ],
    );
    assert.deepEqual((await read({}, ['--port', '9000'], installed)).models, installed.models);
    const fewer = await read(
      { 'models.yaml': file.slice(0, file.indexOf('  judge:')) },
      ['--models', 'models.yaml'],
      installed,
    );
    assert.deepEqual([Object.keys(fewer.models ?? {}), fewer.vllm], [['small'], installed.vllm]);
    const none = await read({}, ['--models', 'none'], installed);
    assert.deepEqual([none.models, none.vllm?.model], [undefined, 'org/first']);
  });

  it('reads where the pods of a model run', async () => {
    const text = `
models:
  judge:
    model: Qwen/Qwen3-32B
    cache: claim:weights
    shared_memory: 32Gi
    pods:
      node_selector: { pool: h100 }
      tolerations: [{ key: h100, operator: Exists }]
      requests: { cpu: 8, memory: 100Gi }
`;
    const { models } = await read({ 'models.yaml': text }, ['--models', 'models.yaml']);
    const { cache, sharedMemory, pods } = models?.['judge'] ?? {};
    assert.deepEqual(
      { cache, sharedMemory, pods },
      {
        cache: 'claim:weights',
        sharedMemory: '32Gi',
        pods: {
          node_selector: { pool: 'h100' },
          tolerations: [{ key: 'h100', operator: 'Exists' }],
          requests: { cpu: '8', memory: '100Gi' },
        },
      },
    );
    const single = await read({}, ['--vllm', 'm', '--vllm-shared-memory', '8Gi']);
    assert.equal(single.vllm?.sharedMemory, '8Gi');
  });

  it('reads the size of a model from the files next to its weights', async () => {
    const config = {
      ...{ hidden_size: 4096, intermediate_size: 12_288, num_attention_heads: 32, num_hidden_layers: 36 },
      ...{ num_key_value_heads: 8, head_dim: 128, vocab_size: 151_936, max_position_embeddings: 40_960 },
    };
    const files = {
      'models.yaml': 'models: { own: { model: me/own, gpu: a100-40, model_config: config.json } }',
      'config.json': JSON.stringify(config),
      'model.safetensors.index.json': JSON.stringify({ metadata: { total_size: 60e9 } }),
    };
    const { models } = await read(files, ['--models', 'models.yaml']);
    assert.deepEqual([models?.['own']?.shape?.weights, models?.['own']?.gpus], [60e9, 4]);
    const single = await read(files, ['--vllm', 'me/own', '--vllm-gpu', 'a100-80', '--vllm-model-config', '.']);
    assert.deepEqual([single.vllm?.shape?.weights, single.vllm?.gpus], [60e9, 2]);
    // Another model is not of that size.
    assert.equal((await read({}, ['--vllm', 'Qwen/Qwen3-4B'], single)).vllm?.shape, undefined);
    const without = await read({}, ['--vllm-gpu', 'none'], single);
    assert.deepEqual([without.vllm?.gpu, without.vllm?.gpus], [undefined, 2]);
  });

  it('is checked with positions, and each model by what fits', async () => {
    const fails = async (text: string): Promise<string> => {
      try {
        await read({ 'models.yaml': text }, ['--models', 'models.yaml']);
      } catch (error) {
        assert.ok(StudioError.is(error), String(error));
        return `${error.code} ${error.message} ${error.hint ?? ''}`;
      }
      return assert.fail('it was accepted');
    };
    assert.match(await fails('models: { small: { modle: x } }'), /^config models\.yaml:1:\d+: .*model/);
    assert.match(
      await fails('models:\n  small:\n    model: x\n    pods: { node_selectors: { a: b } }'),
      /^config models\.yaml:4:13: .*node_selector/,
    );
    assert.match(
      await fails('models:\n  small:\n    model: x\n    pods:\n      limits: { nvidia.com/gpu: 2 }'),
      /^config models\.yaml:5:\d+: .*`nvidia\.com\/gpu` is not set here.*gpus: 2/s,
    );
    assert.match(await fails('models: { small: { model: x, shared_memory: much } }'), /^config models\.yaml:1:45: /);
    assert.match(await fails('models: { Small: { model: x } }'), /^config models\.yaml:1/);
    assert.match(
      await fails('models: { big: { model: Qwen/Qwen3-32B, gpu: a100-40, gpus: 1 } }'),
      /^usage Qwen\/Qwen3-32B does not fit .* What fits: gpus: 2, or gpu: a100-80 with gpus: 1, /,
    );
    assert.match(await fails('models: { big: { model: me/own, gpu: a100-40 } }'), /model_config: FILE/);
    assert.match(
      await fails('models: { big: { model: m, autoscale: { by: keda, max_replicas: 2 } } }'),
      /^usage autoscale: keda requires prometheus: URL/,
    );
  });
});
