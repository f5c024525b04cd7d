import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { EventData } from '../../trace/schema.ts';
import { int, quote, stored, text, textOr, unquote } from '../sql/row.ts';
import { COMMAND } from '../sql/schema.ts';
import type { Reader, Row, Transaction } from '../sql/sql.ts';
import type { CommandEvent, CommandRecord, NewCommand } from '../store.ts';
import { withBatch } from './batches.ts';
import { lockBatch, saveBatches } from './batchState.ts';
import { addBatchEvent } from './events.ts';
import { noSession } from './sessions.ts';
import { addVerdict } from './verdicts.ts';

const SELECT = `SELECT c.id AS id, c.name AS name, b.name AS batch, c.rollout AS rollout, c.verb AS verb,
  c.args AS args, c.by_whom AS by_whom, c.result AS result
  FROM command c JOIN batch b ON b.id = c.batch`;

function record(row: Row): CommandRecord {
  const rollout = textOr(row, 'rollout', undefined);
  const result = textOr(row, 'result', undefined);
  return {
    id: unquote(text(row, 'name')),
    batch: text(row, 'batch'),
    ...(rollout === undefined ? {} : { rollout }),
    verb: text(row, 'verb'),
    args: stored<Json>(text(row, 'args')),
    by: unquote(text(row, 'by_whom')),
    ...(result === undefined ? {} : { result: stored<Json>(result) }),
  };
}

/** See `Store.putCommand`. */
export async function putCommand(
  tx: Transaction,
  command: NewCommand,
  control?: EventData['control'],
): Promise<CommandRecord> {
  // Under the batch's lock, so that IDs of commands become visible in order: sessions store the last one.
  const batch = await lockBatch(tx, command.batch);
  const name = quote(command.id);
  const existing = await tx.get(`${SELECT} WHERE c.name = ?`, name);
  if (existing !== undefined) {
    const stored = record(existing);
    if (stored.batch === command.batch && stored.rollout === command.rollout && stored.verb === command.verb)
      return stored;
    throw new StudioError('conflict', `Another command with the ID ${command.id} already exists.`, {
      hint: 'Use a new ID for every command.',
    });
  }
  await tx.insert(
    COMMAND,
    ['name', 'batch', 'rollout', 'verb', 'args', 'by_whom'],
    [[name, batch.id, command.rollout ?? null, command.verb, JSON.stringify(command.args), quote(command.by)]],
  );
  const sessions =
    command.rollout === undefined
      ? await tx.all('SELECT name FROM session WHERE batch = ?', batch.id)
      : await tx.all(
          'SELECT s.name AS name FROM session s JOIN rollout r ON r.session = s.id WHERE r.name = ?',
          command.rollout,
        );
  tx.changed(...sessions.map((row) => text(row, 'name')));
  if (control !== undefined) {
    await addBatchEvent(tx, batch, 'control', control);
    await saveBatches(tx, [batch]);
  }
  return { ...command };
}

/** See `Store.commandsFor`. */
export async function commandsFor(tx: Transaction, name: string): Promise<CommandRecord[]> {
  const session = await tx.get(`SELECT id, batch, handed FROM session WHERE name = ?${tx.dialect.forUpdate}`, name);
  if (session === undefined) throw noSession(name);
  const id = int(session, 'id');
  const rows = await tx.all(
    `${SELECT} LEFT JOIN rollout r ON r.name = c.rollout
     WHERE c.batch = ? AND c.result IS NULL AND ((c.rollout IS NULL AND c.id > ?) OR (r.session = ?
       AND (c.handed_to IS NULL OR c.handed_to <> ?)))
     ORDER BY c.id`,
    int(session, 'batch'),
    int(session, 'handed'),
    id,
    id,
  );
  const forRollouts = rows.filter((row) => row['rollout'] !== null).map((row) => int(row, 'id'));
  const forBatch = rows.filter((row) => row['rollout'] === null).map((row) => int(row, 'id'));
  if (forRollouts.length > 0)
    await tx.run(`UPDATE command SET handed_to = ? WHERE ${tx.dialect.anyInt('id')}`, id, forRollouts);
  if (forBatch.length > 0) await tx.run('UPDATE session SET handed = ? WHERE id = ?', Math.max(...forBatch), id);
  return rows.map(record);
}

/** See `Store.finishCommand`. Keeps the first result. */
export async function finishCommand(tx: Transaction, id: string, result: Json): Promise<void> {
  const written = await tx.run(
    'UPDATE command SET result = ? WHERE name = ? AND result IS NULL',
    JSON.stringify(result),
    quote(id),
  );
  if (written > 0) {
    tx.changed(id);
    return;
  }
  if ((await tx.get('SELECT id FROM command WHERE name = ?', quote(id))) === undefined)
    throw new StudioError('not_found', `There is no command ${id}.`);
}

/** See `Store.finishWith`. */
export async function finishWith(
  tx: Transaction,
  id: string,
  { kind, data }: CommandEvent,
  result: (seq: number) => Json,
): Promise<Json> {
  const row = await tx.get(`${SELECT} WHERE c.name = ?`, quote(id));
  if (row === undefined) throw new StudioError('not_found', `There is no command ${id}.`);
  // Only one transaction writes the result; another one waits for it here.
  const isFirst =
    (await tx.run('UPDATE command SET result = ? WHERE name = ? AND result IS NULL', 'null', quote(id))) > 0;
  if (!isFirst) return (await getCommand(tx, id))?.result ?? null;
  const { batch } = record(row);
  const seq =
    kind === 'verdict'
      ? await addVerdict(tx, batch, data)
      : await withBatch(tx, batch, (locked) => addBatchEvent(tx, locked, kind, data));
  const written = result(seq);
  await tx.run('UPDATE command SET result = ? WHERE name = ?', JSON.stringify(written), quote(id));
  tx.changed(id);
  return written;
}

/** See `Store.command`. */
export async function getCommand(db: Reader, id: string): Promise<CommandRecord | undefined> {
  const row = await db.get(`${SELECT} WHERE c.name = ?`, quote(id));
  return row === undefined ? undefined : record(row);
}
