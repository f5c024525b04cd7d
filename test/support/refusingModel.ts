/** Workers and a server that share a model which refuses calls, in virtual time: permits as they divide them. */
import { PermitGate } from '../../src/model/permits.ts';
import { BackPressure } from '../../src/server/pressure/backPressure.ts';
import type { BatchShare, EndpointReport } from '../../src/server/pressure/options.ts';

const ENDPOINT = 'http://model.test/v1';
const TICK_MS = 10;
/** How often a server sends permits if nothing changed. */
const BEAT_MS = 500;
/** How long a worker gathers its reports of answers. */
const REPORT_MS = 200;

interface SimulatedOwner {
  readonly weight: number;
  readonly workers: number;
  /** Rollouts of each worker. */
  readonly rollouts: number;
}

interface SimulationOptions {
  readonly owners: Readonly<Record<string, SimulatedOwner>>;
  /** Calls that the model runs at once at a time in ms; it refuses more. */
  readonly capacity: (at: number) => number;
  readonly callMs: number;
  readonly ms: number;
  /** Calls that began before are not counted. */
  readonly from?: number;
  /** Another one has another order of what happens at the same time. */
  readonly seed?: number;
}

interface SimulationResult {
  /** Calls that the model accepted, by owner. */
  readonly calls: Readonly<Record<string, number>>;
  readonly refused: number;
}

/** Every rollout calls all the time. The same options have the same result. */
export function simulate({ owners, capacity, callMs, ms, from = 0, seed = 1 }: SimulationOptions): SimulationResult {
  let now = 0;
  let changed = true;
  const random = sequence(seed);
  const calls = Object.fromEntries(Object.keys(owners).map((owner) => [owner, 0]));
  const workers = Object.entries(owners).flatMap(([owner, { workers: count, rollouts }]) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ owner, rollouts, session: `${owner}-${index}`, running: 0, answers: 0 },
      gate: new PermitGate({ now: () => now, random }),
    })),
  );
  const shareOf = (batch: string): BatchShare => ({
    ...{ priority: 0, queue: undefined, queueWeight: 1, user: batch, blocked: false },
    userWeight: owners[batch]?.weight ?? 1,
  });
  const pressure = new BackPressure({
    callers: () =>
      workers.map(({ session, owner, rollouts }) => ({ session, batch: owner, running: rollouts, demand: rollouts })),
    shareOf,
    changed: () => (changed = true),
    demo: () => undefined,
    now: () => now,
  });
  for (const owner of Object.keys(owners)) pressure.use(owner, [ENDPOINT], [], undefined);
  const report = (owner: string, what: EndpointReport): void => pressure.report(owner, ENDPOINT, what);
  let open = 0;
  let refused = 0;
  const later: { readonly at: number; readonly run: () => void }[] = [];
  for (; now < ms; now += TICK_MS) {
    while (later[0] !== undefined && later[0].at <= now) later.shift()?.run();
    if (changed || now % BEAT_MS === 0) {
      changed = false;
      const shares = pressure.shares();
      for (const { gate, session } of workers) {
        const { permits, waits } = shares.get(session) ?? { permits: {}, waits: {} };
        gate.setPermits(permits, waits);
      }
    }
    if (now % REPORT_MS === 0)
      for (const worker of workers) {
        if (worker.answers > 0) report(worker.owner, { what: 'ok', count: worker.answers });
        worker.answers = 0;
      }
    // Nobody is always the first.
    const order = workers.map((worker) => ({ worker, key: random() })).sort((a, b) => a.key - b.key);
    for (const { worker } of order) {
      while (worker.running < worker.rollouts) {
        const permit = worker.gate.tryAcquire([ENDPOINT]);
        if (permit === undefined) break;
        if (open >= capacity(now)) {
          refused++;
          permit.failed();
          permit.release();
          report(worker.owner, { what: 'busy' });
          continue;
        }
        open++;
        worker.running++;
        if (now >= from) calls[worker.owner] = (calls[worker.owner] ?? 0) + 1;
        later.push({
          at: now + callMs,
          run: () => {
            open--;
            worker.running--;
            worker.answers++;
            permit.answered();
            permit.release();
          },
        });
      }
    }
  }
  pressure.close();
  for (const { gate } of workers) gate.close();
  return { calls, refused };
}

/** Returns numbers from 0 to 1 that are always the same for a seed. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
