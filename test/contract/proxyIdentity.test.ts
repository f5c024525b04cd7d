/** Users whom a proxy names in headers, at a real server with a fake cluster: what counts, and what must not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { type ClientOptions, WebSocket } from 'ws';
import { type Certificate, newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import type { ProxyIdentityOptions } from '../../src/server/access/proxyIdentity.ts';
import { clientCertificate } from '../support/clientCertificate.ts';
import { FakeCluster } from '../support/fakeCluster.ts';

const SECRET = 's'.repeat(40);
const HEADERS = { user: 'X-Forwarded-User', groups: 'X-Forwarded-Groups', userPrefix: '', groupsPrefix: '' };
type Headers = Readonly<Record<string, string | readonly string[]>>;

const bySecret = (): Omit<ProxyIdentityOptions, 'log'> => ({
  headers: HEADERS,
  proof: { kind: 'secret', secret: () => SECRET },
});

/** A cluster whose proxy proves itself by a certificate of `authority` for `front-proxy`. */
const byCertificate = (authority: Certificate) => (): Omit<ProxyIdentityOptions, 'log'> => ({
  headers: HEADERS,
  proof: { kind: 'certificate', authority: () => authority.cert, names: ['front-proxy'] },
});

interface Sent {
  readonly method?: string;
  readonly certificate?: Certificate;
  readonly path?: string;
  readonly body?: string;
}

/** Sends headers as they are, also twice, and returns the status and the body. */
async function send(
  cluster: FakeCluster,
  headers: Headers,
  sent: Sent = {},
): Promise<{ status: number; body: string }> {
  const { method = 'GET', certificate, path = '/v1/server', body = '{}' } = sent;
  const options = { method, headers: headers as http.OutgoingHttpHeaders, agent: false as const };
  const request =
    certificate === undefined
      ? http.request(`http://127.0.0.1:${cluster.port}${path}`, options)
      : https.request(`https://127.0.0.1:${cluster.tlsPort}${path}`, { ...options, ca: cluster.ca, ...certificate });
  request.end(method === 'POST' ? body : undefined);
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  return { status: reply.statusCode ?? 0, body: await text(reply) };
}

/** Returns who the server takes the sender for. */
async function you(cluster: FakeCluster, headers: Headers, sent: Sent = {}): Promise<unknown> {
  const { status, body } = await send(cluster, headers, sent);
  return status === 200 ? (JSON.parse(body) as { you: unknown }).you : status;
}

const proven = (more: Headers): Headers => ({ 'X-Rollout-Proxy-Secret': SECRET, ...more });

/** Tries to open a WebSocket: `open`, or the status that refuses it. */
async function upgrade(url: string, options: ClientOptions): Promise<unknown> {
  const socket = new WebSocket(url, { ...options });
  try {
    return await new Promise((resolve, reject) => {
      socket.once('open', () => resolve('open'));
      socket.once('unexpected-response', (request, response) => {
        resolve(response.statusCode);
        response.resume();
        request.destroy();
      });
      socket.on('error', reject);
    });
  } finally {
    socket.on('error', () => undefined);
    socket.terminate();
  }
}

describe('identity headers with a shared secret', () => {
  it('name a user, whose rights the cluster grants', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    cluster.verbs.set('ann', new Set(['get', 'create']));
    cluster.verbs.set('team-b', new Set(['update']));
    assert.deepEqual(await you(cluster, proven({ 'x-forwarded-user': 'ann' })), {
      user: 'ann',
      namespace: 'ns',
      rights: ['read', 'launch'],
    });
    assert.deepEqual(await you(cluster, proven({ 'X-Forwarded-User': 'ann', 'X-Forwarded-Groups': 'a, team-b' })), {
      user: 'ann',
      namespace: 'ns',
      rights: ['read', 'launch', 'control'],
    });
    // A name of the company, in UTF-8.
    cluster.verbs.set('jürgen', new Set(['get']));
    const name = Buffer.from('jürgen').toString('latin1');
    assert.deepEqual(await you(cluster, proven({ 'X-Forwarded-User': name })), {
      user: 'jürgen',
      namespace: 'ns',
      rights: ['read'],
    });
    const nobody = await send(cluster, proven({ 'X-Forwarded-User': 'eve' }));
    assert.equal(nobody.status, 403);
    assert.match(nobody.body, /--namespace ns --bind user=eve:viewer/);
    assert.doesNotMatch(cluster.log.join('\n'), new RegExp(SECRET));
  });

  it('count for nothing without the secret, and the log says so', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    cluster.verbs.set('root', new Set(['administer', 'get']));
    const named = { 'X-Forwarded-User': 'root' };
    assert.equal(await you(cluster, named), 401);
    assert.equal(await you(cluster, { ...named, 'X-Rollout-Proxy-Secret': 'guess' }), 401);
    assert.equal(await you(cluster, { ...named, 'X-Rollout-Proxy-Secret': [SECRET, 'x'] }), 401);
    assert.equal(await you(cluster, { ...named, X_Rollout_Proxy_Secret: SECRET }), 401);
    assert.match((await send(cluster, named)).body, /do not come from the proxy/);
    assert.match(cluster.log.join('\n'), /identity headers were ignored: the request has no x-rollout-proxy-secret/);
    assert.match(cluster.log.join('\n'), /identity headers were ignored: its x-rollout-proxy-secret is wrong/);
    assert.equal(cluster.log.filter((line) => /ignored/.test(line)).length, 2, 'each reason once a minute');
    // Whoever has a token is who the token says.
    const { token } = (await (
      await fetch(`http://127.0.0.1:${cluster.port}/v1/server`, {
        headers: { ...named, authorization: `Bearer ${'r'.repeat(40)}` },
      })
    ).json()) as { token?: string; you?: { user?: string } };
    assert.equal(token, undefined);
  });

  it('are refused if the proxy and the server could read them differently', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    for (const name of ['ann', 'root', 'ann, root']) cluster.verbs.set(name, new Set(['get']));
    cluster.verbs.set('system:masters', new Set(['administer', 'get']));
    const refused: readonly (readonly [Headers, RegExp])[] = [
      [{ 'X-Forwarded-User': ['root', 'ann'] }, /2 times/],
      [{ 'X-Forwarded-User': 'ann', X_Forwarded_User: 'root' }, /underscore/],
      [{ X_FORWARDED_USER: 'root' }, /underscore/],
      [{ 'X-Forwarded-User': 'ann', 'X-Forwarded-Groups': ['a', 'system:masters'] }, /2 times/],
      [{ 'X-Forwarded-User': 'ann', 'X-Forwarded_Groups': 'admins' }, /underscore/],
      [{ 'X-Forwarded-User': 'system:serviceaccount:ns:x' }, /name of the cluster itself/],
      [{ 'X-Forwarded-User': 'ann', 'X-Forwarded-Groups': 'a,system:masters' }, /name of the cluster itself/],
      [{ 'X-Forwarded-User': '\u00ff\u00fe' }, /not readable/],
      [{ 'X-Forwarded-User': 'a'.repeat(600) }, /too long/],
    ];
    for (const [headers, why] of refused) {
      const reply = await send(cluster, proven(headers));
      assert.equal(reply.status, 403, JSON.stringify(headers));
      assert.match(reply.body, why);
    }
    assert.equal(await you(cluster, proven({ 'X-Forwarded-User': '' })), 401);
    assert.equal(await you(cluster, proven({ 'X-Forwarded-Groups': 'admins' })), 401);
  });

  it('do not let pages of other sites act with the cookie of the proxy', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    cluster.verbs.set('ann', new Set(['get', 'administer']));
    const named = proven({ 'X-Forwarded-User': 'ann' });
    assert.notEqual(await you(cluster, { ...named, 'Sec-Fetch-Site': 'same-origin' }), 403);
    for (const site of ['cross-site', 'same-site'])
      assert.equal(await you(cluster, { ...named, 'Sec-Fetch-Site': site }), 403, site);
    assert.equal(await you(cluster, { ...named, origin: 'https://evil.example' }), 403);
    const plain = `http://127.0.0.1:${cluster.port}`;
    assert.equal(await you(cluster, { ...named, origin: plain }), 403, 'a page that was not loaded securely');
  });

  it('name the user of a WebSocket, of links, and of tickets', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    cluster.verbs.set('ann', new Set(['get']));
    const url = `ws://127.0.0.1:${cluster.port}/v1/client`;
    const named = { 'X-Forwarded-User': 'ann' };
    const secret = { 'X-Rollout-Proxy-Secret': SECRET };
    assert.equal(await upgrade(url, { headers: { ...named, ...secret } }), 'open');
    assert.equal(await upgrade(url, { headers: named }), 401);
    assert.equal(await upgrade(url, { headers: { ...secret, X_Forwarded_User: 'ann' } }), 403);
    assert.equal(await upgrade(url, { headers: { ...named, ...secret }, origin: 'https://evil.example' }), 403);
    const worker = `ws://127.0.0.1:${cluster.port}/v1/worker`;
    assert.equal(await upgrade(worker, { headers: { ...named, ...secret } }), 403);
    const issued = await send(cluster, proven(named), { method: 'POST', path: '/v1/tickets', body: '{"edit":false}' });
    const { ticket } = JSON.parse(issued.body) as { ticket: string };
    const redeemed = await send(cluster, {}, { method: 'POST', path: `/v1/tickets/${ticket}` });
    const { token } = JSON.parse(redeemed.body) as { token: string };
    assert.deepEqual(await you(cluster, { authorization: `Bearer ${token}` }), {
      user: 'ann',
      namespace: 'ns',
      rights: ['read'],
    });
  });

  it('wait for the cluster: nobody is let in while it cannot be asked', async () => {
    await using cluster = await FakeCluster.start(undefined, bySecret);
    cluster.verbs.set('ann', new Set(['get']));
    const named = proven({ 'X-Forwarded-User': 'ann' });
    cluster.refuses = 'outage';
    assert.equal(await you(cluster, named), 503);
    cluster.refuses = 'nothing';
    assert.deepEqual(await you(cluster, named), { user: 'ann', namespace: 'ns', rights: ['read'] });
    cluster.refuses = 'outage';
    assert.deepEqual(
      await you(cluster, named),
      { user: 'ann', namespace: 'ns', rights: ['read'] },
      'what it said last counts',
    );
  });
});

describe('identity headers with a client certificate', () => {
  it('count on connections of the proxy only', async () => {
    const authority = newAuthority('front proxies', validFor(1));
    await using cluster = await FakeCluster.start(undefined, byCertificate(authority));
    cluster.verbs.set('ann', new Set(['get']));
    const named = { 'X-Forwarded-User': 'ann' };
    const proxy = clientCertificate(authority, 'front-proxy');
    assert.deepEqual(await you(cluster, named, { certificate: proxy }), {
      user: 'ann',
      namespace: 'ns',
      rights: ['read'],
    });
    const others: readonly (readonly [string, Certificate | undefined, RegExp])[] = [
      ['no TLS', undefined, /has no TLS/],
      ['another name', clientCertificate(authority, 'other'), /is for "other"/],
      ['a user of the cluster', clientCertificate(cluster.clientAuthority, 'front-proxy'), /another authority/],
      [
        'its own authority',
        clientCertificate(newAuthority('front proxies', validFor(1)), 'front-proxy'),
        /another auth/,
      ],
      ['an expired one', clientCertificate(authority, 'front-proxy', [], EXPIRED), /another authority|expired/],
    ];
    for (const [what, certificate, why] of others) {
      assert.equal(await you(cluster, named, certificate === undefined ? {} : { certificate }), 401, what);
      assert.match(cluster.log.join('\n'), why, what);
    }
  });

  it('make nobody a user of the cluster: its certificates are no logins', async () => {
    const authority = newAuthority('front proxies', validFor(1));
    await using cluster = await FakeCluster.start(undefined, byCertificate(authority));
    cluster.verbs.set('root', new Set(['get', 'administer']));
    const login = (certificate: Certificate) =>
      send(cluster, {}, { method: 'POST', path: '/v1/login', certificate }).then(({ status }) => status);
    assert.equal(await login(clientCertificate(authority, 'root')), 401);
    assert.equal(await login(clientCertificate(cluster.clientAuthority, 'root')), 200);
  });

  it('count for nothing if the authority of the proxy is also that of users', async () => {
    await using cluster = await FakeCluster.start(undefined, (own) => byCertificate(own.clientAuthority)());
    cluster.verbs.set('ann', new Set(['get']));
    const certificate = clientCertificate(cluster.clientAuthority, 'front-proxy');
    assert.equal(await you(cluster, { 'X-Forwarded-User': 'ann' }, { certificate }), 401);
    assert.match(cluster.log.join('\n'), /also issues certificates of the cluster’s users/);
  });
});

const EXPIRED = { from: new Date(Date.now() - 2 * 86_400_000), until: new Date(Date.now() - 86_400_000) };
