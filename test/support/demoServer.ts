import { createServer } from 'node:http';
import { createDemoModel, type DemoModel, type DemoModelOptions } from '../../src/demo/demoModel.ts';

export interface DemoServer extends DemoModel {
  readonly port: number;
  /** Base URL of the API, e.g. `http://127.0.0.1:40123/v1`. */
  readonly url: string;
  /** Closes open connections and stops listening. */
  close(): Promise<void>;
}

/** Starts a demo model on its own loopback port. `port` 0 picks a free one. */
export async function startDemoServer(
  options: DemoModelOptions & { readonly port?: number } = {},
): Promise<DemoServer> {
  const model = createDemoModel(options);
  const server = createServer((request, response) => model.handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the demo server listens on no port');
  return {
    handle: (request, response) => model.handle(request, response),
    counters: () => model.counters(),
    port: address.port,
    url: `http://127.0.0.1:${address.port}${options.prefix ?? ''}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
