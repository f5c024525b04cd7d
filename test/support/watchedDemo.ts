/** A demo model on its own port that keeps its requests, and waits where a test wants it to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Deferred, deferred } from '../../src/common/abort.ts';
import type { JsonObject } from '../../src/common/json.ts';
import { createDemoModel, type DemoCounters } from '../../src/demo/demoModel.ts';

export interface WatchedDemo {
  /** Base URL, including `/v1`. */
  readonly url: string;
  /** Bodies of the requested chat completions, in order. */
  readonly receivedRequests: JsonObject[];
  /** Calls with the header `x-gate: NAME` wait from now on. */
  shut(gate: string): void;
  /** Lets one of them pass: the one that has waited longest, else the next that arrives. */
  pass(gate: string): void;
  /** Lets all of them pass. */
  open(gate: string): void;
  counters(): DemoCounters;
  close(): Promise<void>;
}

/** Tokens, for example, are decoded without a gate. */
function isCompletion({ method, url = '' }: IncomingMessage): boolean {
  return method === 'POST' && url.split('?')[0]?.endsWith('/chat/completions') === true;
}

/** `onRequest` receives each requested chat completion when it arrives. */
export async function watchedDemo(onRequest?: (body: JsonObject) => void): Promise<WatchedDemo> {
  const model = createDemoModel();
  const receivedRequests: JsonObject[] = [];
  const gates = new Map<string, Gate>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isCompletion(request)) {
      model.handle(request, response);
      return;
    }
    await gates.get(String(request.headers['x-gate']))?.enter();
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject;
      receivedRequests.push(body);
      onRequest?.(body);
    });
    model.handle(request, response);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    receivedRequests,
    counters: () => model.counters(),
    shut: (gate) => void gates.set(gate, new Gate()),
    pass: (gate) => gates.get(gate)?.pass(),
    open: (gate) => {
      gates.get(gate)?.open();
      gates.delete(gate);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The gates at which calls wait. */
class Gate {
  #free = 0;
  readonly #waiting: Deferred<undefined>[] = [];

  async enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = deferred<undefined>();
    this.#waiting.push(turn);
    await turn.promise;
  }

  pass(): void {
    const first = this.#waiting.shift();
    if (first === undefined) this.#free += 1;
    else first.resolve(undefined);
  }

  open(): void {
    for (const turn of this.#waiting.splice(0)) turn.resolve(undefined);
  }
}
