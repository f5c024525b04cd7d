/** Keeps WebSockets open through gateways, and ends those whose other side is gone. */
import type { WebSocket } from 'ws';

/** Some gateways close a connection on which nothing was sent for 10 s. */
const EVERY_MS = 5_000;
const MAX_UNANSWERED = 3;

export class Pings {
  /** Pings that a connection has not answered. */
  readonly #unanswered = new Map<WebSocket, number>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#pingAll(), EVERY_MS);
    this.#timer.unref();
  }

  /** Pings a connection until it is closed. */
  add(socket: WebSocket): void {
    this.#unanswered.set(socket, 0);
    socket.on('pong', () => this.#unanswered.set(socket, 0));
    socket.on('close', () => this.#unanswered.delete(socket));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #pingAll(): void {
    for (const [socket, unanswered] of this.#unanswered) {
      if (unanswered === MAX_UNANSWERED) {
        socket.terminate();
        continue;
      }
      this.#unanswered.set(socket, unanswered + 1);
      socket.ping();
    }
  }
}
