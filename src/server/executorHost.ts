/** What the server offers to its executor. */
import type { ClusterHost } from '../executor/executor.ts';
import type { Services } from './services.ts';
import type { Hub } from './workers/hub.ts';

/** Returns the host. `origins`: where workers reach the server, best first; `listens`: if there are none. */
export function executorHost(parts: {
  services: Services;
  hub: Hub;
  origins: readonly string[];
  listens: string;
}): ClusterHost {
  const {
    services: { store, secrets, tokens, supervisor, leasing, log },
    hub,
  } = parts;
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
    recordInfra: async (batch, what) => {
      await store.addBatchEvent(batch, 'infra', secrets.clean(batch, what));
    },
    giveUp: async (batch, why) => {
      const reason = secrets.clean(batch, why);
      await store.addBatchEvent(batch, 'infra', { what: 'given_up', text: reason });
      await supervisor.stop(batch, reason, 'infrastructure');
    },
    hasEnded: async (batch) => ((await store.batch(batch))?.row.state ?? 'ended') === 'ended',
    elect: (role) => store.elect(role),
    log,
  };
}
