// MCP servers with a short name, from an agent file to the command that is started.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadAgent } from '../../../../src/config/load.ts';
import { type Need, needsOf } from '../../../../src/config/needs.ts';
import type { Submission } from '../../../../src/config/submission.ts';
import { buildTools } from '../../../../src/config/submit.ts';
import { CATALOGUE, CATALOGUE_NAMES } from '../../../../src/config/tools/mcp/catalogue.ts';
import { type Machine, machineArgs } from '../../../../src/tools/mcp/machineArgs.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../../support/noSimulation.ts';

/** The command that `mcp: NAME` expands to, and its requirements. */
async function named(name: string): Promise<{
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  needs: Pick<Need, 'name' | 'declared'>[];
}> {
  const files = memoryFiles({
    'a.agent.yaml':
      `version: 1\nname: desk\nmodel: { endpoint: 'http://localhost:1/v1', name: x }\nprompt: hello\ntools:\n  - ` +
      `mcp: ${name}\n`,
  });
  const { value, problems } = await loadAgent(files, 'a.agent.yaml');
  assert.deepEqual(problems, []);
  assert.ok(value);
  const agent = await buildTools(value, '', {
    files,
    product: 'x',
    env: () => undefined,
    scenarios: () => Promise.reject(new Error('no code world')),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    bundle: () => assert.fail('there is no module'),
  });
  const [entry] = agent.tools;
  assert.ok(entry?.kind === 'mcp' && 'command' in entry.server && entry.name === name);
  return {
    ...entry.server,
    needs: needsOf({ agent } as unknown as Submission).map(({ name: need, declared }) => ({ name: need, declared })),
  };
}

const SPACED = 'C:\\Program Files (x86)/Google & Co/chrome.exe';
const machine = (sandbox: boolean): Machine => ({ chromium: () => SPACED, mayHaveSandbox: () => sandbox });

it('playwright uses the browser of the machine it starts on, with its sandbox except for root', async () => {
  const { command, args, needs } = await named('playwright');
  assert.deepEqual(needs, [{ name: 'chromium', declared: true }]);
  const composed = (last: string): unknown => [
    command,
    '-y',
    '@playwright/mcp@0.0.83',
    '--headless',
    '--isolated',
    '--browser',
    'chromium',
    '--executable-path',
    SPACED,
    last,
  ];
  assert.deepEqual([command, ...machineArgs(args, machine(true))], composed('--sandbox'));
  assert.deepEqual([command, ...machineArgs(args, machine(false))], composed('--no-sandbox'));
  assert.throws(
    () =>
      machineArgs(args, {
        ...machine(true),
        chromium: () => {
          throw new Error('none here');
        },
      }),
    /none here/,
  );
});

it('e2b is started by the module of its package, which has no program, with the key as a reference', async () => {
  const { command, args, env, needs } = await named('e2b');
  assert.deepEqual(
    [command, ...machineArgs(args, { ...machine(true), chromium: () => assert.fail('it has no browser') })],
    ['uvx', '--from', 'e2b-mcp-server==0.1.1', 'python', '-c', 'import e2b_mcp_server; e2b_mcp_server.main()'],
  );
  assert.deepEqual([env, needs], [{ E2B_API_KEY: '${env:E2B_API_KEY}' }, [{ name: 'uv', declared: true }]]);
});

it('each names one version of its package', () => {
  assert.deepEqual([...CATALOGUE_NAMES], Object.keys(CATALOGUE));
  for (const name of CATALOGUE_NAMES)
    assert.equal(CATALOGUE[name].args.filter((arg) => /(@|==)\d+\.\d+\.\d+$/.test(arg)).length, 1, name);
});
