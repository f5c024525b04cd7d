import { type RolloutEndStatus, TRACE_VERSION, type TraceEvent } from '../../trace/schema.ts';
import type { Transaction } from '../sql/sql.ts';
import type { Batch } from './batchState.ts';
import { textOf } from './events.ts';
import { firstSeq, type RolloutRecordRow } from './rolloutState.ts';

/** How the server ends a rollout. */
export interface End {
  readonly status: RolloutEndStatus;
  readonly reason: string;
}

/** Returns the events that the server writes as the last holder of a rollout; `rollout.epoch` is already its own. */
export async function closingEvents(
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
