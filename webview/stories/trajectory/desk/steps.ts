/** The beginning and the steps of rollouts at a lending desk, with realistic times and lengths. */
import type { Json } from '../../../../src/common/json.ts';
import type { EventData } from '../../../../src/trace/schema.ts';
import { Stream } from '../../../../test/support/stream.ts';

interface SampleCall {
  readonly name: string;
  readonly args: Json;
  readonly result: Json;
  readonly ms?: number;
  readonly error?: string;
  readonly tries?: number;
}

/** Adds a step with parallel calls, a queue time, and a time to first token. `tries` adds a change of the world. */
export function step(
  s: Stream,
  text: string,
  calls: readonly SampleCall[],
  {
    ms = 1_100,
    queue = 60,
    agent = 'desk',
    tokens,
  }: {
    readonly ms?: number;
    readonly queue?: number;
    readonly agent?: string;
    readonly tokens?: EventData['model.end']['tokens'];
  } = {},
): void {
  const ids = calls.map((_, index) => `${s.last}-${index}`);
  const context = 900 + s.last * 60;
  s.model(
    text,
    calls.map(({ name, args }, index) => ({ id: ids[index] ?? '', name, arguments: args })),
    { ms, agent, usage: { input_tokens: context, output_tokens: 24 + text.length } },
  );
  const end = s.events.at(-1);
  if (end?.kind === 'model.end')
    Object.assign(end.data, {
      queue_ms: queue,
      first_ms: queue + Math.min(220, ms / 4),
      ...(tokens === undefined ? {} : { tokens }),
    });
  const spans = calls.map(({ name, args }, index) => s.toolStart(ids[index] ?? '', name, args, { agent }));
  for (const [index, { result, error, ms: duration = 80, tries }] of calls.entries()) {
    const span = spans[index] ?? 0;
    if (tries !== undefined)
      s.diff(
        [
          {
            table: 'loans',
            key: 17,
            op: 'update',
            before: { title: 'The Salt Road', due: '2026-05-08', tries },
            after: { title: 'The Salt Road', due: '2026-05-08', tries: tries + 1 },
          },
          { table: 'desk_log', key: 400 + s.last, op: 'insert', after: { event: 'renewal refused', loan: 17 } },
        ],
        span,
      );
    s.toolEnd(span, ids[index] ?? '', result, {
      agent,
      ms: duration,
      ...(error === undefined
        ? {}
        : {
            error: {
              class: 'tool_error',
              message: error,
              stack:
                `LimitError: ${error}\n    at renewLoan (tools/loans.ts:41:11)\n    at withLoan ` +
                '(tools/loans.ts:18:10)\n    at run (node:internal/x:1:2)',
            },
          }),
    });
  }
}

/** Returns the events before the first renewal. */
export function beginning(): Stream {
  const s = new Stream();
  s.start();
  s.add('rollout.lease', { epoch: 1, worker: 'pod-07', how: 'fresh' });
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message(
    'system',
    'You work at the lending desk of a small town library. **Be brief**, and never promise what the rules do not ' +
      'allow.',
  );
  s.message(
    'user',
    'Renew everything overdue for Mina Okafor, until mid-May or later if possible, and write her a letter.',
  );
  step(
    s,
    'First I will look her up.',
    [{ name: 'find_member', args: { name: 'Mina Okafor' }, result: { id: 204, name: 'Mina Okafor' } }],
    { ms: 1_000 },
  );
  step(s, '', [
    {
      name: 'loans_of',
      args: { member_id: 204 },
      result: [
        { id: 17, due: '2026-05-01' },
        { id: 23, due: '2026-05-03' },
      ],
      ms: 150,
    },
  ]);
  return s;
}
