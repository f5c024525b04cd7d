/** The rollouts of pods that get a single one. They outlive sessions, so that enrolling again gives no other one. */
import { quote, text } from '../sql/row.ts';
import { POD_ROLLOUT } from '../sql/schema.ts';
import type { Reader, Transaction } from '../sql/sql.ts';
import { type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';

/** See `Store.podRollout`. */
export async function podRollout(db: Reader, batch: string, pod: string): Promise<string | undefined> {
  const row = await db.get(
    'SELECT p.rollout AS rollout FROM pod_rollout p JOIN batch b ON b.id = p.batch WHERE b.name = ? AND p.pod = ?',
    batch,
    quote(pod),
  );
  return row === undefined ? undefined : text(row, 'rollout');
}

/** Chooses queued rollouts for pods, in one transaction. */
export class PodRollouts {
  readonly #tx: Transaction;
  readonly #batch: number;
  /** The names of the rollouts that pods were given before. */
  readonly #given: ReadonlyMap<string, string>;
  /** Those of them that are queued. */
  readonly queued: readonly RolloutRecordRow[];

  private constructor(
    tx: Transaction,
    batch: number,
    given: ReadonlyMap<string, string>,
    queued: readonly RolloutRecordRow[],
  ) {
    this.#tx = tx;
    this.#batch = batch;
    this.#given = given;
    this.queued = queued;
  }

  /** Locks the rollouts that the pods were given before. */
  static async of(tx: Transaction, batch: number, pods: readonly string[]): Promise<PodRollouts> {
    if (pods.length === 0) return new PodRollouts(tx, batch, new Map(), []);
    const rows = await tx.all(
      `SELECT pod, rollout FROM pod_rollout WHERE batch = ? AND ${tx.dialect.anyText('pod')}`,
      batch,
      pods.map(quote),
    );
    const given = new Map(rows.map((row) => [text(row, 'pod'), text(row, 'rollout')]));
    if (given.size === 0) return new PodRollouts(tx, batch, given, []);
    const own = await tx.all(
      `${SELECT_ROLLOUT} WHERE ${tx.dialect.anyText('name')} ORDER BY id${tx.dialect.skipLocked}`,
      [...new Set(given.values())],
    );
    return new PodRollouts(
      tx,
      batch,
      given,
      own.map(readRollout).filter(({ state }) => state === 'queued'),
    );
  }

  /** Takes the pod's rollout again, or its first one from `queue`. */
  async take(pod: string, queue: RolloutRecordRow[]): Promise<RolloutRecordRow[]> {
    const given = this.#given.get(quote(pod));
    if (given !== undefined) return this.queued.filter(({ name, state }) => name === given && state === 'queued');
    const [first] = queue;
    if (first === undefined) return [];
    const row = [this.#batch, quote(pod), first.name];
    // Another session of the pod may have got one in the meantime.
    const isFirst = (await this.#tx.insert(POD_ROLLOUT, ['batch', 'pod', 'rollout'], [row], 'ignore')) === 1;
    return isFirst ? queue.splice(0, 1) : [];
  }
}
