// Secrets of modules and limits of processes, from an agent file to the worker's configuration.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadAgent } from '../../../../src/config/load.ts';
import { buildTools } from '../../../../src/config/submit.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../../support/noSimulation.ts';

const HEAD = "version: 1\nname: desk\nmodel: { endpoint: 'http://localhost:1/v1', name: x }\nprompt: hello\ntools:\n";
const files = (tools: string): ReturnType<typeof memoryFiles> =>
  memoryFiles({ 'a.agent.yaml': HEAD + tools, 'tools/t.ts': '' });

it('secrets and limits reach their entries', async () => {
  const from = files(
    '  - module: tools/t.ts\n    secrets: { KEY: "${env:MY_KEY}" }\n  - builtin: [terminal, calculator]\n    ' +
      'limits: { memory_mb: 512, cpu_seconds: 5 }\n  - mcp: { command: x }\n    limits: { file_mb: 10 }\n',
  );
  const { value, problems } = await loadAgent(from, 'a.agent.yaml');
  assert.deepEqual(problems, []);
  assert.ok(value);
  const ports = {
    files: from,
    product: 'x',
    env: () => undefined,
    scenarios: () => Promise.reject(new Error('no code world')),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    bundle: (path: string) =>
      Promise.resolve({
        file: path,
        code: new Uint8Array(),
        map: new Uint8Array(),
        bundleSha: '0'.repeat(64),
        mapSha: '1'.repeat(64),
      }),
  };
  const { tools } = await buildTools(value, '', ports);
  assert.deepEqual(
    tools.map((entry) => ('secrets' in entry ? entry.secrets : 'limits' in entry ? entry.limits : undefined)),
    [{ KEY: '${env:MY_KEY}' }, { memory_mb: 512, cpu_seconds: 5 }, undefined, { file_mb: 10 }],
  );
});

it('elsewhere they are refused, and plain-text secrets are reported', async () => {
  const { problems } = await loadAgent(
    files(
      '  - module: tools/t.ts\n    limits: { cpu_seconds: 1 }\n    secrets: { KEY: abcdef0123456789abcdef }\n  - ' +
        'builtin: [terminal]\n    secrets: { KEY: "${env:X}" }\n    limits: { memory_mb: 1, procs: 3 }\n',
    ),
    'a.agent.yaml',
  );
  const messages = problems.map(({ line, message }) => `${line}: ${message}`);
  assert.equal(
    messages.filter((text) => /^7: `limits` only applies to `terminal`, `code`/.test(text)).length,
    1,
    messages.join('\n'),
  );
  assert.equal(messages.filter((text) => /^8: .*secret/.test(text)).length, 1, messages.join('\n'));
  assert.equal(messages.filter((text) => /^10: `secrets` requires `module`/.test(text)).length, 1, messages.join('\n'));
  assert.equal(messages.filter((text) => /^11: .*memory_mb.*16/.test(text)).length, 1, messages.join('\n'));
  assert.equal(messages.filter((text) => /^11: .*procs/.test(text)).length, 1, messages.join('\n'));
});
