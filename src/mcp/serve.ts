/** Serves `rollout mcp` over stdio or HTTP until the client disconnects or the process is stopped. */
import { once } from 'node:events';
import { mcpServer } from './server.ts';
import { serveHttp } from './serving/http.ts';
import { serveUntilClosed } from './serving/stdio.ts';
import { Session, type SessionOptions } from './session.ts';

interface ServeOptions extends SessionOptions {
  /** HTTP port on the local machine, 0 for any free port. undefined uses stdin and stdout. */
  readonly port: number | undefined;
  /** Called with the secret URL when HTTP is ready. */
  readonly announce: (url: string) => void;
  /** Logs errors. */
  readonly log: (text: string) => void;
  readonly signal: AbortSignal;
}

export async function serve(options: ServeOptions): Promise<void> {
  const { port, signal } = options;
  const session = new Session(options);
  const make = (): ReturnType<typeof mcpServer> => mcpServer(session);
  const onError = (error: Error): void => options.log(`mcp: ${error.message}`);
  if (port === undefined) return serveUntilClosed(make, onError, signal);
  const serving = await serveHttp({ port, make, onError });
  options.announce(serving.url);
  if (!signal.aborted) await once(signal, 'abort');
  await serving.close();
}
