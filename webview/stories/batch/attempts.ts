/** Attempts with something to tell, in the first task of a made-up batch. */

import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { Progress, RolloutRow } from '../../../src/trace/summary.ts';
import { Stream } from '../../../test/support/stream.ts';
import { long, running, team } from '../trajectory/someRollout.ts';
import { BATCH, type SomeBatch } from './someBatch.ts';

interface AttemptsOptions extends SomeBatch {
  readonly events: Readonly<Record<string, readonly TraceEvent[]>>;
}

/**
 * Attempts 1 to 5: a team that failed, one of very many steps, one that runs, one that is held, one whose earlier tries
 * were lost.
 */
export function withAttempts(batch: SomeBatch): AttemptsOptions {
  const told: Readonly<Record<number, Partial<RolloutRow> & { readonly events: readonly TraceEvent[] }>> = {
    1: { events: team(), duplicate_of: 'r0x2', state: 'ended', settles: true },
    2: { events: long(300), state: 'ended', settles: true },
    3: { events: running(), state: 'running', settles: false },
    4: { events: held(), state: 'held', settles: false },
    5: { events: team(), try: 3, state: 'ended', settles: true },
  };
  const events: Record<string, readonly TraceEvent[]> = {};
  const rows = batch.rows.map((row): RolloutRow => {
    const of = row.task_index === 0 ? told[row.attempt] : undefined;
    if (of === undefined) return row;
    const { events: own, ...over } = of;
    events[row.rollout] = own;
    return { ...row, ...over, last: own.at(-1)?.seq ?? 0, progress: progressOf(row, over.state) };
  });
  const fifth = rows.find((row) => row.task_index === 0 && row.attempt === 5);
  if (fifth !== undefined) {
    for (const tried of [1, 2])
      rows.push({
        ...fifth,
        rollout: `${fifth.rollout}t${tried}`,
        try: tried,
        settles: false,
        rev: 100_000 + tried,
        progress: {
          ...fifth.progress,
          status: 'infrastructure',
          passed: null,
          reward: null,
          error_class: 'infrastructure',
        },
      });
    events[BATCH] = NOTES.map(
      (text, i): TraceEvent => ({
        seq: i + 1,
        v: 1,
        at: 1_795_000_000_000,
        kind: 'note',
        data: { rollout: fifth.rollout, label: 'note', text, by: 'page' },
      }),
    );
  }
  return { ...batch, rows, events };
}

const NOTES = ['Asked the library: the renewal limit was wrong on that day.', 'Look at it again with the new tools.'];

function progressOf({ attempt, progress }: RolloutRow, state: RolloutRow['state'] | undefined): Progress {
  const { steps, step, tool_calls, input_tokens, output_tokens, cached_tokens, tools, touched, started_at, cost } =
    progress;
  const begun: Progress = {
    steps,
    tool_calls,
    input_tokens,
    output_tokens,
    cached_tokens,
    tools,
    touched,
    ...(step === undefined ? {} : { step }),
    ...(started_at === undefined ? {} : { started_at }),
    ...(cost === undefined ? {} : { cost }),
  };
  if (state === 'held') return { ...begun, hold: { why: 'breakpoint', side: 'before', seq: 8, breakpoint: 'bp1' } };
  if (state !== 'ended') return begun;
  if (attempt === 2) return { ...begun, status: 'done', passed: true, reward: 1, ms: 38_400 };
  return {
    ...begun,
    status: 'done',
    passed: false,
    reward: 0,
    ms: 38_400,
    error_class: 'tool_error',
    error_message: 'limit reached: 3 of 3 renewals',
  };
}

function held(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Pay the fine.');
  s.model('', [{ id: 'c1', name: 'pay_fine', arguments: { fine_id: 4 } }]);
  s.add(
    'hold',
    { why: 'breakpoint', breakpoint: 'bp1', side: 'before' },
    { span: s.toolStart('c1', 'pay_fine', { fine_id: 4 }) },
  );
  return s.events;
}
