import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ClassedError } from '../../src/trace/classedError.ts';

export function isClass(errorClass: string, pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ClassedError, String(error));
    assert.equal(error.class, errorClass, error.message);
    assert.match(error.message, pattern);
    return true;
  };
}

export interface StubServer {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server on loopback that stands in for a service. */
export async function startStub(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void,
): Promise<StubServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answer(request, Buffer.concat(chunks), response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
