/** Host side of a call in a JavaScript debugger (see thread/inspect.ts). */
import { WebSocket } from 'ws';
import type { CallInspection } from '../../rollout/ports.ts';
import type { ModuleProcess } from './process/moduleProcess.ts';

/** How long a call waits for a debugger before it continues without one. */
const ATTACH_MS = 60_000;
/** Time limit for requests to a thread. */
const POST_MS = 5_000;

export class Inspector {
  readonly #url: string;
  readonly #process: ModuleProcess;
  readonly #inspection: CallInspection;
  readonly #attachTimer: NodeJS.Timeout;
  readonly #closing = new AbortController();

  /** `url`: where the thread waits, in the network of its process. `ready` resolves when the source map is written. */
  constructor(url: string, inspection: CallInspection, process: ModuleProcess, ready: Promise<void>) {
    this.#url = url;
    this.#process = process;
    this.#inspection = inspection;
    this.#attachTimer = setTimeout(() => this.#post(['Runtime.runIfWaitingForDebugger']), ATTACH_MS);
    // Without a map the debugger shows the bundle.
    const prepared = Promise.all([this.#forward(this.#closing.signal), ready.catch(() => undefined)]);
    prepared.then(
      ([forwarded]) => {
        if (!this.#closing.signal.aborted) inspection.opened(forwarded);
      },
      () => this.#post(['Runtime.runIfWaitingForDebugger']), // nothing can attach
    );
  }

  /** Called when the debugger is attached. */
  attached(): void {
    clearTimeout(this.#attachTimer);
  }

  /** Called when the call ends. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#attachTimer);
    this.#inspection.closed();
  }

  /** Resumes the thread, because a paused thread cannot be terminated. */
  resume(): void {
    this.#post(['Debugger.enable', 'Debugger.resume']);
  }

  /** Returns a URL for debuggers on this machine. */
  async #forward(signal: AbortSignal): Promise<string> {
    const url = new URL(this.#url);
    url.port = String(await this.#process.forward(Number(url.port), signal));
    return url.href;
  }

  #post(methods: readonly string[]): void {
    this.#forward(AbortSignal.timeout(POST_MS)).then(
      (url) => post(url, methods),
      () => undefined,
    );
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
