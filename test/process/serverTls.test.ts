/** A server with an authority listens for TLS too, with a certificate that the authority signs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { freePort } from '../support/freePort.ts';
import { TestStore } from '../support/rolloutServer.ts';

describe('a server with an authority', () => {
  it('answers on its port for TLS those who know the authority', async () => {
    await using store = new TestStore();
    const authority = newAuthority('test', validFor(10));
    const folder = path.join(store.folder, 'authority');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'ca.crt'), authority.cert);
    writeFileSync(path.join(folder, 'ca.key'), authority.key);
    const port = await freePort();
    const args = ['--authority', folder, '--tls-port', String(port), '--advertise', 'https://studio.test:1'];
    const server = await store.start(['--executor', 'none', ...args]);
    const headers = { authorization: `Bearer ${server.file.token}` };
    const call = async (ca: string, servername: string): Promise<IncomingMessage> => {
      const options = { host: '127.0.0.1', port, ca, servername, headers, agent: false };
      const [response] = (await once(https.get({ ...options, path: '/v1/server' }), 'response')) as [IncomingMessage];
      response.resume();
      return response;
    };
    for (const name of ['studio.test', 'localhost']) {
      const response = await call(authority.cert, name);
      assert.equal(response.statusCode, 200, name);
      assert.equal((response.socket as TLSSocket).getProtocol(), 'TLSv1.3');
    }
    await assert.rejects(call(newAuthority('test', validFor(10)).cert, 'localhost'));
    await assert.rejects(call(authority.cert, 'other.test'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const socket = new WebSocket(`wss://localhost:${port}/v1/client`, { ca: authority.cert, headers });
    await once(socket, 'open');
    const closed = once(socket, 'close');
    server.process.kill('SIGTERM');
    await closed;
    assert.equal(await server.exited, 0, 'both ports are closed');
  });

  it('works without TLS, and says so, where the folder of the authority is empty', async () => {
    await using store = new TestStore();
    const folder = path.join(store.folder, 'authority');
    mkdirSync(folder);
    const server = await store.start(['--executor', 'none', '--authority', folder]);
    assert.equal((await server.fetch('/v1/server')).status, 200);
    assert.match(server.stderr, /Workers connect without TLS: the installation has no authority\./);
  });
});
