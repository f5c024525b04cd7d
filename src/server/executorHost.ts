/** What the server offers to its executor. */
import type { ClusterHost, PodShares } from '../executor/executor.ts';
import type { Store } from '../store/store.ts';
import { Attachments } from './batches/attached.ts';
import type { Services } from './services.ts';
import type { Hub } from './workers/hub.ts';

const READ_BYTES = 1024 * 1024;

/** Returns the host. `origins`: where workers reach the server, best first; `listens`: if there are none. */
export function executorHost(parts: {
  services: Services;
  hub: Hub;
  origins: readonly string[];
  listens: string;
  shares: PodShares;
}): ClusterHost {
  const {
    services: { store, secrets, tokens, supervisor, leasing, log },
    hub,
  } = parts;
  const attachments = new Attachments(store);
  const [url = parts.listens, ...others] = parts.origins;
  return {
    url,
    others,
    token: (batch) => tokens.enrollment(batch),
    podToken: (batch) => tokens.podEnrollment(batch),
    secrets: async (batch) => ((await secrets.get(batch)) === undefined ? undefined : secrets.path(batch)),
    workers: async (batch) => (await store.sessions({ batch })).map((session) => session.worker),
    workerEnded: async (batch, worker, reason, infra) => {
      // It may be the last line of the worker's log.
      const why = secrets.clean(batch, reason);
      const rollouts: string[] = [];
      for (const { session } of await store.sessions({ batch, worker }))
        rollouts.push(...(await store.endSession(session, why)));
      await supervisor.lostWorker(batch, rollouts, why);
      if (infra) await store.addBatchEvent(batch, 'infra', { what: 'worker_exit', worker, text: why });
      leasing.check(batch, true);
      supervisor.check(batch);
      return rollouts.length > 0;
    },
    drain: (worker) => {
      const connected = [...hub.sessions()].filter((session) => session.worker === worker);
      for (const session of connected) hub.control(session, 'drain', {}, 'server');
      return connected.length > 0;
    },
    refresh: (batch) => supervisor.check(batch),
    recordInfra: async (batch, what, once = false) => {
      if (once && (await hasInfra(store, batch, what.what))) return;
      await store.addBatchEvent(batch, 'infra', secrets.clean(batch, what));
    },
    giveUp: async (batch, why) => {
      const reason = secrets.clean(batch, why);
      await store.addBatchEvent(batch, 'infra', { what: 'given_up', text: reason });
      await supervisor.stop(batch, reason, 'infrastructure');
    },
    attached: (batch, submission) => attachments.of(batch, submission),
    hasEnded: async (batch) => ((await store.batch(batch))?.row.state ?? 'ended') === 'ended',
    elect: (role) => store.elect(role),
    shares: parts.shares,
    log,
  };
}

/** Returns whether the batch's stream has an `infra` event of this kind, also from before a restart. */
async function hasInfra(store: Store, batch: string, what: string): Promise<boolean> {
  let after = 0;
  for (;;) {
    const events = await store.read(batch, after, READ_BYTES);
    if (events.some(({ body }) => body.includes(`"what":${JSON.stringify(what)}`))) return true;
    const last = events.at(-1)?.seq;
    if (last === undefined) return false;
    after = last;
  }
}
