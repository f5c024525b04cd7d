/**
 * Admits pods that each get a single rollout. Whoever controls the rollout may read all that its pod has: its
 * configuration, its UID, and its tokens. So they are worth that rollout, and no other one.
 */
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import type { Executor } from '../../executor/executor.ts';
import type { Store } from '../../store/store.ts';
import { same } from '../access/tokens.ts';
import type { WorkerSession } from './session.ts';

interface PodEnrollmentOptions {
  readonly store: Store;
  /** See `Executor.podUid`. */
  readonly uid: NonNullable<Executor['podUid']>;
  readonly log: Log;
}

export class PodEnrollment {
  readonly #options: PodEnrollmentOptions;
  /** Pods whose tampering was reported. */
  readonly #reported = new Set<string>();

  constructor(options: PodEnrollmentOptions) {
    this.#options = options;
  }

  /**
   * Checks that this is a running pod of the batch, and that it has no rollout yet. Throws `forbidden`, and
   * `unavailable` while the cluster cannot be asked.
   */
  async admit(batch: string, worker: string, pod: string): Promise<void> {
    const { store, uid } = this.#options;
    // First, because it needs no cluster. Whoever knows the UID has read it in the pod.
    const rollout = await store.podRollout(batch, pod);
    if (rollout !== undefined) {
      const text = `worker ${worker} enrolled again as a pod that already got rollout ${rollout}`;
      await this.#report(batch, worker, pod, rollout, `${text}. It was refused.`);
      throw new StudioError('forbidden', `This pod already got its rollout, ${rollout}.`);
    }
    let found: string | undefined;
    try {
      found = await uid(batch, worker);
    } catch (error) {
      throw new StudioError('unavailable', `Cannot look for pod ${worker} in the cluster: ${errorText(error)}`, {
        cause: error,
      });
    }
    if (found === undefined || !same(found, pod))
      throw new StudioError('forbidden', `There is no running pod ${worker} of the batch with this UID.`);
  }

  /**
   * Whether there can be a rollout for a session: its pod has none yet, or its rollout is queued, e.g. because the
   * connection broke before the worker received it.
   */
  async mayLease({ batch, worker, pod, only, rollouts, ended }: WorkerSession): Promise<boolean> {
    if (pod === undefined || only === undefined) return true;
    if ((await this.#options.store.rollout(only))?.row.state === 'queued') return true;
    if (rollouts.has(only) || ended.has(only)) {
      const text = `worker ${worker} requested a rollout after ${only}, the only one of its pod. It got none.`;
      await this.#report(batch, worker, pod, only, text);
    }
    return false;
  }

  /** Records it once for each pod, so that it cannot fill the batch's stream. */
  async #report(batch: string, worker: string, pod: string, rollout: string, what: string): Promise<void> {
    const text = `Tampering: ${what}`;
    if (this.#reported.has(pod)) return;
    this.#reported.add(pod);
    this.#options.log(text, { level: 'warning', batch, worker, rollout });
    await this.#options.store.addBatchEvent(batch, 'infra', { what: 'tampering', worker, rollout, text });
  }
}
