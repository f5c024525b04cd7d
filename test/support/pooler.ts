/**
 * A pooler in front of a PostgreSQL without passwords, as PgBouncer works: in `session` mode each client has its own
 * connection to the database while it is connected, in `transaction` mode they take turns on one. Clients get a process
 * number that is not the database's. See https://www.postgresql.org/docs/current/protocol-message-formats.html.
 */
import { once } from 'node:events';
import net from 'node:net';

const NUMBER = 12_345_678;

interface Message {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface TestPooler {
  /** The URL of a database through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

export async function startPooler(url: string, mode: 'session' | 'transaction'): Promise<TestPooler> {
  const target = new URL(url);
  const sockets = new Set<net.Socket>();
  const keep = (socket: net.Socket): net.Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy());
  };
  const dial = (): net.Socket => keep(net.connect(Number(target.port), target.hostname));
  const connections = mode === 'session' ? undefined : new Backend(dial);
  const server = net.createServer((client) => {
    keep(client);
    const connection = connections ?? new Backend(dial);
    client.on('close', () => {
      if (connection !== connections) connection.close();
    });
    client.on('data', (bytes) => {
      void connection.ask(bytes).then((reply) => client.write(reply));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as net.AddressInfo).port);
  return {
    url: through.href,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** A connection to the database. */
class Backend {
  readonly #socket: net.Socket;
  #last: Promise<unknown> = Promise.resolve();
  /** What the database answered to the first client that connected. */
  #welcome: Buffer | undefined;
  #rest = Buffer.alloc(0);
  #received: Message[] = [];
  #isReady = (): void => undefined;

  constructor(dial: () => net.Socket) {
    this.#socket = dial().on('data', (bytes) => {
      this.#rest = Buffer.concat([this.#rest, bytes]);
      while (this.#rest.length >= 5 && this.#rest.length > this.#rest.readUInt32BE(1)) {
        const end = 1 + this.#rest.readUInt32BE(1);
        const type = this.#rest.toString('latin1', 0, 1);
        this.#received.push({ type, bytes: this.#rest.subarray(0, end) });
        this.#rest = this.#rest.subarray(end);
        if (type === 'Z') this.#isReady();
      }
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Sends what a client sent in one piece, and returns the reply up to “ready for query”. */
  async ask(request: Buffer): Promise<Buffer> {
    const isFarewell = request.toString('latin1', 0, 1) === 'X';
    if (isFarewell) return Buffer.alloc(0);
    const isStart = request[0] === 0;
    const reply = this.#last.then(async () => {
      if (isStart && this.#welcome !== undefined) return this.#welcome;
      this.#received = [];
      const ready = new Promise<void>((resolve) => (this.#isReady = resolve));
      this.#socket.write(request);
      await ready;
      for (const { type, bytes } of this.#received) if (type === 'K') bytes.writeUInt32BE(NUMBER, 5);
      const bytes = Buffer.concat(this.#received.map((message) => message.bytes));
      if (isStart) this.#welcome = bytes;
      return bytes;
    });
    this.#last = reply;
    return reply;
  }
}
