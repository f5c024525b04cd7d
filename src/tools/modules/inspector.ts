/** The host's side of a call under a JavaScript debugger (thread/inspect.ts). */
import { WebSocket } from 'ws';
import type { CallInspection } from '../../rollout/ports.ts';

/** So long the call waits for a debugger to come; then it goes on without. */
const COME_MS = 60_000;

export class Inspector {
  readonly #url: string;
  readonly #inspection: CallInspection;
  readonly #patience: NodeJS.Timeout;
  #closed = false;

  /** `ready`: the source map is there. */
  constructor(url: string, inspection: CallInspection, ready: Promise<void>) {
    this.#url = url;
    this.#inspection = inspection;
    this.#patience = setTimeout(() => {
      tell(url, ['Runtime.runIfWaitingForDebugger']);
    }, COME_MS);
    // Without a map the debugger shows the bundle.
    void ready
      .catch(() => undefined)
      .then(() => {
        if (!this.#closed) inspection.opened(url);
      });
  }

  /** The debugger is there. */
  attached(): void {
    clearTimeout(this.#patience);
  }

  /** The call is over. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#patience);
    this.#inspection.closed();
  }

  /** The thread was told to end: one that stands in a debugger does so when it goes on. */
  letEnd(): void {
    tell(this.#url, ['Debugger.enable', 'Debugger.resume']);
  }
}

/** Posts requests of the inspector's protocol and leaves. A thread that is gone needs none. */
function tell(url: string, methods: readonly string[]): void {
  const socket = new WebSocket(url);
  let waiting = methods.length;
  socket.on('open', () => {
    methods.forEach((method, index) => {
      socket.send(JSON.stringify({ id: index + 1, method }));
    });
  });
  socket.on('message', (data: Buffer) => {
    // the inspector's own words
    if ((JSON.parse(data.toString()) as { id?: number }).id !== undefined && --waiting === 0) socket.close();
  });
  socket.on('error', () => undefined);
}
