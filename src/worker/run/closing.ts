/**
 * Writes the end of a rollout that cannot end itself: it could not be started, the server rejects its events, or it
 * stores more than it may.
 */

import type { Submission } from '../../config/submission.ts';
import type { Grant } from '../../protocol/worker.ts';
import { TotalsCounter } from '../../rollout/log/totals.ts';
import type { Clock } from '../../rollout/ports.ts';
import { modelOf } from '../../rollout/running.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { TRACE_VERSION } from '../../trace/schema.ts';
import { sharedEvents, startData } from './startData.ts';

interface ClosedSpans {
  readonly grant: Grant;
  readonly worker: string;
  readonly clock: Clock;
  /** Absent if it could not be loaded. */
  readonly submission?: Submission | undefined;
  /** Events 1..last that the server has, lineage included. */
  readonly durable: readonly TraceEvent[];
  readonly last: number;
  readonly message: string;
  /** `truncated`: a limit, which the rollout itself exceeded. */
  readonly status?: 'infrastructure' | 'truncated';
}

/** Returns `rollout.start` and `rollout.lease` if they are missing, and a `rollout.end` with the status. */
export function closingEvents({
  grant,
  worker,
  clock,
  submission,
  durable,
  last,
  message,
  status = 'infrastructure',
}: ClosedSpans): TraceEvent[] {
  const own = durable.filter((event) => event.seq > sharedEvents(grant));
  const at = Math.max(clock.now(), durable.at(-1)?.at ?? 0);
  const events: TraceEvent[] = [];
  const next = (): { seq: number; v: number; at: number } => ({ seq: last + events.length + 1, v: TRACE_VERSION, at });
  if (own.length === 0) {
    events.push({ ...next(), kind: 'rollout.start', data: startData(grant) });
  }
  if (!own.some((event) => event.kind === 'rollout.lease' && event.data.epoch === grant.epoch)) {
    events.push({ ...next(), kind: 'rollout.lease', data: { epoch: grant.epoch, worker, how: 'closing' } });
  }
  const counter = new TotalsCounter((agent, side, name) =>
    submission === undefined ? undefined : modelOf(submission, agent, side, name).price,
  );
  for (const event of own) counter.add(event);
  const first = own[0]?.at ?? at;
  events.push({
    ...next(),
    kind: 'rollout.end',
    data: {
      status,
      passed: null,
      reward: null,
      answer: null,
      touched: own.some((event) => event.kind === 'edit'),
      error: { class: status === 'truncated' ? 'limit' : 'infrastructure', message },
      totals: counter.totals(at - first),
    },
  });
  return events;
}
