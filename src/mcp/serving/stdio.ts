import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

/** Serves one client over stdin and stdout. Resolves when it disconnects or `signal` aborts. */
export async function serveUntilClosed(
  make: () => McpServer,
  onError: (error: Error) => void,
  signal: AbortSignal,
): Promise<void> {
  const serving = serveStdio(make, { onerror: onError });
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  await serving.close();
}
