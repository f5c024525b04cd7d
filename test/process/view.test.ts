// The pages that a server sends to browsers, and how a browser's page calls it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { wsSocket } from '../../src/client/subscribe.ts';
import { follow, type OpenSocket } from '../../src/protocol/follow.ts';
import { cuttingProxy } from '../support/cuttingProxy.ts';
import { endingEvents, logEvent, openingEvents } from '../support/fakeWorker.ts';
import { FONT, PART, pagesFolder, SCRIPT } from '../support/pagesFolder.ts';
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';

describe('/view/', () => {
  const store = new TestStore();
  let server: TestServer;
  before(async () => {
    server = await store.start(['--executor', 'none', '--pages', pagesFolder(store.folder)]);
  });
  after(() => store[Symbol.asyncDispose]());

  const get = (path: string, init: RequestInit & { token?: string } = {}): Promise<Response> =>
    server.fetch(path, { token: '', redirect: 'manual', ...init });

  test('is where people land who only type the host', async () => {
    for (const place of ['/', '/view']) {
      const response = await get(place);
      assert.deepEqual([response.status, response.headers.get('location')], [308, '/view/']);
    }
    assert.equal((await get('/other')).status, 404);
  });

  test('serves the page to anyone, and lets it run only its own files', async () => {
    const response = await get('/view/');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(response.headers.get('cache-control'), 'no-cache');
    const policy = response.headers.get('content-security-policy') ?? '';
    const { host } = new URL(server.url);
    for (const part of [
      "default-src 'none'",
      "script-src 'self';",
      "style-src 'self';",
      "font-src 'self';",
      `connect-src 'self' ws://${host} wss://${host};`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]) {
      assert.ok(policy.includes(part), `${part} in ${policy}`);
    }
    assert.doesNotMatch(policy, /unsafe/);
    const html = await response.text();
    assert.match(html, /<html lang="en">/);
    assert.match(html, /<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;/);
    assert.match(html, /<link rel="modulepreload" href="\/view\/start\.js" fetchpriority="high">/);
    assert.match(html, /<script type="module" src="\/view\/start\.js" async><\/script>/);
    assert.match(html, /<div id="page"><div class="skeleton is-page"/);
    assert.doesNotMatch(html, /<script>|<style>| style=| on[a-z]+=/);
  });

  test('serves the files of the page with their media types, to be revalidated by browsers', async () => {
    for (const [name, media] of [
      ['start.js', 'text/javascript; charset=utf-8'],
      [PART, 'text/javascript; charset=utf-8'],
      ['page.css', 'text/css; charset=utf-8'],
      ['codicon.ttf', 'font/ttf'],
    ] as const) {
      const response = await get(`/view/${name}`);
      assert.deepEqual(
        [response.status, response.headers.get('content-type'), response.headers.get('x-content-type-options')],
        [200, media, 'nosniff'],
        name,
      );
      await response.arrayBuffer();
    }
    assert.equal(await (await get('/view/start.js')).text(), SCRIPT);
    assert.match((await get(`/view/${PART}`)).headers.get('cache-control') ?? '', /immutable/);
    const font = await get('/view/codicon.ttf');
    assert.deepEqual(Buffer.from(await font.arrayBuffer()), FONT);
    const again = await get('/view/codicon.ttf', { headers: { 'if-none-match': font.headers.get('etag') ?? '' } });
    assert.deepEqual([again.status, (await again.arrayBuffer()).byteLength], [304, 0]);
    const head = await get('/view/start.js', { method: 'HEAD' });
    assert.deepEqual(
      [head.status, head.headers.get('content-length'), await head.text()],
      [200, String(Buffer.byteLength(SCRIPT)), ''],
    );
    assert.equal((await get('/view')).headers.get('location'), '/view/');
  });

  test('serves no other file, whatever its name', async () => {
    for (const path of [
      '/view/page.js',
      '/view/page.js.map',
      '/view/show-B1B2C3D4.js.map',
      '/view/..%2fserver.json',
      '/view/%2e%2e%2fserver.json',
      '/view/..%5cserver.json',
      '/view/constructor',
      '/view/__proto__',
      '/view/a/b',
      '/view//',
      '/view/page.js%00',
    ]) {
      const response = await get(path);
      assert.equal(response.status, 404, path);
      assert.doesNotMatch(await response.text(), /read_token/);
    }
    // Literally, without the normalization that URL does.
    const raw = http.request({ host: '127.0.0.1', port: server.file.port, path: '/view/../server.json' });
    raw.end();
    const [response] = (await once(raw, 'response')) as [http.IncomingMessage];
    assert.equal(response.statusCode, 404);
    response.resume();
    assert.equal((await get('/view/', { method: 'POST' })).status, 400);
  });

  test('keeps the API behind the token, and pages of other sites out', async () => {
    assert.equal((await get('/v1/server')).status, 401);
    assert.equal((await get('/v1/server', { token: server.file.read_token })).status, 200);
    assert.equal(
      (await get('/v1/batches/b1/commands', { method: 'POST', body: '{}', token: server.file.read_token })).status,
      403,
    );
    assert.equal((await get('/view/', { headers: { origin: 'https://elsewhere.example' } })).status, 403);
  });

  test('accepts a browser’s token as a WebSocket subprotocol, and echoes it', async () => {
    const url = `${server.url.replace('http', 'ws')}/v1/client`;
    const protocol = `token.${server.file.read_token}`;
    const socket = new WebSocket(url, [protocol]);
    await once(socket, 'open');
    assert.equal(socket.protocol, protocol);
    const closed = once(socket, 'close');
    socket.close();
    await closed;
    const stranger = new WebSocket(url, ['token.0']);
    const failed = once(stranger, 'error');
    await failed;
  });

  test('continues a connection that was cut where it was', async () => {
    const batch = await server.submit(plainSubmission({ attempts: 1 }), tasks(1));
    const worker = await server.worker(batch);
    const [grant] = await worker.lease(1);
    assert.ok(grant !== undefined);
    await worker.appendAcked(grant, [...openingEvents(grant), logEvent(3, 'before')]);
    const proxy = await cuttingProxy(server.file.port);
    const { token } = server.file;
    const opened: number[] = [];
    const through = wsSocket(() => ({ url: `http://127.0.0.1:${proxy.port}`, token }));
    const counted: OpenSocket = (events) => {
      opened.push(seqs.length);
      return through(events);
    };
    const seqs: number[] = [];
    const lost: boolean[] = [];
    const end = new AbortController();
    // The second connection is cut at its very beginning, before the server receives it.
    let cut: Promise<void> | undefined;
    const following = follow(
      counted,
      { stream: grant.rollout },
      {
        events: (events) => {
          seqs.push(...events.map(({ seq }) => seq));
          if (events.some(({ kind }) => kind === 'rollout.end')) end.abort();
        },
        head: (cursor) => {
          if (cursor !== 3 || cut !== undefined) return;
          cut = proxy.cutAt('GET /v1/client', 'before');
          proxy.cutAll();
          void cut.then(() => worker.appendAcked(grant, endingEvents(4, { passed: true })));
        },
        lost: (value) => lost.push(value),
      },
      AbortSignal.any([end.signal, AbortSignal.timeout(60_000)]),
    );
    await following;
    await proxy.close();
    assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(lost, [true, false]);
    assert.deepEqual(opened, [0, 3, 3]);
  });
});

test('a server without its pages says so', async () => {
  await using store = new TestStore();
  const server = await store.start(['--executor', 'none', '--pages', store.folder]);
  const response = await server.fetch('/view/', { token: '' });
  assert.equal(response.status, 503);
  assert.match(await response.text(), /npm run build/);
});
