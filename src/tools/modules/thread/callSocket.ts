/** The connection of a thread to the worker, for calls and their answers (in the thread). */
import { connect, type Socket } from 'node:net';
import { Lines } from '../../mcp/lines.ts';
import { ANSWER_CHARS } from '../limits.ts';
import type { CallAddress, FromThread, ToThread } from '../protocol.ts';

export class CallSocket {
  readonly #socket: Socket;
  #last: FromThread | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves when the worker has taken the connection, or with undefined if there is none. */
  static open({ at, token }: CallAddress, received: (message: ToThread) => void): Promise<CallSocket | undefined> {
    return new Promise((resolve) => {
      const socket = connect(at);
      const lines = new Lines(Infinity);
      const own = new CallSocket(socket);
      socket.on('error', () => undefined); // `close` follows
      socket.on('close', () => resolve(undefined));
      socket.on('data', (chunk: Buffer) => {
        for (const line of lines.push(chunk)) {
          if (line === '') resolve(own);
          else received(JSON.parse(line) as ToThread); // of our worker
        }
      });
      socket.write(token);
    });
  }

  /** Sends an answer. Returns whether it could: not if it is long, or if another one is still being sent. */
  send(answer: FromThread): boolean {
    if (this.#socket.destroyed || this.#socket.writableLength > 0) return false;
    const text = JSON.stringify(answer);
    if (text.length > ANSWER_CHARS) return false;
    this.#socket.write(`${text}\n`);
    this.#last = this.#socket.writableLength > 0 ? answer : undefined;
    return true;
  }

  /** Returns the answer that is lost if the thread exits now. */
  get unsent(): FromThread | undefined {
    return this.#socket.writableLength > 0 ? this.#last : undefined;
  }
}
