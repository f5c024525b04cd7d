/** `rollout mcp`: the server over stdio or HTTP, until its client is gone or somebody stops it. */
import { once } from 'node:events';
import { mcpServer } from './server.ts';
import { serveHttp } from './serving/http.ts';
import { serveUntilClosed } from './serving/stdio.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ServeOptions extends SessionOptions {
  /** Of HTTP on this machine, 0 for any free one; absent: stdin and stdout. */
  readonly port: number | undefined;
  /** Told the secret URL once HTTP is served. */
  readonly announce: (url: string) => void;
  /** Faults, for a log. */
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
