/**
 * The protocol's own suite against our client: every client scenario except those of OAuth. Our agent files give a
 * server its headers, tokens included; there is no browser and no consent in a rollout, so the client has no OAuth flow
 * and the `auth/*` scenarios have nothing to test.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';

const root = path.resolve(import.meta.dirname, '../..');
const suite = path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

async function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [suite, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}

const SCENARIOS = ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'];

it('the scenarios below are all there are without OAuth @deep', async () => {
  const { output } = await run(['list']);
  const listed = output.slice(output.indexOf('Client scenarios')).matchAll(/^ {2}- (\S+)/gm);
  assert.deepEqual(
    [...listed].map((match) => match[1]).filter((name) => name?.startsWith('auth/') === false),
    SCENARIOS,
  );
});

for (const scenario of SCENARIOS) {
  it(`conforms: ${scenario}${scenario === 'tools_call' ? '' : ' @deep'}`, { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'conformance-'));
    try {
      const client = [
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        path.join(root, 'test/support/mcpConformanceClient.ts'),
      ];
      const { code, output } = await run([
        'client',
        '--command',
        client.join(' '),
        '--scenario',
        scenario,
        '-o',
        folder,
      ]);
      assert.equal(code, 0, output);
      assert.match(output, /Passed: (\d+)\/\1, 0 failed, 0 warnings/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}
