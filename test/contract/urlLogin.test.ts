/** Users of a cluster at the URL of its server: a real server, whose API server and users are fake. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { connectTarget, type TargetConnection } from '../../src/client/targets/connectTarget.ts';
import type { ClusterTarget, UserTarget } from '../../src/client/targets/target.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { certificateFor } from '../support/certificate.ts';
import { clientCertificate } from '../support/clientCertificate.ts';
import { FakeCluster } from '../support/fakeCluster.ts';
import { tlsProxy } from '../support/tlsProxy.ts';

const USER = ['get', 'create', 'update'];

describe('users of a cluster at the URL of its server', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-url-login-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The same user at a URL, whose certificate is of `ca`. */
  const at = (url: string, ca: string, { context, kubeconfig = '' }: ClusterTarget): UserTarget => {
    const file = path.join(folder, `${Math.random().toString(36).slice(2)}.pem`);
    writeFileSync(file, ca);
    return { url, ca: file, context, kubeconfig };
  };
  const direct = (cluster: FakeCluster, user: ClusterTarget): UserTarget =>
    at(`https://127.0.0.1:${cluster.tlsPort}`, cluster.ca, user);
  const connect = (target: UserTarget): Promise<TargetConnection> => connectTarget('u', target, { env: {} });
  const fails = async (target: UserTarget, code: string, message: RegExp): Promise<void> => {
    await assert.rejects(connect(target), (error) => {
      assert.ok(StudioError.is(error));
      assert.match(`${error.message} ${error.hint ?? ''}`, message);
      return error.code === code;
    });
  };
  const reviewed = (cluster: FakeCluster): number =>
    cluster.api.requests.filter(({ path: place }) => place.endsWith('/tokenreviews')).length;

  it('have the rights of their token, with a session that is renewed', async (t) => {
    await using cluster = await FakeCluster.start();
    const connection = await connect(direct(cluster, cluster.user({ name: 'ann', token: 'token-of-ann' }, USER)));
    try {
      const { api } = connection;
      assert.deepEqual((await api.server()).you, {
        user: 'ann',
        namespace: 'ns',
        rights: ['read', 'launch', 'control'],
      });
      const first = connection.address();
      assert.doesNotMatch(first.token, /token-of-ann/);
      assert.notEqual(connection.readAddress().token, first.token);
      // Nothing but the reviews of the server went to the API server: a URL needs no way there.
      const paths = cluster.api.requests.map((request) => request.path).filter((place) => !/reviews$/.test(place));
      assert.deepEqual(
        paths.filter((place) => /secrets|pods|portforward/.test(place)),
        [],
      );
      const later = Date.now() + 3_700_000;
      t.mock.method(Date, 'now', () => later);
      assert.equal((await api.server()).you?.user, 'ann');
      assert.notEqual(connection.address().token, first.token);
      assert.doesNotMatch(cluster.log.join('\n'), /token-of/);
    } finally {
      connection.close();
    }
  });

  it('learn what they lack', async () => {
    await using cluster = await FakeCluster.start();
    const nobody = cluster.user({ name: 'eve', token: 'token-of-eve' }, []);
    await fails(direct(cluster, nobody), 'forbidden', /right “read” is missing.*--bind user=eve:viewer/);
    const unknown = cluster.user({ name: 'mal', token: 'token-of-mal' }, USER);
    cluster.users.delete('mal');
    await fails(direct(cluster, unknown), 'unauthorized', /does not accept the token.*Log in to the cluster again/);
    const certificate = clientCertificate(cluster.clientAuthority, 'bob');
    const bob = cluster.user({ name: 'bob', certificate }, USER);
    await fails(direct(cluster, bob), 'unsupported', /only a client certificate.*service account.*--token-env/);
  });

  it('send no credential where it is not encrypted the whole way, or to another server', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    const { ca, ...certificate } = certificateFor('127.0.0.1');
    await using plain = await tlsProxy(() => cluster.port, certificate);
    await fails(at(plain.url, ca, ann), 'unsupported', /without TLS.*--ingress-backend https.*--token-env/);
    const other = newAuthority('other', validFor(1)).cert;
    await fails({ ...direct(cluster, ann), ca: at('', other, ann).ca ?? '' }, 'unavailable', /certificate/);
    await fails(at(`http://127.0.0.1:${cluster.port}`, ca, ann), 'usage', /unencrypted/);
    assert.equal(reviewed(cluster), 0);
  });

  it('send no credential to what is not a rollout server, or leads elsewhere', async () => {
    await using cluster = await FakeCluster.start();
    const ann = cluster.user({ name: 'ann', token: 'token-of-ann' }, USER);
    const { ca, cert, key } = certificateFor('127.0.0.1');
    const bodies: string[] = [];
    let status = 302;
    const server = https.createServer({ cert, key }, (request, response) => {
      void text(request).then((body) => {
        bodies.push(body + JSON.stringify(request.headers));
        response.writeHead(status, { location: `https://127.0.0.1:${cluster.tlsPort}/v1/login` }).end('<html>');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const target = at(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, ca, ann);
      await fails(target, 'unavailable', /HTTP status 302.*sign-in page/);
      status = 200;
      await fails(target, 'version', /HTTP status 200/);
      status = 503;
      await fails(target, 'unavailable', /HTTP status 503/);
      assert.equal(bodies.length, 3);
      assert.doesNotMatch(bodies.join(''), /token-of/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('log in with a token also where the server knows no authority of client certificates', async () => {
    await using cluster = await FakeCluster.start();
    await cluster.stopServer();
    cluster.refuses = 'authority';
    await cluster.startServer();
    const connection = await connect(direct(cluster, cluster.user({ name: 'ann', token: 'token-of-ann' }, USER)));
    assert.equal((await connection.api.server()).you?.user, 'ann');
    connection.close();
  });
});
