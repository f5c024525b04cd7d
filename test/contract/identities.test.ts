/** Users of a cluster at its server: a real server, whose API server and users are fake. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { connectTarget, type TargetConnection } from '../../src/client/targets/connectTarget.ts';
import type { ClusterTarget } from '../../src/client/targets/target.ts';
import { StudioError } from '../../src/common/errors.ts';
import { type Certificate, newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { clientCertificate } from '../support/clientCertificate.ts';
import { FakeCluster } from '../support/fakeCluster.ts';

const USER = ['get', 'create', 'update'];

async function connected<T>(target: ClusterTarget, use: (connection: TargetConnection) => Promise<T>): Promise<T> {
  const connection = await connectTarget('k', target, { env: {} });
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** Sends a login over TLS, as any program could. */
async function rawLogin(
  cluster: FakeCluster,
  body: unknown,
  certificate?: Certificate,
  ca = cluster.ca,
): Promise<{ status: number; body: string }> {
  const request = https.request(`https://127.0.0.1:${cluster.tlsPort}/v1/login`, {
    method: 'POST',
    ca,
    agent: false,
    ...certificate,
  });
  request.end(JSON.stringify(body));
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  return { status: reply.statusCode ?? 0, body: await text(reply) };
}

const refusal = (code: string, message: RegExp) => (error: unknown) =>
  StudioError.is(error) && error.code === code && message.test(`${error.message} ${error.hint ?? ''}`);

describe('users of a cluster', () => {
  it('connect with a token or a certificate of the cluster, and have the rights of their verbs', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    const certificate = clientCertificate(cluster.clientAuthority, 'bob', ['team-a', 'team-b']);
    const bob = cluster.user({ name: 'bob', certificate }, []);
    cluster.verbs.set('team-b', new Set(['get']));
    const root = cluster.user({ name: 'root', token: 'token-of-root' }, ['administer']);
    const you = (target: ClusterTarget) => connected(target, async ({ api }) => (await api.server()).you);
    assert.deepEqual(await you(ann), { user: 'ann', namespace: 'ns', rights: ['read', 'launch', 'control'] });
    assert.deepEqual(await you(bob), { user: 'bob', namespace: 'ns', rights: ['read'] });
    assert.deepEqual(await you(root), {
      user: 'root',
      namespace: 'ns',
      rights: ['read', 'launch', 'control', 'administer'],
    });
    // No request to the cluster was for a Secret, and the log has no credential.
    assert.deepEqual(
      cluster.api.requests.filter(({ path }) => path.includes('/secrets')),
      [],
    );
    assert.match(cluster.log.join('\n'), /ann logged in/);
    assert.doesNotMatch(cluster.log.join('\n'), /token-of/);
  });

  it('are told which right is missing, and how an administrator grants it', async () => {
    await using cluster = await FakeCluster.start();
    const reader = cluster.user({ name: 'ann', token: 'token-of-ann' }, ['get']);
    const nobody = cluster.user({ name: 'system:serviceaccount:ns:ci', token: 'token-of-ci' }, ['create']);
    await connected(reader, async ({ api }) => {
      await assert.rejects(
        api.gc({ dry_run: true }),
        refusal('forbidden', /ann may not administer here: .*--namespace ns --bind user=ann:admin \| kubectl apply/),
      );
      await assert.rejects(
        api.commandRollout('r1', { command: 'c1', verb: 'hold' }),
        refusal('forbidden', /the right “control” is missing in namespace ns.*--bind user=ann:user/),
      );
    });
    await assert.rejects(
      connectTarget('k', nobody, { env: {} }),
      refusal('forbidden', /the right “read” is missing.*--bind serviceaccount=ns\/ci:viewer/),
    );
  });

  it('share links that only read', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, ['administer']);
    await connected(ann, async (connection) => {
      const { url, token } = connection.readAddress();
      const call = (path: string, method = 'GET', body?: unknown) =>
        fetch(`${url}${path}`, {
          method,
          headers: { authorization: `Bearer ${token}` },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
      assert.equal((await call('/v1/batches')).status, 200);
      assert.equal((await call('/v1/gc', 'POST', { dry_run: true })).status, 403);
      assert.equal((await call('/v1/tickets', 'POST', { edit: true })).status, 403);
      const ticket = await connection.api.ticket(false);
      const redeemed = (await (await call(`/v1/tickets/${ticket}`, 'POST')).json()) as { token: string };
      assert.notEqual(redeemed.token, connection.address().token);
      assert.equal((await call(`/v1/tickets/${ticket}`, 'POST')).status, 401);
    });
  });

  it('lose what is taken from them, also on open connections', async (t) => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    await connected(ann, async ({ api }) => {
      await api.server();
      cluster.verbs.set('ann', new Set());
      const later = Date.now() + 61_000;
      t.mock.method(Date, 'now', () => later);
      await assert.rejects(api.server(), refusal('forbidden', /the right “read” is missing/));
      cluster.verbs.set('ann', new Set(['get']));
      t.mock.method(Date, 'now', () => later + 61_000);
      assert.deepEqual((await api.server()).you?.rights, ['read']);
    });
  });

  it('keep their sessions, and what they could do last, while the API server does not answer', async (t) => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    await connected(ann, async ({ api }) => {
      cluster.refuses = 'outage';
      const later = Date.now() + 120_000;
      t.mock.method(Date, 'now', () => later);
      assert.deepEqual((await api.server()).you?.rights, ['read', 'launch', 'control']);
      assert.match(cluster.log.join('\n'), /asking the cluster for the rights of ann failed/);
      await assert.rejects(connectTarget('k', ann, { env: {} }), refusal('unavailable', /API server/));
      t.mock.method(Date, 'now', () => later + 3_600_000);
      await assert.rejects(api.server(), (error) => StudioError.is(error));
      cluster.refuses = 'nothing';
      // The client logs in again by itself.
      assert.equal((await api.server()).you?.user, 'ann');
    });
  });

  it('use the tokens of the Secret, if they may read it, where the server may not ask its cluster', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    cluster.refuses = 'reviews';
    await assert.rejects(
      connectTarget('k', ann, { env: {} }),
      refusal('unsupported', /may not ask its cluster.*ClusterRoleBinding/),
    );
    cluster.secrets = true;
    await connected(ann, async ({ api }) =>
      assert.deepEqual((await api.server()).you, { rights: ['read', 'launch', 'control', 'administer'] }),
    );
  });

  it('need a certificate that the cluster issued, for clients, and still valid', async () => {
    await using cluster = await FakeCluster.start();
    cluster.verbs.set('ann', new Set(USER));
    const other = newAuthority('kubernetes', validFor(1));
    const past = { from: new Date('2020-01-01'), until: new Date('2020-02-01') };
    for (const [certificate, message] of [
      [clientCertificate(other, 'ann'), /did not issue/],
      [clientCertificate(cluster.clientAuthority, 'ann', [], past), /CERT_HAS_EXPIRED|has expired/],
      [undefined, /no client certificate/],
    ] as const) {
      const { status, body } = await rawLogin(cluster, {}, certificate);
      assert.equal(status, 401, body);
      assert.match(body, message);
    }
    assert.equal((await rawLogin(cluster, {}, clientCertificate(cluster.clientAuthority, 'ann'))).status, 200);
    // The cluster replaces its authority: the old certificates end.
    const before = cluster.clientAuthority;
    cluster.clientAuthority = other;
    let reply = await rawLogin(cluster, {}, clientCertificate(other, 'ann'));
    for (const end = performance.now() + 10_000; reply.status !== 200 && performance.now() < end; )
      reply = await rawLogin(cluster, {}, clientCertificate(other, 'ann'));
    assert.equal(reply.status, 200);
    assert.equal((await rawLogin(cluster, {}, clientCertificate(before, 'ann'))).status, 401);
  });

  it('cannot forge, change, or stretch a session, nor log in without TLS', async () => {
    await using cluster = await FakeCluster.start();
    cluster.user({ name: 'ann', token: 'token-of-ann' }, ['get']);
    const { body } = await rawLogin(cluster, { token: 'token-of-ann' });
    const { token } = JSON.parse(body) as { token: string };
    const url = `http://127.0.0.1:${cluster.port}`;
    const status = async (bearer: string): Promise<number> =>
      (await fetch(`${url}/v1/server`, { headers: { authorization: `Bearer ${bearer}` } })).status;
    assert.equal(await status(token), 200);
    const [, packed = '', signature = ''] = token.split('.');
    for (const forged of [`u.${packed}x.${signature}`, `u.${packed}.${'0'.repeat(64)}`, `u.x.${signature}`, 'u..'])
      assert.equal(await status(forged), 401);
    assert.equal((await rawLogin(cluster, { token: 'token-of-nobody' })).status, 401);
    assert.equal((await rawLogin(cluster, { token: 'x', user: 'root' })).status, 400);
    const plain = await fetch(`${url}/v1/login`, { method: 'POST', body: JSON.stringify({ token: 'token-of-ann' }) });
    assert.equal(plain.status, 400);
    await assert.rejects(rawLogin(cluster, {}, undefined, newAuthority('other', validFor(1)).cert));
  });

  it('find the authority of the server again after somebody deleted it', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, ['get']);
    await connected(ann, ({ api }) => api.server());
    cluster.maps.clear();
    for (const end = performance.now() + 10_000; cluster.maps.size === 0 && performance.now() < end; )
      await new Promise((resolve) => setImmediate(resolve));
    await connected(ann, ({ api }) => api.server());
  });
});
