import { int, quote, text, unquote } from '../sql/row.ts';
import type { Sql, Transaction, Value } from '../sql/sql.ts';
import type { RolloutSelection } from '../store.ts';
import { advance } from './advance.ts';
import { batchId } from './batchState.ts';
import { closingEvents, type End } from './closingEvents.ts';
import { type EventRun, insertRuns, runsOf } from './events.ts';
import { completeGroups } from './groups/requests.ts';
import { Ledger } from './ledger.ts';
import { readRollout, SELECT_ROLLOUT } from './rolloutState.ts';

/** Rollouts ended per transaction, so that others do not wait long. */
const AT_ONCE = 500;

/**
 * See `Store.closeRollouts`. Uses several transactions for many; also closes rollouts that are queued in the meantime.
 */
export async function closeRollouts(
  sql: Sql,
  selection: RolloutSelection,
  end: End,
  force: boolean,
): Promise<string[]> {
  await completeGroups(sql, selection.batch);
  const closed: string[] = [];
  let after = 0;
  for (;;) {
    const some = await sql.write((tx) => closeSome(tx, selection, end, force, after));
    closed.push(...some.names);
    if (some.next === undefined) return closed;
    after = some.next;
  }
}

async function closeSome(
  tx: Transaction,
  selection: RolloutSelection,
  end: End,
  force: boolean,
  after: number,
): Promise<{ names: string[]; next?: number }> {
  const batchKey = await batchId(tx, selection.batch);
  const values: Value[] = [batchKey, after];
  let where = `batch = ? AND id > ? AND ${force ? 'state <> 3' : 'state = 0'}`;
  if (selection.rollout !== undefined) {
    where += ' AND name = ?';
    values.push(selection.rollout);
  }
  if (selection.task !== undefined) {
    where += ' AND task = (SELECT idx FROM task WHERE batch = ? AND name = ?)';
    values.push(batchKey, quote(selection.task));
  }
  const rollouts = (
    await tx.all(`${SELECT_ROLLOUT} WHERE ${where} ORDER BY id LIMIT ?${tx.dialect.forUpdate}`, ...values, AT_ONCE)
  ).map(readRollout);
  const ledger = await Ledger.of(tx, rollouts);
  const batch = ledger.findBatch(batchKey);
  if (batch === undefined) return { names: [] };
  const names = new Map(
    (
      await tx.all(`SELECT idx, name FROM task WHERE batch = ? AND ${tx.dialect.anyInt('idx')}`, batchKey, [
        ...new Set(rollouts.map(({ task }) => task)),
      ])
    ).map((row) => [int(row, 'idx'), unquote(text(row, 'name'))]),
  );
  const runs: EventRun[] = [];
  for (const rollout of rollouts) {
    ledger.change(rollout);
    rollout.epoch += 1;
    const events = await closingEvents(tx, batch, rollout, names.get(rollout.task) ?? '', end);
    runs.push(...runsOf(rollout.id, events, () => undefined));
    advance(rollout, events);
  }
  await insertRuns(tx, runs);
  await ledger.save();
  const last = rollouts.at(-1);
  return {
    names: rollouts.map(({ name }) => name),
    ...(rollouts.length === AT_ONCE && last !== undefined ? { next: last.id } : {}),
  };
}
