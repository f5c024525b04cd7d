import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import {
  type Certificate,
  newAuthority,
  newCertificate,
  validFor,
} from '../../../../src/kubernetes/tls/certificate.ts';

const HOSTS = ['rollout-studio.team.svc', 'localhost', '127.0.0.1', '2001:db8::1', '::1'];

/** Connects to a server with this certificate as `name`; returns its answer, or the code of the error. */
async function call(own: Certificate, ca: string, name: string): Promise<string> {
  const server = https.createServer(own, (_, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const request = https.get({ host: '127.0.0.1', port, ca, servername: name, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return await text(response);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    server.close();
  }
}

describe('the certificates of an installation', () => {
  const authority = newAuthority('Rollout Studio team', validFor(3650));
  const own = newCertificate(authority, HOSTS, validFor(30));

  it('are signed by the authority, for the names and addresses of the server', () => {
    const [issuer, cert] = [new X509Certificate(authority.cert), new X509Certificate(own.cert)];
    assert.ok(issuer.ca && !cert.ca);
    assert.ok(issuer.verify(issuer.publicKey) && cert.verify(issuer.publicKey) && cert.checkIssued(issuer));
    for (const host of HOSTS.slice(0, 2)) assert.equal(cert.checkHost(host), host);
    for (const ip of HOSTS.slice(2)) assert.ok(cert.checkIP(ip) !== undefined, ip);
    assert.equal(cert.checkHost('other.team.svc'), undefined);
    const days = (Date.parse(cert.validTo) - Date.now()) / 86_400_000;
    assert.ok(days > 29 && days <= 30 && Date.parse(cert.validFrom) < Date.now() - 3_600_000);
    assert.notEqual(cert.serialNumber, issuer.serialNumber);
  });

  it('are accepted with the authority, and by nobody without it', async () => {
    assert.equal(await call(own, authority.cert, 'rollout-studio.team.svc'), 'hello');
    assert.equal(await call(own, authority.cert, 'other.team.svc'), 'ERR_TLS_CERT_ALTNAME_INVALID');
    const other = newAuthority('Rollout Studio team', validFor(3650)); // the same name, another key
    assert.notEqual(await call(own, other.cert, 'rollout-studio.team.svc'), 'hello');
    const expired = newCertificate(authority, HOSTS, { from: new Date(0), until: new Date(1) });
    assert.equal(await call(expired, authority.cert, 'localhost'), 'CERT_HAS_EXPIRED');
  });
});
