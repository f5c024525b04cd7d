/** Attempts with events, for the first task of a sample batch. */
import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { Cause, Progress, RolloutRow } from '../../../src/trace/summary.ts';
import { Stream } from '../../../test/support/stream.ts';
import { rightDesk, wrongDesk } from '../trajectory/desk/wrong.ts';
import { long, running, team } from '../trajectory/sampleRollouts.ts';
import { BATCH, type SampleBatch } from './sampleBatch.ts';

interface AttemptsOptions extends SampleBatch {
  readonly events: Readonly<Record<string, readonly TraceEvent[]>>;
}

/** Adds attempts 1 to 5: a failed team, a long one, a running one, a held one, and one with two lost tries. */
export function withAttempts(batch: SampleBatch): AttemptsOptions {
  const details: Readonly<Record<number, Partial<RolloutRow> & { readonly events: readonly TraceEvent[] }>> = {
    1: { events: team(), duplicate_of: 'r0x2', state: 'ended', settles: true },
    2: { events: long(300), state: 'ended', settles: true },
    3: { events: running(), state: 'running', settles: false },
    4: { events: held(), state: 'held', settles: false },
    5: { events: team(), try: 3, state: 'ended', settles: true },
  };
  const events: Record<string, readonly TraceEvent[]> = {};
  const rows = batch.rows.map((row): RolloutRow => {
    const detail = row.task_index === 0 ? details[row.attempt] : undefined;
    if (detail === undefined) return row;
    const { events: own, ...over } = detail;
    events[row.rollout] = own;
    return { ...row, ...over, last: own.at(-1)?.seq ?? 0, progress: progressOf(row, over.state) };
  });
  const fifth = rows.find((row) => row.task_index === 0 && row.attempt === 5);
  if (fifth !== undefined) {
    for (const number of [1, 2])
      rows.push({
        ...fifth,
        rollout: `${fifth.rollout}t${number}`,
        try: number,
        settles: false,
        rev: 100_000 + number,
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

/** Makes attempt 3 of every task fail at checks, and attempt 4 pass, as others do. `more`: further failed checks. */
export function withReasons(batch: SampleBatch, more: number): AttemptsOptions {
  const events: Record<string, readonly TraceEvent[]> = {};
  const rows = batch.rows.map((row): RolloutRow => {
    if (row.attempt !== 3 && row.attempt !== 4 && row.progress.passed !== true) return row;
    const isWrong = row.attempt === 3;
    const own = isWrong ? wrongDesk({ more }) : rightDesk();
    events[row.rollout] = own;
    const { error_class: _class, error_message: _message, cause: _cause, ...progress } = row.progress;
    return {
      ...row,
      state: 'ended',
      settles: true,
      last: own.at(-1)?.seq ?? 0,
      progress: {
        ...progress,
        tools: ['find_member', 'list_loans', 'renew_loan'],
        status: 'done',
        passed: !isWrong,
        reward: isWrong ? 0 : 1,
        ...(isWrong
          ? { steps: 5, ms: 6_400, input_tokens: 7_600, output_tokens: 300, cause: REASON }
          : { steps: 4, ms: 4_100 }),
      },
    };
  });
  return { ...batch, rows, events };
}

const REASON: Cause = { kind: 'check', text: 'loans: row not renewed' };

const NOTES = ['The library says the renewal limit was wrong that day.', 'Try again with the new tools.'];

function progressOf({ attempt, progress }: RolloutRow, state: RolloutRow['state'] | undefined): Progress {
  const { steps, step, tool_calls, input_tokens, output_tokens, cached_tokens, tools, touched, started_at, cost } =
    progress;
  const started: Progress = {
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
  if (state === 'held') return { ...started, hold: { why: 'breakpoint', side: 'before', seq: 8, breakpoint: 'bp1' } };
  if (state !== 'ended') return started;
  if (attempt === 2) return { ...started, status: 'done', passed: true, reward: 1, ms: 38_400 };
  return {
    ...started,
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
