import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { RIGHTS } from '../../../src/protocol/access.ts';
import { checkOrigin } from '../../../src/server/access/origins.ts';
import { type Identity, ownerOf, presentedToken, Tokens } from '../../../src/server/access/tokens.ts';
import { Router } from '../../../src/server/http/router.ts';
import { parseOptions } from '../../../src/server/process/options.ts';
import { rangeOf } from '../../../src/server/routes/blobs.ts';

const FULL: Identity = { kind: 'client', rights: new Set(RIGHTS) };
const READ: Identity = { kind: 'client', rights: new Set(['read']) };
const request = (headers: Record<string, string>): IncomingMessage => ({ headers }) as unknown as IncomingMessage;

describe('tokens', () => {
  test('identify the caller', () => {
    const tokens = new Tokens('key');
    assert.deepEqual(tokens.identify(tokens.full), FULL);
    assert.deepEqual(tokens.identify(tokens.read), READ);
    assert.equal(tokens.identify(''), undefined);
    assert.equal(tokens.identify(`${tokens.full} `), undefined);
    assert.notEqual(new Tokens('key').full, tokens.full);
  });

  test('of sessions belong to one session of one worker, at every server of the store', () => {
    const tokens = new Tokens('key');
    const token = tokens.session('b1', 's1', 'local-1');
    const identity = { kind: 'session', batch: 'b1', session: 's1', owner: ownerOf('local-1') };
    assert.deepEqual(new Tokens('key').identify(token), identity);
    assert.equal(new Set([ownerOf('local-1'), ownerOf('local-2'), ownerOf('local-1', 'uid')]).size, 3);
    for (const [from, to] of [
      ['b1', 'b2'],
      ['s1', 's2'],
      [ownerOf('local-1'), ownerOf('local-2')],
    ] as const)
      assert.equal(tokens.identify(token.replace(from, to)), undefined);
    assert.equal(new Tokens('other').identify(token), undefined);
    assert.equal(tokens.nextSession('s1'), new Tokens('key').nextSession('s1'));
    assert.notEqual(tokens.nextSession('s1'), new Tokens('other').nextSession('s1'));
  });

  test('of batches are valid for one batch, at every server of the store, and at no other', () => {
    const token = new Tokens('key').enrollment('b1');
    assert.deepEqual(new Tokens('key').identify(token), { kind: 'enrollment', batch: 'b1', pods: false });
    const ofPods = new Tokens('key').podEnrollment('b1');
    assert.deepEqual(new Tokens('key').identify(ofPods), { kind: 'enrollment', batch: 'b1', pods: true });
    for (const [from, to] of [
      ['b1', 'b2'],
      ['p.', 'w.'],
    ] as const)
      assert.equal(new Tokens('key').identify(ofPods.replace(from, to)), undefined);
    assert.equal(new Tokens('key').identify(token.replace('b1', 'b2')), undefined);
    assert.equal(new Tokens('other').identify(token), undefined);
  });

  test('come in a header or, from a browser, as a subprotocol', () => {
    assert.equal(presentedToken(request({ authorization: 'Bearer abc' })), 'abc');
    assert.equal(presentedToken(request({ authorization: 'Basic abc' })), undefined);
    assert.equal(presentedToken(request({ 'sec-websocket-protocol': 'studio, token.abc' })), 'abc');
    assert.equal(presentedToken(request({})), undefined);
  });
});

describe('Host and Origin', () => {
  const rules = { host: '127.0.0.1', allowHosts: ['studio.svc'], allowOrigins: ['https://lab.example'] };
  const check = (headers: Record<string, string>, of = rules): boolean => {
    try {
      checkOrigin(request(headers), of);
      return true;
    } catch {
      return false;
    }
  };

  test('allow only our names', () => {
    for (const host of ['localhost:80', '127.0.0.1', '[::1]:4711', 'LOCALHOST', 'studio.svc:8080'])
      assert.ok(check({ host }), host);
    for (const host of [
      '',
      'example.org',
      'localhost.example.org',
      '10.0.0.7:80',
      'localhost/x',
      'a@localhost',
      '127.0.0.1.nip.io',
      'local host',
    ])
      assert.ok(!check({ host }), host);
  });

  test('allow any address but no other name when listening on all addresses', () => {
    const all = { ...rules, host: '0.0.0.0' };
    assert.ok(check({ host: '10.0.0.7:80' }, all));
    assert.ok(!check({ host: 'example.org' }, all));
  });

  test('allow no origin, the own one, or a configured one', () => {
    for (const origin of ['http://localhost:80', 'https://lab.example', 'HTTPS://LAB.example'])
      assert.ok(check({ host: 'localhost:80', origin }), origin);
    for (const origin of ['null', 'http://localhost:81', 'http://127.0.0.1:80', 'https://lab.example.evil', 'file://'])
      assert.ok(!check({ host: 'localhost:80', origin }), origin);
  });
});

test('ranges are parsed', () => {
  assert.deepEqual(rangeOf('bytes=0-', 10), { start: 0, end: 9 });
  assert.deepEqual(rangeOf('bytes=3-99', 10), { start: 3, end: 9 });
  assert.deepEqual(rangeOf('bytes=-4', 10), { start: 6, end: 9 });
  assert.deepEqual(rangeOf('bytes=-40', 10), { start: 0, end: 9 });
  assert.equal(rangeOf('bytes=10-', 10), 'none');
  assert.equal(rangeOf('bytes=-0', 10), 'none');
  for (const whole of [undefined, 'bytes=-', 'bytes=5-3', 'bytes=1-2,4-5', 'lines=1-2'])
    assert.equal(rangeOf(whole, 10), undefined);
});

describe('routes', () => {
  const found: string[] = [];
  const router = new Router([
    {
      method: 'GET',
      path: '/v1/things/:thing',
      access: 'read',
      handle: ({ params }) => Promise.resolve(void found.push(params['thing']!)),
    },
    { method: 'POST', path: '/v1/things/:thing', access: 'control', handle: () => Promise.resolve(undefined) },
    {
      method: 'PUT',
      path: '/v1/things/:thing',
      access: 'control',
      workers: 'session',
      handle: () => Promise.resolve(undefined),
    },
  ]);
  const call = (method: string, pathname: string, who: Identity = READ) =>
    router.handle(
      { method } as unknown as IncomingMessage,
      { once: () => undefined } as never,
      new URL(pathname, 'http://s'),
      () => Promise.resolve(who),
    );

  test('are found by method and parts, which are decoded', async () => {
    await call('GET', '/v1/things/a%2Fb');
    assert.deepEqual(found, ['a/b']);
    for (const nowhere of ['/v1/things', '/v1/things/', '/v1/things/a/b', '/v1/things/%E0%A4%A', '/V1/things/a'])
      await assert.rejects(call('GET', nowhere), { code: 'not_found' });
    await assert.rejects(call('HEAD', '/v1/things/a'), { code: 'usage' });
  });

  test('admit only the scopes they are for', async () => {
    await assert.rejects(call('POST', '/v1/things/a'), { code: 'forbidden' });
    await call('POST', '/v1/things/a', FULL);
    const session: Identity = { kind: 'session', batch: 'b', session: 's', owner: '' };
    await assert.rejects(call('GET', '/v1/things/a', session), { code: 'forbidden' });
    await assert.rejects(call('PUT', '/v1/things/a', { kind: 'enrollment', batch: 'b', pods: false }), {
      code: 'forbidden',
    });
    await call('PUT', '/v1/things/a', session);
  });
});

test('options are parsed from the command line', () => {
  assert.deepEqual(parseOptions(['--store', 'x']), {
    store: 'x',
    host: '127.0.0.1',
    port: 0,
    idleSeconds: 60,
    executor: 'local',
    advertise: [],
    advertisePlain: [],
    authority: undefined,
    tlsPort: 0,
    tokens: undefined,
    allowHosts: [],
    allowOrigins: [],
    pages: undefined,
    log: 'text',
    rolloutGb: 16,
    metrics: 'token',
    otlp: undefined,
    tlsMin: '1.3',
    identity: undefined,
    shares: {},
    retention: undefined,
  });
  assert.deepEqual(
    parseOptions(['--store', 'x'], { ROLLOUT_SHARES: '{"users":{"ann":{"weight":2,"tokens_per_hour":5000}}}' }).shares,
    { users: { ann: { weight: 2, tokens_per_hour: 5_000 } } },
  );
  assert.deepEqual(
    parseOptions(['--store', 'x', '--executor', 'kubernetes', '--advertise', 'http://server.here:8080/']).advertise,
    ['http://server.here:8080'],
  );
  assert.deepEqual(
    parseOptions(['--store', 'x', '--advertise', 'http://a:1, http://b:2', '--advertise', 'http://c:3']).advertise,
    ['http://a:1', 'http://b:2', 'http://c:3'],
  );
  assert.equal(parseOptions(['--store', 'x', '--rollout-gb', '0.5'], { ROLLOUT_GB: '2' }).rolloutGb, 0.5);
  assert.equal(parseOptions(['--store', 'x'], { ROLLOUT_GB: '2' }).rolloutGb, 2);
  for (const wrong of [
    [],
    ['--store', 'x', '--rollout-gb', '0'],
    ['--store', 'x', '--port', '-1'],
    ['--store', 'x', '--port', '1.5'],
    ['--store', 'x', '--idle-seconds', 'long'],
    ['--store', 'x', '--executor', 'cloud'],
    ['--store', 'x', '--advertise', 'server:8080'],
    ['--store', 'x', '--advertise', 'http://server/path'],
    ['--store', 'x', '--shop', 'y'],
    ['--store', 'x', 'more'],
  ]) {
    assert.throws(() => parseOptions(wrong), { code: 'usage' });
  }
});
