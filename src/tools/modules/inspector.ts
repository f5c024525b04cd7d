/** Host side of a call in a JavaScript debugger (see thread/inspect.ts). */
import { WebSocket } from 'ws';
import type { CallInspection } from '../../rollout/ports.ts';

/** How long a call waits for a debugger before it continues without one. */
const ATTACH_MS = 60_000;

export class Inspector {
  readonly #url: string;
  readonly #inspection: CallInspection;
  readonly #attachTimer: NodeJS.Timeout;
  #closed = false;

  /** `ready` resolves when the source map is written. */
  constructor(url: string, inspection: CallInspection, ready: Promise<void>) {
    this.#url = url;
    this.#inspection = inspection;
    this.#attachTimer = setTimeout(() => {
      post(url, ['Runtime.runIfWaitingForDebugger']);
    }, ATTACH_MS);
    // Without a map the debugger shows the bundle.
    void ready
      .catch(() => undefined)
      .then(() => {
        if (!this.#closed) inspection.opened(url);
      });
  }

  /** Called when the debugger is attached. */
  attached(): void {
    clearTimeout(this.#attachTimer);
  }

  /** Called when the call ends. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#attachTimer);
    this.#inspection.closed();
  }

  /** Resumes the thread, because a paused thread cannot be terminated. */
  resume(): void {
    post(this.#url, ['Debugger.enable', 'Debugger.resume']);
  }
}

/** Sends requests over the inspector protocol and disconnects. Ignores errors if the thread is gone. */
function post(url: string, methods: readonly string[]): void {
  const socket = new WebSocket(url);
  let waiting = methods.length;
  socket.on('open', () => {
    methods.forEach((method, index) => {
      socket.send(JSON.stringify({ id: index + 1, method }));
    });
  });
  socket.on('message', (data: Buffer) => {
    // message of the inspector
    if ((JSON.parse(data.toString()) as { id?: number }).id !== undefined && --waiting === 0) socket.close();
  });
  socket.on('error', () => undefined);
}
