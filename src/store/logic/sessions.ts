import { StudioError } from '../../common/errors.ts';
import { int, intOr, quote, text, textOr, unquote } from '../sql/row.ts';
import { SESSION } from '../sql/schema.ts';
import type { Reader, Row, Sql, Transaction } from '../sql/sql.ts';
import type { AdoptedSession, NewSession, OpenSession, SessionRecord, TakenOver } from '../store.ts';
import { batchId, lockBatches } from './batchState.ts';
import { addBatchEvent } from './events.ts';
import { Ledger } from './ledger.ts';
import { checkName } from './names.ts';
import { type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';

/** See `Store.openSession`. */
export async function openSession(tx: Transaction, session: NewSession, leaseMs: number): Promise<void> {
  const batch = await batchId(tx, session.batch);
  const open = await tx.get(
    'SELECT id FROM session WHERE batch = ? AND worker = ? AND expires_at >= ?',
    batch,
    quote(session.worker),
    tx.now,
  );
  if (open !== undefined)
    throw new StudioError('unavailable', `The name ${session.worker} belongs to an open session.`, {
      hint: 'Present its token, use another name, or wait until its lease ends.',
    });
  await insertSession(tx, session, batch, leaseMs);
}

async function insertSession(tx: Transaction, session: NewSession, batch: number, leaseMs: number): Promise<void> {
  checkName('session', session.session);
  // Earlier commands to the whole batch are reflected in its record, which the worker gets on connecting.
  const newest = await tx.get('SELECT coalesce(max(id), 0) AS id FROM command WHERE batch = ?', batch);
  await tx.insert(
    SESSION,
    ['name', 'batch', 'worker', 'slots', 'server', 'expires_at', 'handed'],
    [
      [
        session.session,
        batch,
        quote(session.worker),
        session.slots,
        session.server,
        tx.now + leaseMs,
        newest === undefined ? 0 : int(newest, 'id'),
      ],
    ],
  );
}

/** See `Store.beat`. */
export async function beat(tx: Transaction, session: string, leaseMs: number): Promise<boolean> {
  return (await tx.run('UPDATE session SET expires_at = ? WHERE name = ?', tx.now + leaseMs, session)) > 0;
}

/** See `Store.graceForSessions`. */
export async function graceForSessions(tx: Transaction, leaseMs: number): Promise<void> {
  await tx.run('UPDATE session SET expires_at = ? WHERE expires_at < ?', tx.now + leaseMs, tx.now + leaseMs);
}

interface EndedSession {
  readonly session: string;
  readonly worker: string;
  readonly batch: string;
  readonly rollouts: string[];
}

/** See `Store.endSession`. */
export async function endSession(tx: Transaction, name: string, why: string): Promise<EndedSession | undefined> {
  const session = await tx.get(
    `SELECT id, name, batch, worker FROM session WHERE name = ?${tx.dialect.forUpdate}`,
    name,
  );
  return session === undefined ? undefined : end(tx, session, 'worker_ended', why);
}

/** See `Store.handOver`. */
export async function handOver(tx: Transaction, name: string, rollout: string, epoch: number): Promise<void> {
  const session = await tx.get(`SELECT id FROM session WHERE name = ?${tx.dialect.forUpdate}`, name);
  const row = await tx.get(`${SELECT_ROLLOUT} WHERE name = ?${tx.dialect.forUpdate}`, rollout);
  if (session === undefined || row === undefined) return;
  const record = readRollout(row);
  if (record.session !== int(session, 'id') || record.epoch !== epoch || record.state === 'ended') return;
  const ledger = await Ledger.of(tx, [record]);
  ledger.change(record);
  record.state = 'queued';
  record.session = null;
  await ledger.save();
}

/** See `Store.expireSessions`. Each session ends in its own transaction. */
export async function expireSessions(sql: Sql): Promise<EndedSession[]> {
  const now = await sql.now();
  const names = (await sql.read((db) => db.all('SELECT name FROM session WHERE expires_at < ? ORDER BY id', now))).map(
    (row) => text(row, 'name'),
  );
  const ended: EndedSession[] = [];
  for (const name of names) {
    const one = await sql.write(async (tx) => {
      // In the meantime, it may have renewed its lease, or another server may have ended it.
      const session = await tx.get(
        `SELECT id, name, batch, worker FROM session WHERE name = ? AND expires_at < ?${tx.dialect.forUpdate}`,
        name,
        tx.now,
      );
      return session === undefined ? undefined : end(tx, session, 'worker_lost', 'The worker did not renew its lease.');
    });
    if (one !== undefined) ended.push(one);
  }
  return ended;
}

async function end(tx: Transaction, session: Row, what: string, why: string): Promise<EndedSession> {
  const id = int(session, 'id');
  const worker = unquote(text(session, 'worker'));
  const rollouts = (await tx.all(`${SELECT_ROLLOUT} WHERE session = ? ORDER BY id${tx.dialect.forUpdate}`, id)).map(
    readRollout,
  );
  const ledger = new Ledger(tx, await lockBatches(tx, [int(session, 'batch')]));
  const batch = ledger.findBatch(int(session, 'batch'));
  for (const rollout of rollouts) {
    ledger.change(rollout);
    rollout.state = 'queued';
    rollout.session = null;
    if (batch !== undefined)
      await addBatchEvent(tx, batch, 'infra', { what, worker, rollout: rollout.name, text: why });
  }
  // A worker that leaves without rollouts is not reported, unless it left unexpectedly.
  if (batch !== undefined && batch.endedAt === null && rollouts.length === 0 && what === 'worker_lost') {
    await addBatchEvent(tx, batch, 'infra', { what, worker, text: why });
  }
  await ledger.save();
  await tx.run('DELETE FROM session WHERE id = ?', id);
  tx.changed(text(session, 'name'));
  return {
    session: text(session, 'name'),
    worker,
    batch: batch?.name ?? '',
    rollouts: rollouts.map(({ name }) => name),
  };
}

/** See `Store.takeOver`. */
export async function takeOver(
  tx: Transaction,
  session: NewSession,
  previous: string,
  held: readonly { rollout: string; epoch: number }[],
  leaseMs: number,
): Promise<TakenOver | undefined> {
  const old = await tx.get(
    `SELECT id, name, batch, worker, server FROM session WHERE name = ?${tx.dialect.forUpdate}`,
    previous,
  );
  if (old === undefined) return undefined;
  const batch = await batchId(tx, session.batch);
  if (int(old, 'batch') !== batch || text(old, 'worker') !== quote(session.worker))
    throw new StudioError('forbidden', 'The token belongs to the session of another worker.');
  await insertSession(tx, session, batch, leaseMs);
  const adopted = await adoptFrom(tx, session.session, held, (rollout) => rollout.session === int(old, 'id'));
  await end(tx, old, 'worker_ended', 'The worker reconnected without it.');
  return { ...adopted, server: text(old, 'server') };
}

/** See `Store.adopt`. */
export function adopt(
  tx: Transaction,
  name: string,
  held: readonly { rollout: string; epoch: number }[],
): Promise<AdoptedSession> {
  return adoptFrom(
    tx,
    name,
    held,
    (rollout, worker) => rollout.state === 'queued' && rollout.session === null && rollout.worker === worker,
  );
}

/** Moves rollouts to a session. `isOwn`: whether the session that it follows held a rollout that has not ended. */
async function adoptFrom(
  tx: Transaction,
  name: string,
  held: readonly { rollout: string; epoch: number }[],
  isOwn: (rollout: RolloutRecordRow, worker: string) => boolean,
): Promise<AdoptedSession> {
  const session = await tx.get(`SELECT id, batch, worker FROM session WHERE name = ?${tx.dialect.forUpdate}`, name);
  if (session === undefined) throw noSession(name);
  const epochs = new Map(held.map(({ rollout, epoch }) => [rollout, epoch]));
  // Selects only by name: with the batch in the condition, SQLite would scan all rollouts of the batch.
  const rows = await tx.all(
    `${SELECT_ROLLOUT} WHERE ${tx.dialect.anyText('name')} ORDER BY id${tx.dialect.forUpdate}`,
    [...epochs.keys()],
  );
  const batch = int(session, 'batch');
  const worker = text(session, 'worker');
  const valid = rows
    .map(readRollout)
    .filter(
      (rollout) =>
        rollout.batch === batch &&
        rollout.epoch === epochs.get(rollout.name) &&
        (rollout.state === 'ended' ? rollout.worker === worker : isOwn(rollout, worker)),
    );
  const kept = valid.filter(({ state }) => state !== 'ended');
  const ledger = await Ledger.of(tx, kept);
  for (const rollout of kept) {
    ledger.change(rollout);
    rollout.session = int(session, 'id');
    rollout.worker = worker;
    if (rollout.state === 'queued') rollout.state = rollout.progress.hold === undefined ? 'running' : 'held';
  }
  await ledger.save();
  const validNames = new Set(valid.map((rollout) => rollout.name));
  return {
    keep: kept.map((rollout) => ({ rollout: rollout.name, durable: rollout.last })),
    ended: valid.filter(({ state }) => state === 'ended').map((rollout) => rollout.name),
    drop: [...epochs.keys()].filter((rollout) => !validNames.has(rollout)),
  };
}

/**
 * See `Store.session`. In one statement: between two, another session may take the rollouts over, and this one would
 * seem to be open without any.
 */
export async function findSession(db: Reader, name: string): Promise<OpenSession | undefined> {
  const rows = await db.all(
    `SELECT b.name AS batch, b.ended_at AS ended_at, s.worker AS worker, r.name AS rollout
    FROM session s JOIN batch b ON b.id = s.batch LEFT JOIN rollout r ON r.session = s.id
    WHERE s.name = ? AND b.gone = 0 ORDER BY r.id`,
    name,
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  return {
    batch: text(first, 'batch'),
    worker: unquote(text(first, 'worker')),
    batchEnded: intOr(first, 'ended_at', null) !== null,
    rollouts: rows.flatMap((row) => textOr(row, 'rollout', null) ?? []),
  };
}

/** See `Store.sessions`. */
export async function listSessions(db: Reader, of?: { batch: string; worker?: string }): Promise<SessionRecord[]> {
  const values: string[] = [];
  if (of !== undefined) values.push(of.batch, ...(of.worker === undefined ? [] : [quote(of.worker)]));
  const where = ['b.name = ?', 's.worker = ?'].slice(0, values.length).join(' AND ');
  const rows = await db.all(
    `SELECT s.name AS name, b.name AS batch, s.worker AS worker, s.slots AS slots, s.server AS server,
       s.expires_at AS expires_at,
    (SELECT count(*) FROM rollout r WHERE r.session = s.id AND r.state = 1) AS running,
    (SELECT count(*) FROM rollout r WHERE r.session = s.id AND r.state = 2) AS held
    FROM session s JOIN batch b ON b.id = s.batch${where === '' ? '' : ` WHERE ${where}`} ORDER BY s.id`,
    ...values,
  );
  return rows.map((row) => ({
    session: text(row, 'name'),
    batch: text(row, 'batch'),
    worker: unquote(text(row, 'worker')),
    slots: int(row, 'slots'),
    server: text(row, 'server'),
    expiresAt: int(row, 'expires_at'),
    running: int(row, 'running'),
    held: int(row, 'held'),
  }));
}

export function noSession(name: string): StudioError {
  return new StudioError('not_found', `Session ${name} has expired.`, {
    hint: 'The worker must reconnect.',
  });
}
