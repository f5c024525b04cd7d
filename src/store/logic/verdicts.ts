/** Later verdicts on rollouts: of people, and of batches that rescore another one. */
import { StudioError } from '../../common/errors.ts';
import type { EventData, EventOf, TraceEvent } from '../../trace/schema.ts';
import type { Verdict } from '../../trace/summary.ts';
import { text } from '../sql/row.ts';
import type { Transaction } from '../sql/sql.ts';
import { addBatchEvent, readEvents } from './events.ts';
import { Ledger } from './ledger.ts';
import { type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';

/** A rollout that scores another one writes few events of its own, and none of them is long. */
const OWN_BYTES = 4 * 1024 * 1024;

type ScoreOf = EventData['score'] & { readonly rollout: string };

/** Adds a verdict on an ended rollout to the stream of its batch, and to its row. Returns its seq. */
export async function addVerdict(tx: Transaction, name: string, verdict: ScoreOf): Promise<number> {
  const row = await tx.get(`${SELECT_ROLLOUT} WHERE name = ?${tx.dialect.forUpdate}`, verdict.rollout);
  const rollout = row === undefined ? undefined : readRollout(row);
  const ledger = await Ledger.of(tx, rollout === undefined ? [] : [rollout]);
  const batch = rollout === undefined ? undefined : ledger.findBatch(rollout.batch);
  if (rollout === undefined || batch === undefined || batch.name !== name)
    throw new StudioError('not_found', `Batch ${name} has no rollout ${verdict.rollout}.`, {
      hint: 'List its rollouts with `rollout show BATCH`.',
    });
  if (rollout.state !== 'ended')
    throw new StudioError('conflict', `Rollout ${verdict.rollout} has not ended, so nobody can judge it yet.`);
  const seq = await addTo(tx, ledger, rollout, verdict);
  await ledger.save();
  return seq;
}

/** Returns the names of the rollouts that some of `names` score again. */
export async function originsOf(tx: Transaction, names: readonly string[]): Promise<string[]> {
  const rows = await tx.all(
    `SELECT name, origin FROM rollout WHERE ${tx.dialect.anyText('name')} AND origin IS NOT NULL`,
    names,
  );
  return rows.map((row) => (JSON.parse(text(row, 'origin')) as { rollout: string }).rollout); // stored by this store
}

/**
 * Copies the score of a rollout that settled its attempt to the rollout that it scores again. Both are locked, and so
 * are their batches.
 */
export async function copyVerdict(
  tx: Transaction,
  ledger: Ledger,
  rollout: RolloutRecordRow,
  target: RolloutRecordRow,
): Promise<void> {
  if (rollout.origin === undefined || ledger.findBatch(target.batch) === undefined) return;
  const own = await readEvents(tx, rollout.id, rollout.origin.seq, OWN_BYTES);
  const score = own
    .filter(({ body }) => body.includes('"kind":"score"'))
    .map(({ body }) => JSON.parse(body) as TraceEvent) // checked before it was stored
    .findLast((event): event is EventOf<'score'> => event.kind === 'score' && event.span === undefined);
  if (score === undefined) return;
  const { rescores } = ledger.batch(rollout.batch).spec;
  const by = rescores === undefined ? {} : { by: rescores.by };
  await addTo(tx, ledger, target, { ...score.data, ...by, rollout: target.name, run: rollout.name });
}

async function addTo(tx: Transaction, ledger: Ledger, rollout: RolloutRecordRow, data: ScoreOf): Promise<number> {
  const batch = ledger.batch(rollout.batch);
  const seq = await addBatchEvent(tx, batch, 'score', data);
  const { value, passed, outcome, version, by, run } = data;
  const verdict: Verdict = {
    value,
    passed,
    ...(outcome === undefined ? {} : { outcome }),
    at: batch.lastAt,
    ...(version === undefined ? {} : { version }),
    ...(by === undefined ? {} : { by }),
    ...(run === undefined ? {} : { run }),
  };
  ledger.change(rollout).progress = {
    ...rollout.progress,
    verdicts: { ...rollout.progress.verdicts, [data.scorer]: verdict },
  };
  return seq;
}
