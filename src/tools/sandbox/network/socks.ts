/** The part of SOCKS 5 (RFC 1928) that programs use: TCP connections, without authentication. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const VERSION = 5;
const CONNECT = 1;
const SUCCEEDED = 0;
const REFUSED = 2;
const UNSUPPORTED = 7;
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** Whether the first byte of a connection is that of SOCKS 5. */
export function isSocks(first: Buffer): boolean {
  return first[0] === VERSION;
}

/** Serves one connection. `connect` opens connections to `host:port`. */
export async function serveSocks(socket: Socket, connect: (host: string) => Promise<Duplex>): Promise<void> {
  const [, methods = 0] = await bytes(socket, 2);
  await bytes(socket, methods);
  socket.write(Buffer.from([VERSION, 0]));
  const [, command, , kind] = await bytes(socket, 4);
  const host = await hostOf(socket, kind);
  const port = (await bytes(socket, 2)).readUInt16BE();
  if (command !== CONNECT || host === undefined) {
    socket.end(reply(UNSUPPORTED));
    return;
  }
  let remote: Duplex;
  try {
    remote = await connect(`${host}:${port}`);
  } catch {
    socket.end(reply(REFUSED));
    return;
  }
  remote.on('error', () => undefined);
  remote.once('close', () => socket.destroy());
  socket.once('close', () => remote.destroy());
  socket.write(reply(SUCCEEDED));
  remote.pipe(socket).pipe(remote);
}

async function hostOf(socket: Socket, kind: number | undefined): Promise<string | undefined> {
  switch (kind) {
    case ADDRESS.ipv4:
      return (await bytes(socket, 4)).join('.');
    case ADDRESS.name: {
      const [length = 0] = await bytes(socket, 1);
      return (await bytes(socket, length)).toString('latin1');
    }
    case ADDRESS.ipv6: {
      const groups = (await bytes(socket, 16)).toString('hex').match(/.{4}/g) ?? [];
      return `[${groups.join(':')}]`;
    }
    default:
      return undefined;
  }
}

/** The address in replies is that of the proxy, which programs ignore. */
function reply(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, ADDRESS.ipv4, 0, 0, 0, 0, 0, 0]);
}

/** Reads exactly `count` bytes. Throws if the connection ends before. */
async function bytes(socket: Socket, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0);
  for (;;) {
    const read = socket.read(count) as Buffer | null;
    if (read?.length === count) return read;
    if (socket.readableEnded || socket.destroyed) throw new Error('The connection ended in a request.');
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
  }
}
