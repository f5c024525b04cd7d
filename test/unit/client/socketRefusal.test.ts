/** A gateway that lets requests pass, but no WebSockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { wsSocket } from '../../../src/client/subscribe.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { follow, type OpenSocket } from '../../../src/protocol/follow.ts';

/** Follows a batch through a server that answers every upgrade with this. Returns the error, if any. */
async function refused(reply: string, ended: AbortSignal): Promise<unknown> {
  const server = createServer((_, response: ServerResponse) => response.writeHead(404).end());
  server.on('upgrade', (_, socket) => socket.end(reply.replaceAll('\n', '\r\n')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const open = wsSocket(() => ({ url: `http://127.0.0.1:${port}`, token: 't' }));
    return await follow(open, { stream: 'b1' }, {}, ended).catch((error: unknown) => error);
  } finally {
    server.close();
  }
}

test('a gateway that refuses WebSockets ends the first attempt, with what to do', { timeout: 30_000 }, async () => {
  const error = await refused('HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n', AbortSignal.timeout(20_000));
  assert.ok(StudioError.is(error, 'unsupported'), String(error));
  assert.match(error.message, /^What is in front of 127\.0\.0\.1:\d+ refuses WebSockets \(HTTP 403\)\.$/);
  assert.match(error.hint ?? '', /WebSockets to \/v1\/client/);
});

test('so does one that passes them on as plain requests', { timeout: 30_000 }, async () => {
  const body = JSON.stringify({ error: { code: 'not_found', message: 'No such path: /v1/client.' } });
  const reply = `HTTP/1.1 404 Not Found\nContent-Length: ${body.length}\n\n${body}`;
  const error = await refused(reply, AbortSignal.timeout(20_000));
  assert.ok(StudioError.is(error, 'unsupported'), String(error));
});

test('a refusal by the server itself, and a gateway that restarts, are tried again', { timeout: 30_000 }, async () => {
  const body = JSON.stringify({ error: { code: 'forbidden', message: 'no' } });
  for (const reply of [
    `HTTP/1.1 403 Refused\nContent-Length: ${body.length}\n\n${body}`,
    'HTTP/1.1 503 Unavailable\nContent-Length: 0\n\n',
    'HTTP/1.1 429 Too Many\nContent-Length: 0\n\n',
  ])
    assert.equal(await refused(reply, AbortSignal.timeout(1_500)), undefined, reply);
});

test('once connected, a refusal is an outage', async () => {
  const stop = new AbortController();
  let attempts = 0;
  const open: OpenSocket = (events) => {
    attempts++;
    const isFirst = attempts === 1;
    queueMicrotask(() => {
      if (isFirst) events.message(JSON.stringify({ type: 'welcome', protocol: 4, product: 'p', clock: 0 }));
      if (attempts === 3) stop.abort();
      events.close(isFirst ? undefined : new StudioError('unsupported', 'refused'));
    });
    return { send: () => undefined, close: () => undefined };
  };
  await follow(open, { stream: 'b1' }, {}, stop.signal);
  assert.equal(attempts, 3);
});
