/**
 * Deletes pods whose workers do not respond, although their containers run: a process that is frozen, or that waits
 * forever, never ends, and its Job would wait for it as long.
 */
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import { sentence } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { Cluster } from '../../kubernetes/access/cluster.ts';
import { isReady } from '../../kubernetes/access/podReady.ts';
import type { ClusterHost } from '../executor.ts';
import { batchOf } from './jobRounds.ts';

interface FrozenPodsOptions {
  readonly cluster: Cluster;
  readonly host: ClusterHost;
  readonly signal: AbortSignal;
  /** See `RETURN_MS`. */
  readonly returnMs?: number;
}

/** A worker that lost its lease (its network was cut) and is not frozen reconnects within this time. */
const RETURN_MS = 30_000;
/** A frozen process handles no signal. */
const GRACE_SECONDS = 1;

export class FrozenPods {
  readonly #options: FrozenPodsOptions;
  /** Names of pods that are being waited for. */
  readonly #waiting = new Set<string>();

  constructor(options: FrozenPodsOptions) {
    this.#options = options;
  }

  /** Deletes the pod of a worker that lost its lease, unless the worker comes back. */
  async workerLost(batch: string, name: string): Promise<void> {
    if (this.#waiting.has(name)) return;
    this.#waiting.add(name);
    try {
      await this.#deleteUnlessBack(batch, name);
    } finally {
      this.#waiting.delete(name);
    }
  }

  async #deleteUnlessBack(batch: string, name: string): Promise<void> {
    const { cluster, host, signal, returnMs = RETURN_MS } = this.#options;
    await sleep(returnMs, signal);
    const pod = await cluster.get('Pod', name, { signal });
    // A pod that ends does so on its own, and one on a lost node is the cluster's business: it is not ready.
    if (pod === undefined || batchOf(pod) !== batch || pod.metadata.deletionTimestamp !== undefined || !isReady(pod))
      return;
    if ((await host.workers(batch)).includes(name)) return;
    const { uid } = pod.metadata;
    try {
      await cluster.remove('Pod', name, { signal, graceSeconds: GRACE_SECONDS, ...(uid === undefined ? {} : { uid }) });
    } catch (error) {
      if (signal.aborted) throw error;
      await host.recordInfra(batch, {
        what: 'pod_frozen',
        pod: name,
        text:
          `Pod ${name} does not respond, and the server cannot delete it: ${sentence(errorText(error))} Delete it ` +
          'yourself. If the server lacks the right, run `rollout cluster upgrade`.',
      });
      return;
    }
    await host.recordInfra(batch, {
      what: 'pod_frozen',
      pod: name,
      text:
        `Pod ${name} did not respond for longer than its lease and ${duration(returnMs)} more, so the server deleted ` +
        'it. Its Job starts another one.',
    });
  }
}
