import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { callbackBody } from '../../../src/server/groups/callbackBody.ts';

function pieces(count: number, onYield: (n: number) => void = () => undefined): AsyncGenerator<string> {
  return generated(
    Array.from({ length: count }, (_, index) => () => {
      onYield(index + 1);
      return Promise.resolve(`${index + 1} ä`.padEnd(1_000, '.'));
    }),
  );
}

async function* generated(parts: readonly (() => Promise<string>)[]): AsyncGenerator<string> {
  for (const part of parts) yield await part();
}

async function whole(count: number): Promise<string> {
  return (await Array.fromAsync(pieces(count))).join('');
}

test('a small group is sent with its length, a large one in chunks, and both arrive whole', async (t) => {
  const received: { length: string | undefined; encoding: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
      received.push({ length, encoding, body });
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const count of [2, 50]) {
    const response = await fetch(url, { method: 'POST', ...(await callbackBody(pieces(count), 3_000)) });
    assert.equal(response.status, 200);
  }
  assert.deepEqual(received, [
    { length: String(Buffer.byteLength(await whole(2))), encoding: undefined, body: await whole(2) },
    { length: undefined, encoding: 'chunked', body: await whole(50) },
  ]);
});

test('a large group is read as it is sent', async () => {
  const read: number[] = [];
  const { body } = await callbackBody(
    pieces(100, (n) => read.push(n)),
    3_000,
  );
  assert.deepEqual(read, [1, 2, 3, 4]);
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  for (let n = 0; n < 10; n++) await reader.read();
  const last = read.at(-1) ?? 0;
  assert.ok(last >= 10 && last <= 12, `${last} pieces were read for 10`);
  await reader.cancel();
});

test('an error in the middle of a large group fails its request', async () => {
  const broken = async function* (): AsyncGenerator<string> {
    yield* pieces(5);
    throw new Error('the store is gone');
  };
  const { body } = await callbackBody(broken(), 3_000);
  await assert.rejects(text(body as ReadableStream<Uint8Array>), /the store is gone/);
});
