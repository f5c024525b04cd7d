import type { RolloutEndStatus, TraceEvent } from '../../trace/schema.ts';
import { TRACE_VERSION } from '../../trace/schema.ts';
import { int, quote, text, unquote } from '../sql/row.ts';
import type { Sql, Transaction, Value } from '../sql/sql.ts';
import type { RolloutSelection } from '../store.ts';
import { advance } from './append.ts';
import { type Batch, batchId } from './batchState.ts';
import { type EventRun, insertRuns, runsOf, textOf } from './events.ts';
import { Ledger } from './ledger.ts';
import { firstSeq, type RolloutRecordRow, readRollout, SELECT_ROLLOUT } from './rolloutState.ts';

/** Rollouts ended per transaction, so that others do not wait long. */
const AT_ONCE = 500;

interface End {
  readonly status: RolloutEndStatus;
  readonly reason: string;
}

/**
 * See `Store.closeRollouts`. Uses several transactions for many; also closes rollouts that are queued in the meantime.
 */
export async function closeRollouts(
  sql: Sql,
  selection: RolloutSelection,
  end: End,
  force: boolean,
): Promise<string[]> {
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

/** Returns the events that the server writes as the last holder of a rollout; `rollout.epoch` is already its own. */
async function closingEvents(
  tx: Transaction,
  batch: Batch,
  rollout: RolloutRecordRow,
  task: string,
  end: End,
): Promise<TraceEvent[]> {
  const { progress } = rollout;
  const { origin } = rollout;
  const hasStarted = rollout.last >= firstSeq(batch, origin);
  const times = hasStarted ? await timesOf(tx, rollout.id) : { last: 0, heldMs: 0, heldSince: undefined };
  const at = Math.max(tx.now, times.last);
  const heldMs = times.heldMs + (times.heldSince === undefined ? 0 : at - times.heldSince);
  const elapsedMs = progress.started_at === undefined ? 0 : at - progress.started_at;
  const { parent } = batch.spec;
  const shared = {
    ...(parent === undefined ? {} : { fork: { rollout: parent.rollout, seq: parent.seq } }),
    ...(origin === undefined ? {} : { rescores: { rollout: origin.rollout, seq: origin.seq } }),
  };
  let seq = rollout.last;
  const next = (): { seq: number; v: number; at: number } => ({ seq: ++seq, v: TRACE_VERSION, at });
  const events: TraceEvent[] = [];
  if (!hasStarted)
    events.push({
      ...next(),
      kind: 'rollout.start',
      data: { batch: batch.name, task, attempt: rollout.attempt, try: rollout.try, ...shared },
    });
  events.push({ ...next(), kind: 'rollout.lease', data: { epoch: rollout.epoch, worker: 'server', how: 'closing' } });
  events.push({
    ...next(),
    kind: 'rollout.end',
    data: {
      status: end.status,
      passed: null,
      reward: null,
      answer: null,
      touched: progress.touched,
      error: { class: errorClass(end.status), message: end.reason },
      totals: {
        steps: progress.steps,
        tool_calls: progress.tool_calls,
        input_tokens: progress.input_tokens,
        output_tokens: progress.output_tokens,
        cached_tokens: progress.cached_tokens,
        ms: Math.max(0, elapsedMs - heldMs),
        held_ms: heldMs,
        ...(progress.side === undefined ? {} : { side: progress.side }),
      },
    },
  });
  return events;
}

function errorClass(status: RolloutEndStatus): 'cancelled' | 'infrastructure' | 'limit' {
  switch (status) {
    case 'infrastructure':
      return 'infrastructure';
    case 'truncated':
      return 'limit';
    case 'cancelled':
    case 'done':
      return 'cancelled';
  }
}

/** Returns the time of a stream's last event, and how long it was held. Parses only relevant events. */
async function timesOf(
  tx: Transaction,
  stream: number,
): Promise<{ last: number; heldMs: number; heldSince: number | undefined }> {
  let heldMs = 0;
  let heldSince: number | undefined;
  let newest = '';
  for (const row of await tx.all('SELECT body, packed FROM event WHERE stream = ? ORDER BY seq', stream)) {
    for (const line of textOf(row).split('\n')) {
      newest = line;
      if (!line.includes('"kind":"hold"') && !line.includes('"kind":"release"')) continue;
      const event = JSON.parse(line) as TraceEvent; // checked before it was stored
      if (event.kind === 'hold') heldSince = event.at;
      if (event.kind === 'release') {
        heldMs += event.data.held_ms;
        heldSince = undefined;
      }
    }
  }
  const last = newest === '' ? 0 : (JSON.parse(newest) as TraceEvent).at; // likewise
  return { last, heldMs, heldSince };
}
