/** What clients and editors ask of endpoints goes through a real CONNECT proxy: no other way leads to these hosts. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { servedModels } from '../../../src/language/facts/servedModels.ts';
import { Tokenizers } from '../../../src/language/prompts/tokenize.ts';
import { outboundRequest } from '../../../src/net/outboundRequest.ts';
import { certificateFor } from '../../support/certificate.ts';
import { type ConnectProxy, connectProxy } from '../../support/connectProxy.ts';

const HOST = 'models.example.invalid';
const NEVER = new AbortController().signal;
const root = path.resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

const DESCRIPTION = {
  openapi: '3.1.0',
  info: { title: 'Desk', version: '1' },
  servers: [{ url: `https://${HOST}` }],
  paths: { '/loans': { get: { operationId: 'listLoans', responses: { 200: { description: 'Loans.' } } } } },
};

describe('requests of clients', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-requests-'));
  const received: string[] = [];
  const { ca, cert, key } = certificateFor(HOST);
  let server: https.Server;
  let proxy: ConnectProxy;
  let env: Record<string, string | undefined>;
  before(async () => {
    server = https.createServer({ cert, key }, (request, response) => {
      void text(request).then((body) => {
        const { method = '', url = '', headers } = request;
        received.push(`${method} ${url} ${headers.authorization ?? ''}`.trim());
        const isCall = body.includes('"method"');
        if (url === '/moved') response.writeHead(302, { location: '/openapi.json' });
        else response.writeHead(isCall ? 404 : 200, { 'content-type': 'application/json' });
        const replies: Record<string, unknown> = {
          '/v1/models': { data: [{ id: 'desk-model', max_model_len: 4096 }] },
          '/tokenize': { count: 7 },
          '/openapi.json': DESCRIPTION,
        };
        response.end(JSON.stringify(replies[url] ?? {}));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    proxy = await connectProxy({ port: () => port });
    const file = path.join(folder, 'ca.pem');
    writeFileSync(file, ca);
    env = { PATH: process.env['PATH'], HOME: folder, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: file, KEY: 'k' };
  });
  after(async () => {
    await proxy[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs code in a process with the proxy and the authority in its environment. Returns what it prints. */
  const evaluate = async (modules: readonly string[], code: string): Promise<unknown> => {
    const urls = modules.map((module) => JSON.stringify(new URL(`file://${path.join(root, 'src', module)}`).href));
    const imports = urls.map((url, index) => `const m${index} = await import(${url});`).join('\n');
    const text = `${imports}\nconst never = new AbortController().signal;\n${code}\nprocess.exit();`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text], { env, cwd: folder });
    return JSON.parse(stdout);
  };

  it('are those of the language server', async () => {
    const modules = ['net/outboundRequest.ts', 'language/facts/servedModels.ts', 'language/prompts/tokenize.ts'];
    const ref = JSON.stringify({ endpoint: `https://${HOST}/v1`, model: 'desk-model', apiKey: 'k', headers: {} });
    const code =
      `const models = await m1.servedModels(${ref}, m0.outboundRequest, never);` +
      `const count = await new m2.Tokenizers(m0.outboundRequest).count(${ref}, 'a text');` +
      'console.log(JSON.stringify({ models, count }));';
    assert.deepEqual(await evaluate(modules, code), { models: ['desk-model'], count: 7 });
    assert.deepEqual(received.splice(0), ['GET /v1/models Bearer k', 'POST /tokenize Bearer k']);
    assert.deepEqual([...new Set(proxy.targets.splice(0))], [`${HOST}:443`]);
    // Without the proxy, nobody knows the host.
    const target = { endpoint: `https://${HOST}/v1`, model: 'm', apiKey: 'k', headers: {} };
    await assert.rejects(servedModels(target, outboundRequest, NEVER));
    assert.equal(await new Tokenizers(outboundRequest).count(target, 'a'), undefined);
  });

  it('are the measures of a world', async () => {
    const world = {
      ...{ name: 'desk', file: 'desk.world.yaml', kind: 'simulated', domain: 'mcp', texts: {}, perturb: [] },
      model: {
        endpoints: [`https://${HOST}/v1`],
        name: 'desk-model',
        api_key: '${env:KEY}',
        headers: {},
        sampling: {},
      },
      definitions: [],
    };
    const code = `console.log(JSON.stringify(await m0.measureWorld(${JSON.stringify(world)}, { KEY: 'k' }, never)));`;
    const meter = await evaluate(['client/simulation/measureWorld.ts'], code);
    assert.deepEqual(meter, { ...(meter as object), system: 7, exact: true, context: 4096 });
    assert.deepEqual(received.splice(0), ['POST /tokenize Bearer k', 'GET /v1/models Bearer k']);
    assert.deepEqual([...new Set(proxy.targets.splice(0))], [`${HOST}:443`]);
  });

  it('are descriptions of APIs, also where they have moved', async () => {
    const words = ['tool', 'openapi', `https://${HOST}/moved`, '--out', 'desk.ts'];
    await run(process.execPath, [path.join(root, 'src/cli/entry.ts'), ...words], { env, cwd: folder });
    assert.match(readFileSync(path.join(folder, 'desk.ts'), 'utf8'), /listLoans|list_loans/);
    assert.deepEqual(received.splice(0), ['GET /moved', 'GET /openapi.json']);
    assert.deepEqual([...new Set(proxy.targets.splice(0))], [`${HOST}:443`]);
  });

  it('are checks by rollout doctor', async () => {
    writeFileSync(
      path.join(folder, 'desk.agent.yaml'),
      `version: 1\nname: desk\nprompt: Help.\nmodel:\n  endpoint: https://${HOST}/v1\n  name: desk-model\n` +
        '  api_key: ${env:KEY}\n',
    );
    // It also finds what this machine lacks, and then ends with 1.
    const words = [path.join(root, 'src/cli/entry.ts'), 'doctor', '--json'];
    const child = spawn(process.execPath, words, { env, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    const stdout = await text(child.stdout);
    assert.match(stdout, /models\.example\.invalid\/v1 serves desk-model/);
    assert.deepEqual(received.splice(0), ['GET /v1/models Bearer k']);
    assert.deepEqual([...new Set(proxy.targets.splice(0))], [`${HOST}:443`]);
  });

  it('are those to MCP servers at a URL', async () => {
    const server = JSON.stringify({ url: `https://${HOST}/mcp`, headers: { authorization: 'Bearer k' } });
    const code =
      `const failed = await m0.listMcpTools(${server}, '.', {}, AbortSignal.timeout(20_000)).catch((e) => e.message);` +
      'console.log(JSON.stringify(String(failed)));';
    await evaluate(['tools/mcp/listTools.ts'], code);
    assert.ok(received.splice(0).includes('POST /mcp Bearer k'));
    assert.deepEqual([...new Set(proxy.targets.splice(0))], [`${HOST}:443`]);
  });
});
