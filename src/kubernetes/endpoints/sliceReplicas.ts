/** Follows the replicas of Services in the server's namespace by watching their EndpointSlices. */
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { ReplicaSource, Replicas } from '../../protocol/replicas.ts';
import type { Cluster } from '../access/cluster.ts';
import type { EndpointSlice } from '../access/objects.ts';
import { watchList } from '../access/watch.ts';
import { selector } from '../names.ts';
import { findReplicas } from './findReplicas.ts';
import { serviceOf } from './serviceName.ts';

/** On every slice: the name of its Service. */
export const SERVICE_LABEL = 'kubernetes.io/service-name';
/** Wait after a failure that time alone does not fix, such as a missing right. */
const RETRY_MS = 15_000;

interface SliceReplicasOptions {
  /** Only its namespace is watched. */
  readonly cluster: Cluster;
  readonly log: Log;
}

export class SliceReplicas implements ReplicaSource {
  readonly #options: SliceReplicasOptions;

  constructor(options: SliceReplicasOptions) {
    this.#options = options;
  }

  follow(endpoint: string, onChange: (replicas: Replicas | undefined) => void): (() => void) | undefined {
    const service = serviceOf(endpoint, this.#options.cluster.namespace);
    if (service === undefined) return undefined;
    const end = new AbortController();
    void this.#watch(endpoint, service, onChange, end.signal);
    return () => end.abort();
  }

  /** The last known replicas stay while the API server is down. */
  async #watch(
    endpoint: string,
    service: string,
    onChange: (replicas: Replicas | undefined) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster, log } = this.#options;
    const slices = new Map<string, EndpointSlice>();
    let reported: Replicas | undefined;
    const update = (): void => {
      const now = findReplicas(endpoint, [...slices.values()]);
      if (isDeepStrictEqual(now, reported)) return;
      reported = now;
      log(`Service ${service}: ${now === undefined ? 'is one endpoint' : describeReplicas(now)}`);
      onChange(now);
    };
    let failed = '';
    while (!signal.aborted) {
      try {
        await watchList(
          cluster,
          'EndpointSlice',
          { labels: selector({ [SERVICE_LABEL]: service }) },
          {
            signal,
            onList: (items) => {
              slices.clear();
              for (const slice of items) slices.set(slice.metadata.name, slice);
              update();
            },
            onEvent: (type, slice) => {
              if (type === 'DELETED') slices.delete(slice.metadata.name);
              else slices.set(slice.metadata.name, slice);
              update();
            },
          },
        );
      } catch (error) {
        const text = errorText(error);
        if (text !== failed) log(`finding the replicas of ${service} failed: ${text}`, { level: 'warning' });
        failed = text;
        await sleep(RETRY_MS, signal).catch(() => undefined);
      }
    }
  }
}

function describeReplicas({ ready, draining }: Replicas): string {
  const names = ready.length === 0 ? 'no replica is ready' : `replicas ${ready.map(({ name }) => name).join(', ')}`;
  return draining.size === 0 ? names : `${names}; ${draining.size} draining`;
}
