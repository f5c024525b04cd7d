/** What users and queues may have of a cluster, and what their pods used: for the executor. */
import type { PodRun, PodShares } from '../../executor/executor.ts';
import type { Store } from '../../store/store.ts';
import type { PodUse } from '../../store/usageStore.ts';
import type { Submissions } from '../batches/submissions.ts';
import type { Shares } from './shares.ts';
import { limitName } from './waiting.ts';

interface PodSharesOptions {
  readonly shares: Shares;
  readonly store: Pick<Store, 'batch' | 'usage'>;
  readonly submissions: Submissions;
}

type Of = Pick<PodUse, 'queue' | 'user' | 'model'>;

/** Batches whose owners are remembered. */
const REMEMBERED = 1_000;

export function podShares({ shares, store, submissions }: PodSharesOptions): PodShares {
  const owners = new Map<string, Of>();
  const ownerOf = async (batch: string): Promise<Of | undefined> => {
    const existing = owners.get(batch);
    if (existing !== undefined) return existing;
    const record = await store.batch(batch);
    if (record === undefined) return undefined;
    const { queue = '', user } = shares.ownerOf(record);
    const submission = await submissions.get(record.spec.submission);
    const of = { queue, user, model: submission.agent.model.name };
    if (owners.size >= REMEMBERED) owners.clear();
    owners.set(batch, of);
    return of;
  };
  return {
    localQueue: (batch) => {
      const tracked = shares.tracked.get(batch);
      return tracked === undefined ? undefined : shares.settings.queue(tracked.owner.queue).local_queue;
    },
    allowed: (batch, pods) => {
      const tracked = shares.tracked.get(batch);
      const limit = tracked === undefined ? undefined : shares.podLimit(tracked.owner);
      if (limit === undefined) return undefined;
      return {
        pods: shares.podsOf(batch, pods),
        text:
          `${limitName(limit)} may have ${limit.limit === 1 ? 'one pod' : `${limit.limit} pods`} at once. ` +
          'The batch gets more when pods of other batches end.',
      };
    },
    record: async (runs) => {
      const uses: PodUse[] = [];
      for (const run of runs) {
        const of = await ownerOf(run.batch);
        if (of !== undefined) uses.push(useOf(run, of));
      }
      await store.usage.recordPods(uses);
    },
  };
}

function useOf({ uid, batch, from, until, cpus, gpus }: PodRun, of: Of): PodUse {
  return { uid, batch, from, until, cpus, gpus, ...of };
}
