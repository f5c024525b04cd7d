/** The logs of pods, as they are written. */
import type { Cluster } from './cluster.ts';
import { responseError } from './kubeErrors.ts';
import { readText } from './responseText.ts';

interface LogOptions {
  readonly container: string | undefined;
  /** The last lines only. */
  readonly tail: number | undefined;
  /** Goes on until the container ends. */
  readonly follow: boolean;
}

/** Yields the log of a container. Throws StudioError, with the status of the API server, if it has none. */
export async function* podLog(
  cluster: Cluster,
  pod: string,
  { container, tail, follow }: LogOptions,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { connection, namespace } = cluster;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`;
  const query = {
    container,
    tailLines: tail === undefined ? undefined : String(tail),
    follow: follow ? 'true' : undefined,
  };
  const { status, body, skewMs } = await connection.stream(path, query, signal, '*/*');
  try {
    if (status !== 200) {
      const text = (await Array.fromAsync(readText(body))).join('');
      const request = { verb: 'get', resource: 'pods/log', group: '', name: pod, namespace };
      throw responseError({ status, text, skewMs }, request, connection.context);
    }
    yield* readText(body);
  } catch (error) {
    throw await connection.failure(error, signal);
  } finally {
    body.destroy();
  }
}
