/**
 * The protocol's own suite against our MCP server. Scenarios for any server run against `rollout mcp --http` itself;
 * the rest calls tools, resources, and prompts by fixed names, which test/support/mcpConformanceServer.ts adds to ours
 * on the same core and transport. There is nothing to test of SSE polling (`server-sse-polling`, resuming a broken
 * stream): the suite skips it for servers that, like ours, close no streams while a call runs.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connect } from '../../src/client/connect.ts';
import { type HttpServing, serveHttp } from '../../src/mcp/serving/http.ts';
import { Session } from '../../src/mcp/session.ts';
import { Bench, root } from '../support/cli.ts';
import { conformanceServer } from '../support/mcpConformanceServer.ts';

const suite = path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** Against the product. */
const OURS = [
  'server-initialize',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
];
/** Against our core with the suite's fixtures. */
const WITH_FIXTURES = [
  'logging-set-level',
  'completion-complete',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-with-logging',
  'tools-call-error',
  'tools-call-with-progress',
  'tools-call-sampling',
  'tools-call-elicitation',
  'json-schema-2020-12',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'resources-read-text',
  'resources-read-binary',
  'resources-templates-read',
  'resources-subscribe',
  'resources-unsubscribe',
  'prompts-get-simple',
  'prompts-get-with-args',
  'prompts-get-embedded-resource',
  'prompts-get-with-image',
];
const NOTHING_TO_TEST = ['server-sse-polling'];

let bench: Bench;
let fixtures: HttpServing;
const faults: Error[] = [];

before(async () => {
  bench = new Bench();
  const session = new Session({
    maxAttempts: 100,
    loadModules: () => Promise.resolve([]),
    connect: () => connect({ store: bench.store }),
    folder: bench.folder,
    env: {},
    readOnly: false,
  });
  fixtures = await serveHttp({
    port: 0,
    make: () => conformanceServer(session),
    onError: (error) => faults.push(error),
  });
});
after(async () => {
  await fixtures.close();
  await bench.close();
});

async function run(args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [suite, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** Runs the whole suite. Returns the scenarios that passed with at least one check and no failure. */
async function passed(url: string): Promise<{ names: string[]; output: string }> {
  const { output } = await run(['server', '--url', url, '--suite', 'all', '-o', bench.path('results')]);
  return {
    names: [...output.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed/gm)].map((match) => match[1] ?? ''),
    output,
  };
}

it('the scenarios named here are all there are @deep', async () => {
  const { output } = await run(['list']);
  const listed = output.slice(0, output.indexOf('Client scenarios')).matchAll(/^ {2}- (\S+)/gm);
  assert.deepEqual([...listed].map((match) => match[1]).sort(), [...OURS, ...WITH_FIXTURES, ...NOTHING_TO_TEST].sort());
});

it('rollout mcp conforms', { timeout: 120_000 }, async () => {
  const child = bench.start(['mcp', '--http', '0']);
  try {
    assert.ok(child.stdout !== null);
    const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { names, output } = await passed(url);
    assert.deepEqual(
      OURS.filter((name) => !names.includes(name)),
      [],
      output,
    );
    const response = await fetch(new URL('/mcp', url), { method: 'POST' });
    assert.equal(response.status, 404, 'without the secret path there is nothing');
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'close');
  }
});

it('clients of the newest revision and of the one before use it over HTTP', { timeout: 60_000 }, async () => {
  for (const mode of ['auto', 'legacy'] as const) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(fixtures.url)));
    assert.deepEqual(
      (await client.callTool({ name: 'list_batches', arguments: {}, _meta: { 'rollout-studio/structured': true } }))
        .structuredContent,
      {
        batches: [],
      },
    );
    const progresses: number[] = [];
    await client.callTool(
      { name: 'test_tool_with_progress', arguments: {} },
      { onprogress: ({ progress }) => progresses.push(progress) },
    );
    assert.deepEqual(progresses, [0, 50, 100], mode);
    await client.close();
  }
});

it('its core conforms, with the fixtures of the suite @deep', { timeout: 240_000 }, async () => {
  const { names, output } = await passed(fixtures.url);
  assert.deepEqual(
    [...OURS, ...WITH_FIXTURES].filter((name) => !names.includes(name)),
    [],
    output,
  );
  assert.deepEqual(faults, []);
});
