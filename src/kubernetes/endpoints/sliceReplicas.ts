/** Follows the replicas of Services in the server's namespace by watching their EndpointSlices. */
import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Replica, ReplicaSource } from '../../protocol/replicas.ts';
import type { Cluster } from '../access/cluster.ts';
import type { EndpointSlice } from '../access/objects.ts';
import { watchList } from '../access/watch.ts';
import { selector } from '../names.ts';
import { readyReplicas } from './readyReplicas.ts';
import { serviceOf } from './serviceName.ts';

/** On every slice: the Service it is of. */
export const SERVICE_LABEL = 'kubernetes.io/service-name';
/** After a failure that time alone does not fix, as a right that is missing. */
const AGAIN_MS = 15_000;

export interface SliceReplicasOptions {
  /** Its namespace is the only one that is looked at. */
  readonly cluster: Cluster;
  readonly log: Log;
}

export class SliceReplicas implements ReplicaSource {
  readonly #options: SliceReplicasOptions;

  constructor(options: SliceReplicasOptions) {
    this.#options = options;
  }

  follow(endpoint: string, tell: (replicas: readonly Replica[] | undefined) => void): (() => void) | undefined {
    const service = serviceOf(endpoint, this.#options.cluster.namespace);
    if (service === undefined) return undefined;
    const end = new AbortController();
    void this.#watch(endpoint, service, tell, end.signal);
    return () => end.abort();
  }

  /** What was known last stays while the API server is away. */
  async #watch(
    endpoint: string,
    service: string,
    tell: (replicas: readonly Replica[] | undefined) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster, log } = this.#options;
    const slices = new Map<string, EndpointSlice>();
    let told: readonly Replica[] | undefined;
    const look = (): void => {
      const now = readyReplicas(endpoint, [...slices.values()]);
      if (isDeepStrictEqual(now, told)) return;
      told = now;
      log(
        `Service ${service}: ` +
          (now === undefined
            ? 'is one endpoint'
            : now.length === 0
              ? 'no replica is ready'
              : `replicas ${now.map(({ name }) => name).join(', ')}`),
      );
      tell(now);
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
              look();
            },
            onEvent: (type, slice) => {
              if (type === 'DELETED') slices.delete(slice.metadata.name);
              else slices.set(slice.metadata.name, slice);
              look();
            },
          },
        );
      } catch (error) {
        const text = errorText(error);
        if (text !== failed) log(`looking for replicas of ${service} failed: ${text}`, { level: 'warning' });
        failed = text;
        await sleep(AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }
}
