/**
 * A model server as a process, which dies and comes back on its port. Like vLLM, it answers 503 while it loads. Run
 * directly it is that process: `modelServer.ts PORT LOADING_MS`.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createDemoModel } from '../../../src/demo/demoModel.ts';

const self = fileURLToPath(import.meta.url);

export class ModelServer {
  #process: ChildProcess | undefined;
  #port = 0;

  static async start(): Promise<ModelServer> {
    const server = new ModelServer();
    await server.start(0);
    return server;
  }

  /** Base URL, including `/v1`. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Listens on the port it had before, and answers once it has loaded. */
  async start(loadingMs: number): Promise<void> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', self, String(this.#port), String(loadingMs)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#process = child;
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    this.#port = Number(line);
  }

  /** Like a crash. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

if (process.argv[1] === self) {
  const [port, loadingMs] = process.argv.slice(2).map(Number);
  const model = createDemoModel();
  const loaded = performance.now() + (loadingMs ?? 0);
  const server = createServer((request, response) => {
    if (performance.now() >= loaded) model.handle(request, response);
    else
      response
        .writeHead(503, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: 'The model is loading.', type: 'ServiceUnavailable', code: 503 } }));
  });
  server.listen(port, '127.0.0.1', () => {
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    console.log(address.port);
  });
}
