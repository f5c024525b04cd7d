/**
 * Secrets in 20 encodings, sent through every way out of a real batch: the model repeats them, tools print, return, and
 * throw them, and an endpoint echoes its key. They are found nowhere.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { deferred } from '../../src/common/abort.ts';
import type { JsonObject } from '../../src/common/json.ts';
import { encodingsOf } from '../support/canary.ts';
import { Bench, root } from '../support/cli.ts';
import { Collector } from '../support/collector.ts';
import { chunk, type FakeEndpoint, fakeEndpoint, refuse, sse, usageChunk } from '../support/endpoint.ts';
import { FakeClient } from '../support/fakeClient.ts';
import { LspClient } from '../support/lspClient.ts';
import { connectMcp, textOf } from '../support/mcpClient.ts';
import { Workspace } from '../support/testWorkspace.ts';

const TOKEN = 'c4nary/A+"s5~\\wörd w?=&%<x>';
const KEY = 'sk-K4naryKey/x9+7QzLmP';
const IN_URL = { UPASS: 'pw-5ecret-canary', PKEY: 'path-c4nary-key', QKEY: 'query-c4nary-key' };
const PIN = 48_151_623;
const ENV = { TOKEN, KEY, ...IN_URL, PIN: String(PIN), PGPORT: '5432' };
/** What must not be found: every encoding of each secret, and the beginning of one. */
const FORBIDDEN = [
  ...[TOKEN, KEY].flatMap((secret) => Object.values(encodingsOf(secret))),
  ...Object.values(IN_URL),
  `PIN ${PIN}`,
  'c4nary/',
];
const SPOKEN = Object.values(encodingsOf(TOKEN)).join(' and ');

const LEAK = `import { tool } from 'rollout-studio';
import { z } from 'zod';
import { encodingsOf } from './canary.ts';
const input = z.object({ note: z.string() });
const pause = () => new Promise((resolve) => setImmediate(resolve));
export const leak = tool({ description: 'Leaks.', input, effect: 'pure', run: async ({ note }, { secrets }) => {
  const forms = Object.values(encodingsOf(secrets.token));
  console.error('note: ' + note);
  for (const form of forms) {
    console.log('whole: ' + form);
    for (let at = 0; at < form.length; at += 5) {
      process.stdout.write(form.slice(at, at + 5));
      await pause();
    }
    process.stdout.write('\\n');
  }
  const keys = Object.fromEntries(forms.map((form) => [form, 1]));
  return { forms, pin: Number(secrets.pin), text: 'PIN ' + secrets.pin, port: 5432, ...keys };
} });
export const big = tool({ description: 'Leaks much.', input, effect: 'pure', run: (_, { secrets }) =>
  (Object.values(encodingsOf(secrets.token)).join(' ') + ' filler ').repeat(700) });
export const crash = tool({ description: 'Fails.', input, effect: 'pure', run: (_, { secrets }) => {
  throw new Error('no ' + Object.values(encodingsOf(secrets.token)).join(' '));
} });
`;

let workspace: Workspace;
let collector: Collector;
let endpoint: FakeEndpoint;
let batch: string;
let warned = '';
/** Set when a client watches the rollout, so that the model may begin. */
const watched = deferred<undefined>();

/** Streams a text in pieces of 7 characters. */
function pieces(text: string): JsonObject[] {
  return (text.match(/[^]{1,7}/g) ?? []).map((content) => chunk({ delta: { content } }));
}

function call(index: number, name: string, note: string): JsonObject {
  return { index, id: `call_${name}`, type: 'function', function: { name, arguments: JSON.stringify({ note }) } };
}

before(async () => {
  collector = await Collector.start();
  endpoint = await fakeEndpoint(async ({ path: url, headers, body }, response) => {
    if (!url.includes('/chat/completions')) {
      response.writeHead(404).end();
      return;
    }
    if (body['model'] === 'cut') {
      // The message is cut within the key.
      refuse(response, 400, { message: `${'x'.repeat(2_000 - KEY.length)}${KEY}${'y'.repeat(100)}` });
      return;
    }
    if (body['model'] === 'echo') {
      const message = `Incorrect API key: ${headers.authorization ?? ''} at ${url}. ${SPOKEN}`;
      refuse(response, 401, { message });
      return;
    }
    await watched.promise;
    const messages = Array.isArray(body['messages']) ? body['messages'] : [];
    const isFirst = !JSON.stringify(messages).includes('"role":"tool"');
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const one of pieces(`I know ${SPOKEN}.`)) {
      response.write(sse([one], false));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const calls = ['leak', 'big', 'crash'].map((name, index) => call(index, name, SPOKEN));
    response.end(
      sse([...(isFirst ? [chunk({ delta: { tool_calls: calls } })] : []), chunk({ finish: 'stop' }), usageChunk(3, 2)]),
    );
  });
  workspace = new Workspace(new Bench({ env: { ...ENV, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } }));
  workspace.write('leak.ts', LEAK);
  workspace.write('canary.ts', readFileSync(path.join(root, 'test/support/canary.ts'), 'utf8'));
  const files = {
    endpoint: endpoint.url.replace('//', '//desk:${env:UPASS}@').replace('/v1', '/${env:PKEY}/v1?key=${env:QKEY}'),
    model: { api_key: '${env:KEY}', headers: { 'x-pin': '${env:PIN}', 'x-port': '${env:PGPORT}' } },
    agent: { tools: [{ module: 'leak.ts', secrets: { token: '${env:TOKEN}', pin: '${env:PIN}' } }] },
    tasks: [{ id: 'one', question: 'Leak.', answer: 'never' }],
  };
  const launched = await workspace.run('run', workspace.batch('leaky', files), '--detach');
  warned = launched.stderr;
  assert.equal(launched.code, 0, launched.stderr);
  batch = launched.stdout.trim();
});
after(async () => {
  watched.resolve(undefined);
  await workspace.close();
  await endpoint[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

function assertClean(where: string, text: string): void {
  for (const forbidden of FORBIDDEN) {
    const at = text.indexOf(forbidden);
    assert.equal(at, -1, `${where}: …${text.slice(Math.max(0, at - 80), at + 80)}…`);
  }
}

function server(): { url: string; token: string } {
  const { port, token } = workspace.bench.serverFile() ?? assert.fail('no server');
  return { url: `http://127.0.0.1:${port}`, token };
}

async function get(route: string): Promise<string> {
  const { url, token } = server();
  return (await fetch(url + route, { headers: { authorization: `Bearer ${token}` } })).text();
}

describe('a secret is not found in', () => {
  it('the text that streams to a watcher', async () => {
    const [row] = await workspace.waitForRows(batch, (rows) => rows.some(({ state }) => state === 'running'));
    const { url, token } = server();
    const client = await FakeClient.connect(url, token);
    client.subscribe('s', row!.rollout, 0, { deltas: true });
    await client.frames.next('head');
    watched.resolve(undefined);
    let text = '';
    for (;;) {
      const frame = await client.frames.next('delta');
      text += frame.text;
      if (text.includes('<x>')) assert.fail(text);
      if ((text.match(/\[redacted\]/g) ?? []).length >= 10) break;
    }
    client.close();
    assertClean('deltas', text);
    assert.match(text, /I know \[redacted\] and \[redacted\] and/);
  });

  it('events, blobs, and the batch’s stream, in which numbers are as they were', async () => {
    const rows = await workspace.ended(batch);
    assert.equal(rows.length, 1, 'no try was lost');
    const api = await workspace.api();
    const events = await workspace.events(rows[0]!.rollout);
    assertClean('events', JSON.stringify(events));
    const blobs = [...JSON.stringify(events).matchAll(/"\$blob":"(\w+)"/g)];
    assert.ok(blobs.length > 0);
    for (const [, sha = ''] of blobs) assertClean(`blob ${sha}`, Buffer.from(await api.getBlob(sha)).toString('utf8'));
    const leaked = events.find((event) => event.kind === 'message' && JSON.stringify(event).includes('"pin"'));
    assert.match(JSON.stringify(leaked), /"pin":48151623,"text":"PIN \[redacted\]","port":5432/);
    assert.match(JSON.stringify(events.filter(({ kind }) => kind === 'log')), /whole: \[redacted\]/);
    const stream = await workspace.events(batch);
    assertClean('stream', JSON.stringify(stream));
    const note = stream.find((event) => event.kind === 'infra' && event.data.what === 'not_hidden');
    assert.match(JSON.stringify(note), /The value of PGPORT is too common to hide: records show it\./);
  });

  it('what the launch warns of, which names variables', () => {
    assertClean('warnings', warned);
    assert.match(warned, /the value of PGPORT is too common to hide/);
    assert.match(warned, /the value of PIN is a number/);
  });

  it('calls that are tried or repeated', async () => {
    const [row] = await workspace.ended(batch);
    const events = await workspace.events(row!.rollout);
    workspace.write('arguments.json', JSON.stringify({ note: 'n' }));
    const starts = events.filter((event) => event.kind === 'tool.start');
    for (const [name, ...args] of [
      ['list', 'tool', 'list', 'leaky.agent.yaml'],
      ...['leak', 'crash'].map((name) => [
        'try',
        'tool',
        'try',
        'leaky.agent.yaml',
        name,
        '--arguments',
        'arguments.json',
      ]),
      ...starts.map(({ seq }) => ['call', 'call', `${row!.rollout}@${seq}`]),
    ]) {
      const { stdout, stderr } = await workspace.run(...args);
      assertClean(name ?? '', stdout + stderr);
      if (name !== 'list') assert.match(stdout + stderr, /\[redacted\]/, args.join(' '));
    }
    assert.ok(starts.length >= 3);
  });

  it('saved pages, CSV, and everything that the command line prints', async () => {
    for (const [name, ...args] of [
      ['saved', 'view', batch, '--save', 'saved.html', '--with-trajectories'],
      ['show', 'show', batch],
      ['show step', 'show', `${batch}/one/1:1`],
      ['show --json', 'show', batch, '--json'],
      ['tail', 'tail', batch],
      ['tools', 'tools', batch],
      ['calls', 'tools', batch, '--calls', 'leak'],
      ['report', 'report', batch],
      ['export', 'export', batch],
      ['batches', 'batches'],
      ['check', 'check'],
      ['doctor', 'doctor'],
      ['target list', 'target', 'list'],
    ] as const) {
      const { stdout, stderr } = await workspace.run(...args);
      assertClean(name, stdout + stderr);
      assert.notEqual(stdout, '', `${name}: ${stderr}`);
      if (name === 'check') assert.match(stdout, /warning: the value of PGPORT is too common to hide/);
    }
    const saved = readFileSync(workspace.path('saved.html'), 'utf8');
    assert.match(saved, /\[redacted\]/);
    assertClean('saved.html', saved);
  });

  it('answers to coding agents', async () => {
    const client = await connectMcp(workspace, {
      mode: 'auto',
      env: { ...ENV, HOME: workspace.bench.folder, PATH: process.env['PATH'] ?? '' },
    });
    const rollout = `${batch}/one/1`;
    for (const [name, args] of Object.entries({
      list_batches: {},
      show_batch: { batch },
      list_attempts: { batch },
      read_trajectory: { rollout },
      read_call: { rollout, step: 1, call: 1 },
      search_trajectories: { batch, text: 'redacted' },
      check_files: { files: [] },
    })) {
      const answer = JSON.stringify(await client.callTool({ name, arguments: args }));
      assertClean(name, answer);
    }
    await client.close();
  });

  it('diagnostics of the editor', async () => {
    const file = 'leaky.agent.yaml';
    const client = await LspClient.start(workspace.path(), { env: { ...process.env, ...ENV } });
    await client.open(file, readFileSync(workspace.path(file), 'utf8'));
    assertClean('diagnostics', JSON.stringify(await client.problems(file)));
    await client.close();
  });

  it('traces and metrics', async () => {
    await collector.until(() => collector.roots().length > 0, 'trace');
    assertClean('spans', JSON.stringify(collector.spans));
    assertClean('metrics', await get('/metrics'));
    assertClean('server', await get('/v1/server'));
  });

  it('the error of an endpoint that repeats its key and URL', async () => {
    const file = workspace.batch('echo', {
      endpoint: endpoint.url.replace('//', '//desk:${env:UPASS}@').replace('/v1', '/${env:PKEY}/v1?key=${env:QKEY}'),
      model: { name: 'echo', api_key: '${env:KEY}' },
      agent: { tools: [{ module: 'leak.ts', secrets: { token: '${env:TOKEN}', pin: '${env:PIN}' } }] },
      tasks: [{ id: 'one', question: 'Leak.', answer: 'never' }],
    });
    const ran = await workspace.run('run', file);
    assert.equal(ran.code, 3);
    assertClean('run', ran.stdout + ran.stderr);
    assert.match(ran.stderr, /rejected the API key \(401\): Incorrect API key: Bearer \[redacted\]/);
    const [echo] = (await (await workspace.api()).batches()).batches.filter(({ name }) => name === 'echo');
    assertClean('stream of echo', JSON.stringify(await workspace.events(echo!.batch)));
    assertClean('server', await get('/v1/server'));
  });

  it('an error text that was cut within the key', async () => {
    const file = workspace.batch('cut', {
      endpoint: endpoint.url,
      model: { name: 'cut', api_key: '${env:KEY}' },
      tasks: [{ id: 'one', question: 'Leak.', answer: 'never' }],
    });
    await workspace.run('run', file);
    const [cut] = (await (await workspace.api()).batches()).batches.filter(({ name }) => name === 'cut');
    const rows = await workspace.rows(cut!.batch);
    const text = JSON.stringify(await Promise.all(rows.map(({ rollout }) => workspace.events(rollout))));
    assert.match(text, /xxx\[redacted\]…/);
    assert.ok(!text.includes(KEY.slice(0, 6)));
  });

  it('forks name the values that cannot be hidden, as launches do', async () => {
    const visible = /The value of PGPORT is too common to hide/;
    const from = `${batch}/one/1:1`;
    const forked = await workspace.run('fork', from, '--detach');
    assert.equal(forked.code, 0, forked.stderr);
    assert.match(forked.stderr, visible);
    const { warnings } = await workspace.json<{ warnings: string[] }>('fork', from, '--detach');
    assert.match(warnings.join(), visible);
    const client = await connectMcp(workspace, { mode: 'legacy', env: { ...process.env, ...ENV } });
    const answer = await client.callTool({ name: 'fork_rollout', arguments: { from } });
    assert.match(textOf(answer), visible);
    await client.close();
    // The store has the values until their batches end.
    const { batches } = await (await workspace.api()).batches();
    for (const one of batches) await workspace.ended(one.batch);
    assertClean('the answers', forked.stderr + forked.stdout + warnings.join() + textOf(answer));
  });

  it('any file of the store, with all logs', () => {
    const { store } = workspace.bench;
    for (const name of readdirSync(store, { recursive: true, encoding: 'utf8' })) {
      const file = path.join(store, name);
      try {
        assertClean(name, readFileSync(file, 'utf8'));
      } catch (error) {
        // A folder, or a file of a worker that has just ended.
        if (!['EISDIR', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      }
    }
  });
});
