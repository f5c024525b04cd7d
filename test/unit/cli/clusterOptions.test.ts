/** Installation options of a server on the command line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import { INSTALL_OPTIONS, readInstallOptions } from '../../../src/cli/clusterOptions.ts';
import { parseOptions } from '../../../src/cli/command.ts';
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
