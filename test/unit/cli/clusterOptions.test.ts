/** Installation options of a server on the command line. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { INSTALL_OPTIONS, readInstallOptions } from '../../../src/cli/clusterOptions.ts';
import { parseOptions } from '../../../src/cli/command.ts';
import { StudioError } from '../../../src/common/errors.ts';
import type { InstallOptions } from '../../../src/kubernetes/install/options.ts';

async function read(args: string[], installed?: InstallOptions): Promise<InstallOptions> {
  const { positionals, values } = parseArgs({ args, options: parseOptions(INSTALL_OPTIONS), allowPositionals: true });
  return await readInstallOptions({ words: positionals, options: values }, installed);
}

test('no options mean the defaults, or the installed values', async () => {
  const plain = await read([]);
  assert.deepEqual(
    [plain.image, plain.port, plain.storage, plain.replicas, plain.vllm],
    ['node:24-slim', 8080, 'pvc', 1, undefined],
  );
  const installed = await read([
    '--port',
    '9000',
    '--storage',
    'emptyDir',
    '--allow-host',
    'a.example.org',
    '--allow-host',
    'b.example.org',
  ]);
  assert.deepEqual(installed.allowHosts, ['a.example.org', 'b.example.org']);
  assert.deepEqual(await read([], installed), installed);
});

test('a model is changed option by option, and removed with none', async () => {
  const installed = await read([
    '--vllm',
    'org/one',
    '--vllm-gpus',
    '4',
    '--vllm-argument=--max-model-len',
    '--vllm-argument=100',
    '--vllm-product',
    'X',
  ]);
  assert.deepEqual(
    [installed.vllm?.model, installed.vllm?.gpus, installed.vllm?.arguments, installed.vllm?.products],
    ['org/one', 4, ['--max-model-len', '100'], ['X']],
  );
  const more = await read(['--vllm-replicas', '2'], installed);
  assert.deepEqual(more.vllm, { ...installed.vllm, replicas: 2 });
  assert.equal((await read(['--vllm', 'org/two'], more)).vllm?.gpus, 4);
  assert.equal((await read(['--vllm', 'none'], more)).vllm, undefined);
  const adapters = await read(['--vllm-lora', 'a=/a', '--vllm-lora', 'b=/b', '--vllm-api-key-secret', 'key'], more);
  assert.deepEqual([adapters.vllm?.loras, adapters.vllm?.apiKeySecret], [['a=/a', 'b=/b'], 'key']);
  const without = await read(['--vllm-lora', 'none', '--vllm-api-key-secret', 'none'], adapters);
  assert.deepEqual([without.vllm?.loras, without.vllm?.apiKeySecret], [[], undefined]);
  await assert.rejects(read(['--vllm', 'm', '--vllm-upgrade', 'fast']), { message: /^--vllm-upgrade: / });
  await assert.rejects(read(['--vllm-gpus', '2']), { code: 'usage', message: /Name it with --vllm MODEL/ });
});

test('Secrets of others are kept by upgrades, and left with none', async () => {
  const installed = await read(['--tokens-secret', 'tokens', '--authority-secret', 'issuer', '--pull-secret', 'keys']);
  assert.deepEqual(
    [installed.tokensSecret, installed.authoritySecret, installed.pullSecret],
    ['tokens', 'issuer', 'keys'],
  );
  assert.equal((await read(['--port', '9000'], installed)).tokensSecret, 'tokens');
  const own = await read(['--tokens-secret', 'none', '--pull-secret', 'none'], installed);
  assert.deepEqual([own.tokensSecret, own.authoritySecret, own.pullSecret], [undefined, 'issuer', undefined]);
});

test('addresses are kept by upgrades, and taken back with none', async () => {
  const given = ['--advertise', 'https://a.example', '--otlp', 'http://otel:4318', '--allow-host', 'a.example'];
  const installed = await read(given);
  assert.equal((await read(['--port', '9000'], installed)).otlp, 'http://otel:4318');
  const own = await read(['--advertise', 'none', '--otlp', 'none', '--allow-host', 'none'], installed);
  assert.deepEqual([own.advertise, own.otlp, own.allowHosts], [undefined, undefined, []]);
});

test('headers for a collector are in a Secret, and go with the collector', async () => {
  const installed = await read(['--otlp', 'http://otel:4318', '--otlp-secret', 'otel']);
  assert.equal((await read(['--port', '9000'], installed)).otlpSecret, 'otel');
  for (const back of [
    ['--otlp', 'none'],
    ['--otlp-secret', 'none'],
  ])
    assert.equal((await read(back, installed)).otlpSecret, undefined, back.join(' '));
  await assert.rejects(read(['--otlp-secret', 'otel']), { code: 'usage', message: /there is no collector/ });
});

test('a file says where pods run: it is checked with positions, stored, and taken back', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'rs-pods-'));
  try {
    const file = path.join(folder, 'pods.yaml');
    await writeFile(
      file,
      [
        'server: { node_selector: { pool: system }, requests: { cpu: 1 } }',
        'workers:',
        '  tolerations: [{ key: spot, operator: Exists }]',
        '  labels: { team: research }',
      ].join('\n'),
    );
    const installed = await read(['--pods', file]);
    assert.deepEqual(installed.pods, {
      server: { node_selector: { pool: 'system' }, requests: { cpu: '1' } },
      workers: { tolerations: [{ key: 'spot', operator: 'Exists' }], labels: { team: 'research' } },
    });
    assert.deepEqual((await read(['--port', '9000'], installed)).pods, installed.pods);
    assert.equal((await read(['--pods', 'none'], installed)).pods, undefined);
    await writeFile(
      file,
      [
        'server: { node_selecter: { pool: x } }',
        'workers:',
        '  labels: { app.kubernetes.io/name: mine, ok: "not a label!" }',
        '  grace_seconds: 3',
        'tools: {}',
      ].join('\n'),
    );
    await assert.rejects(read(['--pods', file]), (error) => {
      assert.ok(StudioError.is(error, 'config'), String(error));
      const lines = error.message.split('\n').map((line) => line.replace(folder, ''));
      assert.deepEqual(
        lines.map((line) => /^\/pods\.yaml:(\d+):\d+: .* — ./.exec(line)?.[1]),
        ['1', '3', '3', '4', '5'],
        lines.join('\n'),
      );
      assert.match(error.message, /node_selector/);
      assert.match(error.message, /the label `app\.kubernetes\.io\/name` is set by Rollout Studio/);
      return true;
    });
    await assert.rejects(read(['--pods', path.join(folder, 'none.yaml')]), { code: 'not_found' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('impossible values are refused with their option', async () => {
  await assert.rejects(read(['--pull-policy', 'Sometimes']), { code: 'usage', message: /^--pull-policy: / });
  await assert.rejects(read(['--storage', 'tape']), { code: 'usage', message: /^--storage: / });
  await assert.rejects(read(['--storage-size', 'large']), { code: 'usage', message: /^--storage-size: / });
  await assert.rejects(read(['--vllm', 'm', '--vllm-cache', 'tape']), { code: 'usage', message: /^--vllm-cache: / });
  await assert.rejects(read(['--vllm', 'm', '--vllm-cache', 'postgres:db']), {
    code: 'usage',
    message: /^--vllm-cache: expected a folder/,
  });
  await assert.rejects(read(['--replicas', '2']), { code: 'usage', message: /postgres/ });
  await assert.rejects(read(['--port', '0']), { code: 'usage' });
});

test('rules of retention are read from a file, kept, and taken back with none', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'rollout-options-'));
  try {
    const file = path.join(folder, 'retention.yaml');
    await writeFile(file, 'version: 1\nrules: [{ age: 30d, delete: true }]\nmax_bytes: 1Gi\n');
    const installed = await read(['--retention', file]);
    const rules = { version: 1, rules: [{ age: 2_592_000, delete: true }], max_bytes: 1024 ** 3 };
    assert.deepEqual(installed.retention, rules);
    // As the ConfigMap keeps them.
    const stored = JSON.parse(JSON.stringify(installed)) as InstallOptions;
    assert.deepEqual((await read(['--port', '9000'], stored)).retention, rules);
    assert.equal((await read(['--retention', 'none'], stored)).retention, undefined);
    await writeFile(file, 'version: 1\nrules: [{ age: 30d }]\n');
    await assert.rejects(read(['--retention', file]), (error) => StudioError.is(error, 'config'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
