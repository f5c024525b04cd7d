/** Looks whether WebSockets reach a server at a URL: commands and VS Code follow batches over them. */
import type { StudioError } from '../../../common/errors.ts';
import type { Connection } from '../../connect.ts';
import { wsSocket } from '../../subscribe.ts';
import { type TargetFinding, trouble } from './finding.ts';

/** Returns a finding if something refuses them, and nothing if they pass, or if that does not show in time. */
export async function webSocketFindings(connection: Connection, signal: AbortSignal): Promise<TargetFinding[]> {
  const { promise, resolve } = Promise.withResolvers<StudioError | undefined>();
  const end = (): void => {
    resolve(undefined);
  };
  const socket = wsSocket(() => connection.address())({ open: end, message: () => undefined, close: resolve });
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const refusal = await promise;
  signal.removeEventListener('abort', end);
  socket.close();
  return refusal === undefined ? [] : [trouble('network', refusal)];
}
