import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { MergedChunks } from '../../../src/model/http/mergedChunks.ts';
import { Transport } from '../../../src/model/http/transport.ts';
import { Random } from '../../support/random.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
const TEXTS = ['a', '\r\n', '0\r\n\r\n', 'f\r\n', 'ein Wört', '漢'.repeat(90), 'data: {"a":1}\n\n', 'x'.repeat(400)];

const chunkOf = (text: string, size = Buffer.byteLength(text).toString(16)): string => `${size}\r\n${text}\r\n`;
const chunked = (texts: readonly string[], end = '0\r\n\r\n'): string =>
  `${HEAD}Transfer-Encoding: chunked\r\n\r\n${texts.map((text) => chunkOf(text)).join('')}${end}`;
const sized = (text: string): string => `${HEAD}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;

/** Returns bytes in pieces; the first head comes whole, because one that does not ends the merging. */
function splitAt(bytes: Buffer, length: () => number): Buffer[] {
  const pieces: Buffer[] = [];
  let end = bytes.indexOf('\r\n\r\n') + 4 + length();
  for (let at = 0; at < bytes.length; end += length()) {
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

/** Returns what the parser of a connection gets on which these bytes arrive in pieces of this length. */
function merged(bytes: Buffer, length: number): Buffer {
  const chunks = new MergedChunks();
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += length) parts.push(chunks.push(bytes.subarray(at, at + length)));
  return Buffer.concat(parts);
}

/** Runs `use` with the address of a server that answers each request, on any connection, with the next pieces. */
async function withServer<T>(answers: readonly (readonly Buffer[])[], use: (origin: string) => Promise<T>): Promise<T> {
  const waiting = [...answers];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      // A request may come in several pieces.
      if (!bytes.toString().endsWith('{}')) return;
      for (const piece of waiting.shift() ?? []) socket.write(piece);
      if (waiting.length === 0) socket.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

async function bodyOf(transport: Transport, origin: string): Promise<string> {
  const { response } = transport.post({ origin, path: '/', headers: {} }, '{}', AbortSignal.timeout(20_000));
  const parts: Buffer[] = [];
  await (await response).body.pipe((bytes) => parts.push(bytes));
  return Buffer.concat(parts).toString('utf8');
}

describe('chunks of HTTP that arrive together', () => {
  it('become one', () => {
    const bytes = Buffer.from(chunked(TEXTS) + chunked(['b', 'c']));
    const text = TEXTS.join('');
    assert.equal(merged(bytes, bytes.length).toString(), chunked([text]) + chunked(['bc']));
  });

  it('say the same however they are split, over many responses of one connection', async () => {
    const random = new Random();
    const below = (end: number): number => Math.floor(random.next() * end);
    const bodies = Array.from({ length: 40 }, () =>
      Array.from({ length: 1 + below(30) }, () => TEXTS[below(TEXTS.length)] ?? ''),
    );
    const answers = bodies.map((texts, n) =>
      splitAt(
        Buffer.from(n % 5 === 4 ? sized(texts.join('')) : chunked(texts)),
        () => 1 + below(n % 2 === 0 ? 50 : 900),
      ),
    );
    await withServer(answers, async (origin) => {
      const transport = new Transport();
      try {
        for (const texts of bodies) assert.equal(await bodyOf(transport, origin), texts.join(''));
      } finally {
        await transport.close();
      }
    });
    const stream = Buffer.from(bodies.map((texts) => chunked(texts)).join(''));
    for (let round = 0; round < 50; round++) {
      const most = 1 + below(4_000);
      const chunks = new MergedChunks();
      const pieces = splitAt(stream, () => 1 + below(most));
      assert.equal(decoded(Buffer.concat(pieces.map((piece) => chunks.push(piece)))), bodies.flat().join(''));
    }
  });

  it('pass unchanged after what is not expected', () => {
    for (const text of [
      `${HEAD}\r\nuntil the connection ends${chunked(['a', 'b'])}`,
      chunked(['a'], `0\r\nexpires: never\r\n\r\n${chunked(['a', 'b'])}`),
      `${HEAD}transfer-encoding: chunked\r\n\r\n3;note=1\r\nabc\r\n${chunkOf('a')}${chunkOf('b')}0\r\n\r\n`,
      `${HEAD}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n${chunkOf('a')}${chunkOf('b')}0\r\n\r\n`,
      `${HEAD}transfer-encoding: chunked\r\n\r\n${chunkOf('a', '000000001')}${chunkOf('b')}`,
      `${HEAD}transfer-encoding: chunked\r\n\r\n1\r\nab${chunkOf('b')}${chunkOf('c')}`,
      `${HEAD}transfer-encoding: chunked\r\n\r\n\r\n${chunkOf('b')}${chunkOf('c')}`,
      'not HTTP',
    ])
      for (const length of [1, 5, 1_000]) assert.equal(merged(Buffer.from(text), length).toString(), text);
  });

  it('do not make a response whole that was cut off', async () => {
    for (const end of ['', '0', '0\r\n', '0\r\n\r'])
      await withServer([[Buffer.from(chunked(['a', 'b', 'c'], end))]], async (origin) => {
        const transport = new Transport();
        await assert.rejects(bodyOf(transport, origin), /closed|terminated|ended/);
        await transport.close();
      });
  });
});

/** Decodes chunked responses that follow each other. */
function decoded(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    at = bytes.indexOf('\r\n\r\n', at) + 4;
    for (let size = -1; size !== 0; ) {
      const line = bytes.indexOf('\r\n', at);
      size = Number.parseInt(bytes.toString('latin1', at, line), 16);
      parts.push(bytes.subarray(line + 2, line + 2 + size));
      at = line + 2 + size + 2;
    }
  }
  return Buffer.concat(parts).toString('utf8');
}
