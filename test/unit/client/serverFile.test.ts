import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { connect } from '../../../src/client/connect.ts';
import { distrust } from '../../../src/client/serverFile.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { PROTOCOL } from '../../../src/protocol/worker.ts';

const OWN = { uid: 1000, mode: 0o100600 };

test('server.json is trusted only on this machine, owned by the user, and readable by nobody else', () => {
  for (const host of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) assert.equal(distrust(OWN, host, 1000), undefined);
  for (const host of ['192.0.2.1', 'example.org', '127.0.0.1.example.org', '2001:db8::1', ''])
    assert.match(distrust(OWN, host, 1000) ?? '', /not on this machine/, host);
  assert.match(distrust({ ...OWN, uid: 1001 }, '127.0.0.1', 1000) ?? '', /another user/);
  for (const mode of [0o100644, 0o100640, 0o100604, 0o100620])
    assert.match(distrust({ ...OWN, mode }, '127.0.0.1', 1000) ?? '', /other users/);
  // Windows has neither.
  assert.equal(distrust({ uid: 0, mode: 0o100666 }, '127.0.0.1', undefined), undefined);
  assert.match(distrust({ uid: 0, mode: 0o100666 }, '192.0.2.1', undefined) ?? '', /not on this machine/);
});

test('nothing is sent to the server of a server.json that came with a workspace', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-store-'));
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.end('{}');
  });
  try {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const write = (host: string, mode: number): void => {
      const file = path.join(folder, 'server.json');
      const text = { pid: 1, host, port, token: 't', read_token: 'r', protocol: PROTOCOL, product: 'p', started_at: 1 };
      writeFileSync(file, JSON.stringify(text));
      chmodSync(file, mode);
    };
    const refused = async (): Promise<void> =>
      assert.rejects(connect({ store: folder, start: false }), (error) => StudioError.is(error, 'forbidden'));
    write('192.0.2.1', 0o600);
    await refused();
    if (process.platform !== 'win32') {
      write('127.0.0.1', 0o644);
      await refused();
    }
    assert.deepEqual(received, []);
    write('0.0.0.0', 0o600);
    await connect({ store: folder, start: false });
    assert.equal(received.length, 1);
  } finally {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
});
