/** Ends a session that sent what its worker cannot have written: somebody else has its token. */
import type { Log } from '../../common/log.ts';
import type { Store } from '../../store/store.ts';
import type { Supervisor } from '../batches/supervisor.ts';
import type { Leasing } from './leasing.ts';
import type { WorkerSession } from './session.ts';

interface TamperingContext {
  readonly store: Store;
  readonly supervisor: Supervisor;
  readonly leasing: Leasing;
  readonly log: Log;
}

/** Reports it in the batch, and requeues the rollouts of the session for other workers. */
export async function endTampered(
  { store, supervisor, leasing, log }: TamperingContext,
  session: WorkerSession,
  rollout: string,
  problem: string,
): Promise<void> {
  const { batch, worker } = session;
  const text =
    `Tampering: worker ${worker} sent events that its run of rollout ${rollout} cannot have produced: ${problem}. ` +
    'They were refused, and its session was ended.';
  session.refuse(text);
  log(text, { level: 'warning', batch, worker, rollout });
  await store.addBatchEvent(batch, 'infra', { what: 'tampering', worker, rollout, text });
  const why = 'Its session was ended because of tampering.';
  const requeued = await store.endSession(session.id, why);
  await supervisor.lostWorker(batch, requeued, why);
  leasing.check(batch, true);
  supervisor.check(batch);
}
