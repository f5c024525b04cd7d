/** What a server sends to addresses of users goes through a real CONNECT proxy: no other way leads to these hosts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { proxyTo, setOutbound } from '../../../src/net/outbound.ts';
import { outboundRequest } from '../../../src/net/outboundRequest.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { notifyEnd } from '../../../src/server/batches/notify.ts';
import { pauseEngines } from '../../../src/server/endpoints/engines.ts';
import { callbackBody } from '../../../src/server/groups/callbackBody.ts';
import { sendTraces } from '../../../src/server/telemetry/otlp/collector.ts';
import { certificateFor } from '../../support/certificate.ts';
import { type ConnectProxy, connectProxy } from '../../support/connectProxy.ts';

const HOST = 'hooks.example.invalid';
const { signal } = new AbortController();

interface Received {
  readonly path: string;
  readonly body: string;
  readonly length: string | undefined;
  readonly credential?: string;
}

describe('requests to addresses of users', () => {
  const received: Received[] = [];
  let server: http.Server;
  let proxy: ConnectProxy;
  let at: string;
  before(async () => {
    server = http.createServer((request, response) => {
      void text(request).then((body) => {
        const { url = '', headers } = request;
        const { authorization: credential } = headers;
        received.push({
          ...{ path: url, body, length: headers['content-length'] },
          ...(credential === undefined ? {} : { credential }),
        });
        const [, elsewhere] = /^\/to\/(.+)$/.exec(url) ?? [];
        if (elsewhere !== undefined) response.writeHead(302, { location: elsewhere });
        if (url === '/moved') response.writeHead(307, { location: '/here' });
        response.end('{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    proxy = await connectProxy({ credentials: 'ann:secret', port: () => port });
    setOutbound({ proxy: proxy.url.replace('//', '//ann:secret@') });
    at = `http://${HOST}`;
  });
  after(async () => {
    setOutbound({});
    await proxy[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });

  it('are those of notifications, collectors, and engines', async () => {
    const lines: string[] = [];
    await notifyEnd(`${at}/moved`, { batch: 'b1' } as BatchRow, (line) => lines.push(line), signal);
    assert.deepEqual(await sendTraces({ url: `${at}/v1/traces`, headers: {} }, '{"a":1}', signal), { how: 'taken' });
    await pauseEngines([{ url: `${at}/v1`, headers: {} }], 'wait', 5_000, signal);
    assert.deepEqual(lines, []);
    const bodies = received.splice(0).map(({ path: place, body }) => [place, body]);
    assert.deepEqual(bodies, [
      ['/moved', '{"type":"batch.end","batch":"b1"}'],
      ['/here', '{"type":"batch.end","batch":"b1"}'],
      ['/v1/traces', '{"a":1}'],
      ['/pause?mode=wait', ''],
    ]);
    assert.ok(proxy.targets.every((target) => target === `${HOST}:80`) && proxy.targets.length > 0);
  });

  it('are callbacks, whole or in chunks', async () => {
    async function* pieces(): AsyncGenerator<string> {
      for (const piece of ['{"a":', '"ü"', '}']) yield await Promise.resolve(piece);
    }
    for (const whole of [100, 2]) {
      const { body } = await callbackBody(pieces(), whole);
      const response = await outboundRequest(`${at}/group`, { method: 'POST', body, redirects: true, signal });
      assert.equal(response.ok, true);
      await response.drop();
    }
    assert.deepEqual(received.splice(0), [
      { path: '/group', body: '{"a":"ü"}', length: '10' },
      { path: '/group', body: '{"a":"ü"}', length: undefined },
    ]);
  });

  it('follow any redirection of what only reads, and give no credential to another host', async () => {
    const headers = { Authorization: 'Bearer k' };
    for (const method of ['GET', 'POST'] as const)
      for (const to of ['/there', 'http://elsewhere.example.invalid/there']) {
        const request = { method, headers, redirects: true, signal };
        const response = await outboundRequest(`${at}/to/${to}`, request);
        assert.equal(response.status, method === 'GET' ? 200 : 302);
        await response.drop();
      }
    const seen = received.splice(0).map(({ path: place, credential }) => [place, credential]);
    const other = '/to/http://elsewhere.example.invalid/there';
    assert.deepEqual(seen, [
      ['/to//there', 'Bearer k'],
      ['/there', 'Bearer k'],
      [other, 'Bearer k'],
      ['/there', undefined],
      ['/to//there', 'Bearer k'],
      [other, 'Bearer k'],
    ]);
  });

  it('read no more than they may', async () => {
    const response = await outboundRequest(`${at}/long`, { method: 'GET', signal });
    await assert.rejects(response.text(1), /larger than 1 bytes/);
    received.length = 0;
  });

  it('reach what NO_PROXY names directly', async () => {
    const { port } = server.address() as AddressInfo;
    const before = proxy.targets.length;
    const response = await outboundRequest(`http://127.0.0.1:${port}/own`, { method: 'GET', signal });
    assert.equal(await response.text(), '{}');
    assert.equal(proxy.targets.length, before);
    received.length = 0;
  });

  it('fail with what the proxy says', async () => {
    setOutbound({ proxy: proxy.url });
    const request = outboundRequest('http://other.example.invalid/', { method: 'GET', signal });
    await assert.rejects(request, /The proxy 127\.0\.0\.1:\d+ requires a user name and a password/);
  });
});

it('services of the cluster are reached directly by their short names', async () => {
  setOutbound({ proxy: 'http://proxy.example.org:3128', noProxy: ['10.0.0.0/8', 'fd00::/8'] });
  process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1';
  try {
    const direct = async (url: string, ...addresses: string[]): Promise<boolean> =>
      (await proxyTo(new URL(url), () =>
        Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))),
      )) === undefined;
    assert.equal(await direct('http://collector.observability:4318/', '10.1.2.3'), true);
    assert.equal(await direct('https://trainer/', '10.1.2.3', 'fd00::1'), true);
    assert.equal(await direct('http://example.org/', '10.1.2.3', '93.184.216.34'), false);
    assert.equal(await direct('http://nobody/'), false, 'a name that does not exist');
    assert.equal(await direct('http://a.example.org/', '10.1.2.3'), false, 'a long name, which a proxy may know');
    delete process.env['KUBERNETES_SERVICE_HOST'];
    assert.equal(await direct('http://trainer/', '10.1.2.3'), false, 'outside of a cluster');
  } finally {
    delete process.env['KUBERNETES_SERVICE_HOST'];
    setOutbound({});
  }
});

it('a program with a proxy and authorities in its environment reaches a TLS server of that authority', async () => {
  const { ca, cert, key } = certificateFor(HOST);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-outbound-'));
  const server = https.createServer({ cert, key }, (_, response) => response.end('{}'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using proxy = await connectProxy({ port: () => port });
  try {
    const file = path.join(folder, 'ca.pem');
    writeFileSync(file, ca);
    const module = new URL('../../../src/server/telemetry/otlp/collector.ts', import.meta.url).href;
    const code =
      `const { sendTraces } = await import(${JSON.stringify(module)});` +
      `const sent = await sendTraces({ url: 'https://${HOST}/v1/traces', headers: {} }, '{}', ` +
      'new AbortController().signal); console.log(JSON.stringify(sent)); process.exit();';
    const run = async (env: Record<string, string>): Promise<string> => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: process.env['PATH'], HTTPS_PROXY: proxy.url, ...env },
      });
      return (await text(child.stdout)).trim();
    };
    assert.equal(await run({ NODE_EXTRA_CA_CERTS: file }), '{"how":"taken"}');
    assert.match(await run({}), /"how":"later","text":".*certificate/);
    assert.ok(proxy.targets.includes(`${HOST}:443`));
  } finally {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
});
