// Requests of a browser page before its program is loaded, and how the program takes them over.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OpenSocket, SocketEvents } from '../../../src/protocol/follow.ts';
import { openingFrames } from '../../../src/protocol/opening.ts';
import type { Transport } from '../../../src/protocol/transport.ts';
import { type EarlySocket, withEarlyReplies, withEarlySocket } from '../../../webview/host/early.ts';

/** The part of it that a page uses. */
class Socket extends EventTarget {
  readonly sent: string[] = [];
  readyState: number = WebSocket.OPEN;
  send(text: string): void {
    this.sent.push(text);
  }
  close(): void {
    this.readyState = WebSocket.CLOSED;
    this.dispatchEvent(new Event('close'));
  }
  says(text: string): void {
    this.dispatchEvent(new MessageEvent('message', { data: text }));
  }
}

const SAID = openingFrames({ stream: 'b1' });

function early(socket: Socket, kept: readonly string[]): EarlySocket {
  return { socket: socket as unknown as WebSocket, sent: SAID, received: kept, take: () => kept };
}

function listener(): SocketEvents & { readonly heard: string[]; readonly opened: Promise<undefined> } {
  const heard: string[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return {
    heard,
    opened: promise,
    open: () => resolve(undefined),
    message: (text) => heard.push(text),
    close: () => heard.push('closed'),
  };
}

describe('an early socket', () => {
  it('continues as an equal subscription: nothing twice, and what arrived in the meantime first', async () => {
    const socket = new Socket();
    const open = withEarlySocket(() => assert.fail('a second socket'), early(socket, ['welcome']));
    const events = listener();
    const frames = open(events);
    await events.opened;
    for (const text of SAID) frames.send(text);
    socket.says('rows');
    frames.send('seen');
    assert.deepEqual([events.heard, socket.sent], [['welcome', 'rows'], ['seen']]);
    frames.close();
    assert.deepEqual(events.heard.at(-1), 'closed');
  });

  it('is replaced when another stream is requested', async () => {
    const socket = new Socket();
    const fresh = new Socket();
    const other: OpenSocket = (events) => {
      queueMicrotask(() => events.open());
      return { send: (text) => fresh.send(text), close: () => events.close() };
    };
    const open = withEarlySocket(other, early(socket, ['welcome', 'rows of b1']));
    const events = listener();
    const frames = open(events);
    await events.opened;
    const said = openingFrames({ stream: 'b2' });
    for (const text of said) frames.send(text);
    await Promise.resolve();
    frames.send('seen');
    assert.deepEqual([fresh.sent, socket.sent, events.heard], [[...said, 'seen'], [], []]);
    assert.equal(socket.readyState, WebSocket.CLOSED);
  });

  it('is used once', async () => {
    const opened: SocketEvents[] = [];
    const open = withEarlySocket(
      (events) => {
        opened.push(events);
        return { send: () => undefined, close: () => undefined };
      },
      early(new Socket(), []),
    );
    open(listener());
    open(listener());
    assert.equal(opened.length, 1);
    await Promise.resolve();
  });
});

describe('an early response', () => {
  const requests: string[] = [];
  const transport: Transport = {
    request: ({ path }) => {
      requests.push(path);
      return Promise.resolve({
        status: 200,
        text: () => Promise.resolve('late'),
        bytes: () => Promise.resolve(new Uint8Array()),
      });
    },
  };

  it('is returned once; a failed one is requested again', async () => {
    const failed = Promise.reject(new TypeError('fetch failed'));
    failed.catch(() => undefined);
    const answered = withEarlyReplies(transport, {
      replies: new Map([
        ['/v1/batches/b1', Promise.resolve(new Response('early'))],
        ['/v1/server', failed],
      ]),
    });
    const get = async (path: string): Promise<string> => (await answered.request({ method: 'GET', path })).text();
    assert.deepEqual(
      [await get('/v1/batches/b1'), await get('/v1/batches/b1'), await get('/v1/server')],
      ['early', 'late', 'late'],
    );
    assert.deepEqual(requests, ['/v1/batches/b1', '/v1/server']);
  });
});
