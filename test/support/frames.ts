/** Frames of one WebSocket. Each is handed out once, to whoever waits for a frame like it. */
import type WebSocket from 'ws';

export class Frames<F extends { type: string }> {
  readonly socket: WebSocket;
  readonly #queue: F[] = [];
  readonly #waiting: { matches: (frame: F) => boolean; give: (frame: F) => void }[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;

  constructor(socket: WebSocket, parse: (raw: unknown) => F) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const frame = parse(JSON.parse(data.toString()));
      const index = this.#waiting.findIndex(({ matches }) => matches(frame));
      if (index < 0) this.#queue.push(frame);
      else this.#waiting.splice(index, 1)[0]!.give(frame);
    });
  }

  /**
   * Returns the next frame of a kind, including one that already arrived. Fails after 10 s or when the connection
   * closes.
   */
  next<T extends F['type']>(
    type: T,
    matches: (frame: Extract<F, { type: T }>) => boolean = () => true,
  ): Promise<Extract<F, { type: T }>> {
    const fits = (frame: F): boolean => frame.type === type && matches(frame as Extract<F, { type: T }>);
    const index = this.#queue.findIndex(fits);
    if (index >= 0) return Promise.resolve(this.#queue.splice(index, 1)[0] as Extract<F, { type: T }>);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(
              `no ${type} frame within 10 s; others: ${this.#queue
                .map((frame) => JSON.stringify(frame))
                .join(' ')
                .slice(0, 2000)}`,
            ),
          ),
        10_000,
      );
      void this.closed.then(({ code, reason }) => {
        clearTimeout(timer);
        reject(new Error(`closed (${code} ${reason}) while waiting for ${type}`));
      });
      this.#waiting.push({
        matches: fits,
        give: (frame) => {
          clearTimeout(timer);
          resolve(frame as Extract<F, { type: T }>);
        },
      });
    });
  }

  /** Frames of a kind that arrived and were not consumed. */
  left<T extends F['type']>(type: T): Extract<F, { type: T }>[] {
    return this.#queue.filter((frame): frame is Extract<F, { type: T }> => frame.type === type);
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }
}
