// `rollout lsp` over stdin and stdout, as an editor has it: one dialogue against its transcript, then inputs from
// outside the files.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { CodeAction, CompletionList, Location } from 'vscode-languageserver-protocol';
import { PLACES_NAMED, placesNamed, type QueryPlace } from '../../src/config/queryPlaces.ts';
import { until } from '../e2e/support/poll.ts';
import { LspClient } from '../support/lspClient.ts';

const TRANSCRIPT = path.resolve(import.meta.dirname, '../fixtures/language/dialogue.txt');
const SERVER = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js',
);

const AGENT = `version: 1
name: desk
model:
  endpoint: 'demo:'
  name: demo
prompt: ../prompts/desk.md
tools:
  - module: ../tools/desk.ts
answer: { tool: submitt }
limits: { stpes: 20, seconds: 15 min }
`;
const FILES: Readonly<Record<string, string>> = {
  'agents/desk.agent.yaml': AGENT,
  'prompts/desk.md': 'Find out {{task.qestion}} in {{task.meta.city}}.\n',
  'tools/desk.ts':
    "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\n\n/** Ends it. */\nexport const submit = " +
    "tool({\n  description: 'Gives the answer.',\n  input: z.object({ answer: z.string() }),\n  effect: " +
    "'pure',\n  run: ({ answer }) => answer,\n});\n",
  'data/tasks.jsonl':
    '{"id":"a","question":"How ' +
    'many?","answer":"3","city":"Basel"}\n{"id":"b","question":"Who?","answer":"Eva","city":"Bern"}\n',
  'batches/night.batch.yaml':
    'version: 1\nagent: ../agents/desk.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\nscorer: { kind: exact }\n',
};

let folder: string;
let client: LspClient;

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lsp-'));
  for (const [file, text] of Object.entries(FILES)) write(file, text);
});
after(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  assert.equal(await client.close(), 0, 'the server ends as the protocol wants it');
});

describe('a dialogue', () => {
  it('equals its transcript word for word', async () => {
    client = await LspClient.start(folder);
    const said: string[] = [];
    const home = pathToFileURL(folder).href;
    const note = (line: string, value: unknown): void =>
      void said.push(line, JSON.stringify(value, undefined, 1).replaceAll(home, 'file:///w'), '');
    const request = async (method: string, file: string, marked: string, more: object = {}): Promise<void> => {
      note(
        `> ${method} ${file} ${marked.trim()}`,
        await client.connection.sendRequest(method, { ...client.at(file, marked), ...more }),
      );
    };
    const actions = async (file: string, marked: string): Promise<void> => {
      const { textDocument, position } = client.at(file, marked);
      const found: CodeAction[] = await client.connection.sendRequest('textDocument/codeAction', {
        textDocument,
        range: { start: position, end: position },
        context: { diagnostics: [] },
      });
      note(
        `> textDocument/codeAction ${file} ${marked}`,
        found.map(({ title, kind, isPreferred, edit }) => ({ title, kind, isPreferred, edit: edit?.documentChanges })),
      );
    };
    const [agent, prompt, batch] = ['agents/desk.agent.yaml', 'prompts/desk.md', 'batches/night.batch.yaml'];

    await client.open(agent, AGENT);
    await client.open(prompt, FILES[prompt] ?? '');
    await client.open(batch, FILES[batch] ?? '');
    // Problems that require reading the tools arrive after those of the file alone.
    const whole = await client.problems(agent, (problems) => problems.some(({ code }) => code === 'unknown_tool'));
    note(`< problems of ${agent}`, whole);
    note(`< problems of ${prompt}`, await client.problems(prompt, (problems) => problems.length > 0));
    await actions(agent, 'stp¦es');
    await actions(agent, 'sub¦mitt');
    await actions(prompt, 'qes¦tion');
    await actions(agent, 'na¦me: desk');
    await request('textDocument/hover', agent, '15 m¦in');
    await request('textDocument/hover', agent, 'tools/d¦esk.ts');
    await request('textDocument/hover', prompt, 'meta.ci¦ty');
    await request('textDocument/definition', agent, 'prompts/d¦esk.md');
    await request('textDocument/definition', prompt, 'meta.ci¦ty');
    await client.edit(agent, 'submitt', 'submit');
    await client.edit(agent, 'stpes', 'steps');
    await client.edit(prompt, 'qestion', 'question');
    note(`< problems of ${agent}`, await client.problems(agent, (problems) => problems.length === 0));
    note(`< problems of ${prompt}`, await client.problems(prompt, (problems) => problems.length === 0));
    await request('textDocument/hover', agent, 'sub¦mit');
    await request('textDocument/definition', agent, 'sub¦mit');
    await client.edit(agent, 'limits: {', 'context:\n  over\nlimits: {');
    await request('textDocument/completion', agent, '  over¦\n');
    await client.edit(agent, 'over', 'overflow: ');
    await request('textDocument/completion', agent, 'overflow: ¦');
    await client.edit(prompt, '{{task.question}}', '{{task.');
    await request('textDocument/completion', prompt, '{{task.¦');

    const text = said.join('\n');
    if (process.env['UPDATE_TRANSCRIPTS'] !== undefined) writeFileSync(TRANSCRIPT, text);
    assert.equal(text, readFileSync(TRANSCRIPT, 'utf8').replaceAll('\r\n', '\n'));
  });
});

describe('inputs from outside the files', () => {
  it('models of an endpoint and tools of a server are queried for trusted files', async () => {
    const keys: (string | undefined)[] = [];
    const endpoint = http.createServer((request, response) => {
      keys.push(request.headers.authorization);
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [{ id: 'Qwen/Qwen3-32B' }] }));
    });
    await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
      const file = 'agents/live.agent.yaml';
      const text =
        `version: 1\nname: live\nmodel: { endpoint: "${url}", name: Qwen3-32B, api_key: "\${env:LSP_KEY}" ` +
        `}\nprompt: Go on.\ntools:\n  - mcp: { command: node, args: [${JSON.stringify(SERVER)}] }\n    tools: ` +
        '[no_such_tool]\n';
      write(file, text);
      client = await LspClient.start(folder, { args: ['--trust'], env: { ...process.env, LSP_KEY: 'of-the-test' } });
      await client.open(file, text);
      const problems = await client.problems(
        file,
        (found) => found.some(({ code }) => code === 'not_served') && found.some(({ code }) => code === 'unknown_tool'),
      );
      assert.deepEqual(
        problems.map(({ code, severity }) => `${String(code)} ${String(severity)}`),
        ['not_served 2', 'unknown_tool 2'],
      );
      assert.deepEqual(keys, ['Bearer of-the-test']);
      const names = async (marked: string): Promise<string[]> => {
        const list: CompletionList = await client.connection.sendRequest(
          'textDocument/completion',
          client.at(file, marked),
        );
        return list.items.map(({ label }) => label);
      };
      assert.deepEqual(await names('name: Qwen¦3'), ['Qwen/Qwen3-32B']);
      assert.ok((await names('[no_such¦_tool')).includes('create_entities'), 'the names that the server listed');
      assert.ok((await names('${env:LSP¦_KEY')).includes('LSP_KEY'));
    } finally {
      endpoint.close();
      rmSync(path.join(folder, 'agents/live.agent.yaml'));
    }
  });

  it('a trusted folder starts and sends nothing before the user allows what its files name', async () => {
    let requests = 0;
    const endpoint = http.createServer((_, response) => {
      requests++;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [{ id: 'other' }] }));
    });
    await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
    const file = 'agents/asking.agent.yaml';
    const marker = path.join(folder, 'started');
    const program = `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`;
    try {
      const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`;
      const text =
        `version: 1\nname: asking\nmodel: { endpoint: "${url}", name: x }\nprompt: Go on.\nlimitz: {}\ntools:\n` +
        `  - mcp: { command: node, args: [-e, ${JSON.stringify(program)}] }\n    tools: [one]\n`;
      write(file, text);
      client = await LspClient.start(folder);
      const places: QueryPlace[] = [];
      const named = new Promise<void>((resolve) => {
        client.connection.onNotification(PLACES_NAMED, (params: unknown) => {
          if (places.push(...placesNamed.parse(params).places) === 2) resolve();
        });
      });
      const configure = (allowedPlaces: readonly string[]): Promise<void> =>
        client.connection.sendNotification('workspace/didChangeConfiguration', {
          settings: { trusted: true, allowedPlaces },
        });
      await configure([]);
      await client.open(file, text);
      await client.problems(file, (found) => found.length === 1);
      await named;
      assert.deepEqual(places.map(({ kind }) => kind).sort(), ['command', 'endpoint']);
      assert.deepEqual([requests, existsSync(marker)], [0, false]);
      await configure(places.filter(({ kind }) => kind === 'endpoint').map(({ id }) => id));
      await client.problems(file, (found) => found.some(({ code }) => code === 'not_served'));
      assert.deepEqual([requests, existsSync(marker)], [1, false]);
    } finally {
      endpoint.close();
      rmSync(path.join(folder, file));
    }
  });

  it('nothing is queried, and no variable is revealed, for untrusted files', async () => {
    let requests = 0;
    const endpoint = http.createServer((_, response) => {
      requests++;
      response.end();
    });
    await new Promise<void>((resolve) => void endpoint.listen(0, '127.0.0.1', resolve));
    try {
      const file = 'agents/foreign.agent.yaml';
      const text =
        'version: 1\nname: foreign\nmodel: { endpoint: ' +
        `"http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1", name: x, api_key: "\${env:P}" ` +
        '}\nprompt: Go on.\nlimitz: {}\n';
      write(file, text);
      client = await LspClient.start(folder);
      await client.open(file, text);
      await client.problems(file, (found) => found.length === 1);
      const list: CompletionList = await client.connection.sendRequest(
        'textDocument/completion',
        client.at(file, '${env:¦P'),
      );
      assert.deepEqual(list.items, []);
      assert.equal(requests, 0);
    } finally {
      endpoint.close();
      rmSync(path.join(folder, 'agents/foreign.agent.yaml'));
    }
  });

  it('changes on the disk by others are noticed', async () => {
    client = await LspClient.start(folder);
    const [agent, file] = ['agents/desk.agent.yaml', 'prompts/other.md'];
    await client.open(agent, AGENT.replace('desk.md', 'other.md'));
    await client.problems(agent, (problems) => problems.some(({ code }) => code === 'file'));
    write(file, 'Hello.\n');
    await client.connection.sendNotification('workspace/didChangeWatchedFiles', {
      changes: [{ uri: client.uri(file), type: 1 }],
    });
    await client.problems(agent, (problems) => problems.length > 0 && !problems.some(({ code }) => code === 'file'));
    const places = await until(async () => {
      const found: Location[] = await client.connection.sendRequest(
        'textDocument/definition',
        client.at(agent, 'oth¦er.md'),
      );
      return found.length > 0 ? found : undefined;
    });
    assert.deepEqual(
      places.map(({ uri }) => uri),
      [client.uri(file)],
    );
  });
});
