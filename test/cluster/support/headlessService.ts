/** A headless Service whose replicas are processes of this machine. */

import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import { HEADLESS_LABEL } from '../../../src/kubernetes/endpoints/findReplicas.ts';
import { SERVICE_LABEL } from '../../../src/kubernetes/endpoints/sliceReplicas.ts';

const PORT = 8000;

type ReplicaState = keyof typeof CONDITIONS;
/** As the cluster sets them for pods. */
const CONDITIONS = {
  notReady: { ready: false, serving: false, terminating: false },
  ready: { ready: true, serving: true, terminating: false },
  draining: { ready: false, serving: true, terminating: true },
  ended: { ready: false, serving: false, terminating: true },
} as const;

export class HeadlessService {
  readonly #cluster: Cluster;
  readonly #name: string;

  private constructor(cluster: Cluster, name: string) {
    this.#cluster = cluster;
    this.#name = name;
  }

  /** The base URL that agent files name. */
  static url(name: string): string {
    return `http://${name}:${PORT}/v1`;
  }

  /** One that exists, such as that of an installed model. */
  static of(cluster: Cluster, name: string): HeadlessService {
    return new HeadlessService(cluster, name);
  }

  static async create(cluster: Cluster, name: string): Promise<HeadlessService> {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { clusterIP: 'None', ports: [{ name: 'http', port: PORT }] },
    });
    return new HeadlessService(cluster, name);
  }

  /**
   * Adds or changes a replica. Each has its own slice, for its port. Loopback addresses are allowed in slices only as
   * names.
   */
  async replica(name: string, { port }: { readonly port: number }, state: ReplicaState): Promise<void> {
    await this.#cluster.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, labels: { [SERVICE_LABEL]: this.#name, [HEADLESS_LABEL]: '' } },
      addressType: 'FQDN',
      endpoints: [
        {
          addresses: ['127.0.0.1'],
          conditions: CONDITIONS[state],
          targetRef: { kind: 'Pod', name },
        },
      ],
      ports: [{ name: 'http', protocol: 'TCP', port }],
    });
  }
}
