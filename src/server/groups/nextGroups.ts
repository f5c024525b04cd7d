import type { FinishedGroupRecord } from '../../store/groupStore.ts';
import type { Services } from '../services.ts';
import { Throttle } from '../throttle.ts';
import { deliverableGroups } from './stale.ts';

/** Batches change often. Nobody notices this delay. */
const LOOK_EVERY_MS = 25;

interface NextGroupsOptions {
  readonly limit: number;
  /** Seconds. */
  readonly wait: number;
  readonly signal: AbortSignal;
}

/**
 * Returns the next groups that ended after `after`, and are not to wait for fresh members: as soon as there is one, or
 * none after `wait`, when `signal` aborts, and when the batch has ended. Rejects if the store fails.
 */
export function nextGroups(
  { store, changes, endpoints }: Pick<Services, 'store' | 'changes' | 'endpoints'>,
  batch: string,
  after: number,
  { limit, wait, signal }: NextGroupsOptions,
): Promise<readonly FinishedGroupRecord[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly FinishedGroupRecord[]>();
  const look = async (): Promise<void> => {
    // In this order, so that the last groups of a batch that is ending are not missed.
    const record = await store.batch(batch);
    const groups = record === undefined ? [] : await deliverableGroups({ store, endpoints }, record, after, limit);
    if (groups.length > 0 || wait === 0 || record === undefined || record.row.state === 'ended') resolve(groups);
  };
  const throttle = new Throttle(LOOK_EVERY_MS, look, reject);
  const unwatch = changes.on(batch, () => throttle.request());
  // Without a wait, the first look answers, however long it takes.
  const timer = wait === 0 ? undefined : setTimeout(() => resolve([]), wait * 1_000);
  const onAbort = (): void => resolve([]);
  signal.addEventListener('abort', onAbort, { once: true });
  throttle.request(true);
  return promise.finally(() => {
    unwatch();
    throttle.close();
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  });
}
