import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ServerAddress } from '../../../src/worker/session/address.ts';
import { ServerApi } from '../../../src/worker/session/serverApi.ts';

test('a request that meets the end of its session is repeated with the token of the next one', async () => {
  let token = 'old';
  const seen: (string | undefined)[] = [];
  const server = http.createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.statusCode = request.headers.authorization === 'Bearer new' ? 200 : 401;
    token = 'new';
    response.end('bytes');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = new ServerAddress([`http://127.0.0.1:${(server.address() as AddressInfo).port}`], undefined);
  const api = new ServerApi(address, () => token);
  try {
    const bytes = await api.getBlob('a'.repeat(64), AbortSignal.timeout(30_000));
    assert.equal(Buffer.from(bytes).toString(), 'bytes');
    assert.deepEqual(seen, ['Bearer old', 'Bearer new']);
  } finally {
    await api.close();
    server.close();
  }
});
