/** Made-up rollouts of a lending desk, with the times and lengths of real ones. */

import type { Json } from '../../../src/common/json.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { Stream } from '../../../test/support/stream.ts';
import type { StoryData } from '../../host/story.ts';
import { someBatch } from '../batch/someBatch.ts';
import { clocked } from './clocked.ts';

interface CallGiven {
  readonly name: string;
  readonly asked: Json;
  readonly gives: Json;
  readonly ms?: number;
  readonly error?: string;
  readonly tries?: number;
}

/** A step of some calls at once, with queue and prefill. */
function step(
  s: Stream,
  text: string,
  calls: readonly CallGiven[],
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
    calls.map(({ name, asked }, index) => ({ id: ids[index] ?? '', name, arguments: asked })),
    { ms, agent, usage: { input_tokens: context, output_tokens: 24 + text.length } },
  );
  const end = s.events.at(-1);
  if (end?.kind === 'model.end')
    Object.assign(end.data, {
      queue_ms: queue,
      first_ms: queue + Math.min(220, ms / 4),
      ...(tokens === undefined ? {} : { tokens }),
    });
  const spans = calls.map(({ name, asked }, index) => s.toolStart(ids[index] ?? '', name, asked, { agent }));
  for (const [index, { gives, error, ms: took = 80, tries }] of calls.entries()) {
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
    s.toolEnd(span, ids[index] ?? '', gives, {
      agent,
      ms: took,
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

function beginning(): Stream {
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
    'Renew everything overdue for Mina Okafor, mid-May or later if it can be done, and write her a letter.',
  );
  step(
    s,
    'First I look her up.',
    [{ name: 'find_member', asked: { name: 'Mina Okafor' }, gives: { id: 204, name: 'Mina Okafor' } }],
    { ms: 1_000 },
  );
  step(s, '', [
    {
      name: 'loans_of',
      asked: { member_id: 204 },
      gives: [
        { id: 17, due: '2026-05-01' },
        { id: 23, due: '2026-05-03' },
      ],
      ms: 150,
    },
  ]);
  return s;
}

function searcher(s: Stream): void {
  const asked = { question: 'Is anyone waiting for 17 or 23?' };
  s.model('The searcher knows who waits.', [{ id: 'ask', name: 'searcher', arguments: asked }], {
    agent: 'desk',
    ms: 900,
  });
  const call = s.toolStart('ask', 'searcher', asked, { agent: 'desk' });
  for (const [n, loan] of [17, 23].entries()) {
    const agent = `desk/searcher#${n + 1}`;
    const span = s.add('agent.start', { how: 'team' }, { agent, parent: call });
    step(s, `Who waits for ${loan}?`, [{ name: 'holds_of', asked: { loan_id: loan }, gives: [], ms: 300 }], {
      agent,
      ms: 700,
    });
    step(s, 'Nobody.', [], { agent, ms: 500 });
    s.add('agent.end', { status: 'ok', ms: 1_600 }, { agent, span });
  }
  s.toolEnd(call, 'ask', 'Nobody waits for either.', { agent: 'desk', ms: 3_300 });
}

/** Renews until it is refused, asks again and again, and fails. */
export function stubborn(): TraceEvent[] {
  const s = beginning();
  searcher(s);
  step(
    s,
    '',
    [{ name: 'renew_loan', asked: { loan_id: 17, days: 7 }, gives: { ok: true, due: '2026-05-08' }, tries: 0 }],
    { queue: 700, ms: 1_900 },
  );
  step(
    s,
    'Loan 17 has to reach mid-May as well, so I renew it once more.',
    [
      { name: 'renew_loan', asked: { loan_id: 23, days: 14 }, gives: { ok: true, due: '2026-05-12' } },
      {
        name: 'renew_loan',
        asked: { loan_id: 17, days: 14 },
        gives: { ok: false },
        error: 'limit reached: 3 of 3 renewals',
        tries: 1,
        ms: 12,
      },
    ],
    { ms: 2_400, queue: 1_300 },
  );
  step(s, '', [{ name: 'pay_fine', asked: { member_id: 204, amount: 2.4 }, gives: 'paid', ms: 900 }]);
  for (let i = 0; i < 4; i++)
    step(
      s,
      '',
      [
        {
          name: 'renew_loan',
          asked: { loan_id: 17, days: 7 },
          gives: { ok: false },
          error: 'limit reached: 3 of 3 renewals',
          ms: 15,
        },
      ],
      { ms: 800 },
    );
  for (let i = 0; i < 3; i++)
    step(
      s,
      '',
      [
        {
          name: 'loans_of',
          asked: { member_id: 204 },
          gives: [
            { id: 17, due: '2026-05-08' },
            { id: 23, due: '2026-05-12' },
          ],
          ms: 140,
        },
      ],
      { ms: 700 },
    );
  step(s, 'Both loans now run to mid-May.', [], { ms: 1_700 });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    explanation: 'loan 17 is due 2026-05-08, expected 2026-05-15 or later',
    parts: { loan_17: 0, loan_23: 1 },
  });
  s.end({
    passed: false,
    reward: 0,
    answer: 'Both loans now run to mid-May.',
    totals: {
      steps: 17,
      tool_calls: 15,
      input_tokens: 17_400,
      output_tokens: 812,
      cached_tokens: 9_000,
      ms: 21_400,
      held_ms: 0,
      cost: 0.0123,
    },
  });
  return clocked(s.events);
}

/** As `stubborn`, until it asks for two weeks at once: it passes. */
export function careful(): TraceEvent[] {
  const s = beginning();
  searcher(s);
  step(s, '', [{ name: 'renew_loan', asked: { loan_id: 17, days: 14 }, gives: { ok: true, due: '2026-05-15' } }]);
  step(s, 'Both are renewed.', []);
  s.add('score', { scorer: 'world', value: 1, passed: true });
  s.end({ answer: 'Both are renewed.' });
  return clocked(s.events);
}

/** Held before its second renewal, so long ago. */
export function heldDesk(ago: number): TraceEvent[] {
  const s = beginning();
  step(
    s,
    '',
    [{ name: 'renew_loan', asked: { loan_id: 17, days: 7 }, gives: { ok: true, due: '2026-05-08' }, tries: 0 }],
    { queue: 400 },
  );
  s.add('hold', { why: 'pause', side: 'before' });
  s.add('release', { how: 'continue', held_ms: 2_000 });
  s.model('Once more.', [{ id: 'again', name: 'renew_loan', arguments: { loan_id: 17, days: 14 } }], {
    agent: 'desk',
    ms: 1_400,
  });
  const span = s.toolStart('again', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  s.add('hold', { why: 'breakpoint', breakpoint: 'page.tool.renew_loan', side: 'before' }, { span, agent: 'desk' });
  const release = s.events.find((event) => event.kind === 'release')?.seq ?? 0;
  // The first hold took its time.
  return clocked(s.events, { ago }).map((event) => (event.seq < release ? { ...event, at: event.at - 2_000 } : event));
}

/**
 * Three calls of a world, one after the other, of which the last was held; then a worker that was lost in a model call
 * and the next one in a tool call, each time with another going on; and a call that failed by itself.
 */
export function interrupted(): TraceEvent[] {
  const s = beginning();
  /** From this event on everything is so many ms later. */
  const later: { readonly seq: number; readonly ms: number }[] = [];
  const wait = (ms: number): void => void later.push({ seq: s.last + 1, ms });
  const opens = (): number => s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  const taken = (
    epoch: number,
    lost: readonly (readonly ['model.end' | 'tool.end' | 'world.close', number])[],
  ): void => {
    wait(900);
    s.add('rollout.lease', { epoch, worker: `pod-0${6 + epoch}`, how: 'resumed' });
    const error = { class: 'infrastructure', message: 'Its worker was lost.' } as const;
    for (const [kind, span] of lost)
      s.add(
        kind,
        {
          ...(kind === 'world.close' ? {} : { status: 'error', source: 'live', trainable: false }),
          error,
        } as EventData[typeof kind],
        { span, ...(kind === 'world.close' ? {} : { agent: 'desk' }) },
      );
  };
  let world = s.events.find(({ kind }) => kind === 'world.open')?.seq ?? 0;
  s.model(
    'I look at what is late.',
    [17, 18, 23].map((id) => ({ id: `look${id}`, name: 'get_loan', arguments: { loan_id: id } })),
    { agent: 'desk', ms: 900 },
  );
  const looks = [17, 18, 23].map((id) => ({
    id,
    span: s.toolStart(`look${id}`, 'get_loan', { loan_id: id }, { agent: 'desk' }),
  }));
  for (const [index, { id, span }] of looks.entries()) {
    wait(400);
    if (index === 2) {
      s.add('hold', { why: 'breakpoint', breakpoint: 'page.tool.get_loan', side: 'before' }, { span, agent: 'desk' });
      wait(1_600);
      s.add('release', { how: 'continue', held_ms: 1_600 }, { span, agent: 'desk' });
      wait(350);
    }
    s.toolEnd(span, `look${id}`, { id, due: '2026-05-01' }, { agent: 'desk', ms: 390 });
  }
  const call = s.add('model.start', { step: 4, model: 'demo', context: [], sampling: {} }, { agent: 'desk' });
  taken(2, [
    ['model.end', call],
    ['world.close', world],
  ]);
  world = opens();
  s.model('I renew the first.', [{ id: 'renew', name: 'renew_loan', arguments: { loan_id: 17, days: 14 } }], {
    agent: 'desk',
    ms: 700,
  });
  const renew = s.toolStart('renew', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  taken(3, [
    ['tool.end', renew],
    ['world.close', world],
  ]);
  world = opens();
  const renewed = s.toolStart('renew', 'renew_loan', { loan_id: 17, days: 14 }, { agent: 'desk' });
  s.toolEnd(renewed, 'renew', 'limit reached', {
    agent: 'desk',
    ms: 420,
    error: { class: 'tool_error', message: 'limit reached: 3 of 3 renewals' },
  });
  s.model('It cannot be renewed once more.', [], { agent: 'desk', ms: 800 });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    explanation: 'loan 17 is due 2026-05-01, expected 2026-05-15 or later',
  });
  s.add('world.close', { ms: 4 }, { span: world });
  s.end({ passed: false, reward: 0 });
  return clocked(s.events).map((event) => ({
    ...event,
    at: event.at + later.reduce((sum, { seq, ms }) => sum + (seq <= event.seq ? ms : 0), 0),
  }));
}

/** It asked the person who looks on, and waits for the answer. */
export function asking(ago: number): TraceEvent[] {
  const s = beginning();
  s.model(
    'I must ask.',
    [
      {
        id: 'ask',
        name: 'ask_person',
        arguments: { question: 'Loan 17 was renewed three times. May it be renewed once more?' },
      },
    ],
    { agent: 'desk', ms: 1_400 },
  );
  const span = s.toolStart(
    'ask',
    'ask_person',
    { question: 'Loan 17 was renewed three times. May it be renewed once more?' },
    { agent: 'desk' },
  );
  s.add('hold', { why: 'input', side: 'before' }, { span, agent: 'desk' });
  return clocked(s.events, { ago });
}

/** Breakpoints that somebody set in the batch: of each form one, and one of another client. */
export function breakpointsOf(): TraceEvent[] {
  const told: [string, Json][] = [
    [
      'page.',
      [
        { id: 'page.tool.renew_loan', side: 'before', tool: 'renew_loan', when: 'tool.arguments.days > 7' },
        { id: 'page.step.2', side: 'before', kind: 'model', when: 'step == 2' },
        { id: 'page.tool.find_member', side: 'before', tool: 'find_member', log: 'asked for {tool.arguments.name}' },
      ],
    ],
    [
      'dap-1.',
      [{ id: 'dap-1.4', side: 'after', kind: 'tool', when: 'tool.error != null && tool.error.class == "timeout"' }],
    ],
  ];
  return told.map(([of, breakpoints], index) => ({
    seq: index + 1,
    v: 1,
    at: 1_795_000_000_000,
    kind: 'control',
    data: { command: `c${index}`, verb: 'breakpoints', by: 'page', args: { breakpoints, of } },
  }));
}

/** Batches that go on from these events: one that runs, the others ended. */
export function forksOf(rollout: string, cuts: readonly number[]): Pick<StoryData, 'batch' | 'rows' | 'tasks'>[] {
  return cuts.map((seq, index) => {
    const made = someBatch({
      tasks: 1,
      attempts: index === 1 ? 16 : 4,
      state: index === 3 ? 'running' : 'ended',
      parent: { rollout, seq },
      name: `nightly@${seq}`,
    });
    return {
      ...made,
      batch: { ...made.batch, batch: `bf${index}`, created_at: made.batch.created_at + 1 + index },
      rows: [],
    };
  });
}

/** What the batch tells while `events` happen: of the worker, the model server, a pause by hand, notes. */
export function outsideOf(events: readonly TraceEvent[], rollout: string): TraceEvent[] {
  const began = events[0]?.at ?? 0;
  const length = (events.at(-1)?.at ?? began) - began;
  const told: [number, TraceEvent['kind'], unknown][] = [
    [0, 'batch.start', { name: 'nightly' }],
    [
      0.3,
      'infra',
      {
        what: 'preempted',
        worker: 'pod-07',
        ms: length * 0.07,
        text: 'The model server took its memory back; the request was computed again.',
      },
    ],
    [0.46, 'control', { command: 'c1', verb: 'pause', by: 'ada' }],
    [0.5, 'control', { command: 'c2', verb: 'resume', by: 'ada' }],
    [0.62, 'infra', { what: 'node_pressure', pod: 'pod-07', node: 'node-3', text: 'node-3 is short of memory' }],
    [0.8, 'infra', { what: 'worker_exit', worker: 'pod-99', text: 'of another rollout' }],
  ];
  const seqAt = (share: number): number =>
    events.findLast(
      (event) => event.at <= began + share * length && (event.kind === 'tool.start' || event.kind === 'model.start'),
    )?.seq ?? 1;
  told.push(
    [0.9, 'note', { rollout, seq: seqAt(0.35), label: 'bookmark', text: rollout, by: 'page' }],
    [
      0.91,
      'note',
      { rollout, seq: seqAt(0.55), label: 'note', text: 'Why does it not look at the limit first?', by: 'ada' },
    ],
  );
  return told.map(
    ([share, kind, data], index) =>
      ({ seq: index + 1, v: 1, at: Math.round(began + share * length), kind, data }) as TraceEvent,
  );
}

/** Ids and logprobs as they were captured: the record's blob and the event that names it. */
export function sampled(
  tokens: number,
  { logprobs = true, sha = 'a'.repeat(64) }: { readonly logprobs?: boolean; readonly sha?: string } = {},
): { readonly events: TraceEvent[]; readonly blobs: Readonly<Record<string, string>> } {
  const ids = Array.from({ length: tokens }, (_, i) => 200 + ((i * 7919) % 31_000));
  const chances = new Float32Array(ids.map((_, i) => -Math.max(0, Math.sin(i * 1.7) ** 8 * 3 - 0.2)));
  const bytes = new Uint8Array(chances.buffer);
  const record = {
    prompt: { ids: Array.from({ length: 3_912 }, (_, i) => i) },
    completion: ids,
    ...(logprobs ? { logprobs: btoa(String.fromCharCode(...bytes)) } : {}),
  };
  const s = beginning();
  step(
    s,
    'Loan 17 is nine days late and 23 is six. Nobody waits for either, so both can be renewed. I start with 17.',
    [{ name: 'renew_loan', asked: { loan_id: 17, days: 7 }, gives: { ok: true, due: '2026-05-08' } }],
    { tokens: { $blob: sha, bytes: 1, media: 'application/json', head: '' } },
  );
  const end = s.events.findLast((event) => event.kind === 'model.end');
  if (end?.kind === 'model.end')
    Object.assign(end.data, {
      usage: { input_tokens: 3_912, output_tokens: tokens, cached_tokens: 3_584 },
      weights: 'w118',
    });
  s.end();
  return { events: clocked(s.events), blobs: { [sha]: btoa(JSON.stringify(record)) } };
}

/** A call that changed many rows of two tables and a file. */
export function manyChanges(rows: number): TraceEvent[] {
  const s = beginning();
  s.model('I move them all.', [{ id: 'move', name: 'move_shelf', arguments: { from: 'A', to: 'B' } }], {
    agent: 'desk',
  });
  const span = s.toolStart('move', 'move_shelf', { from: 'A', to: 'B' }, { agent: 'desk' });
  s.diff(
    [
      ...Array.from({ length: rows }, (_, i) => ({
        table: 'copies',
        key: i,
        op: 'update' as const,
        before: { title: `Book ${i}`, branch: 'Main', shelf: 'A', seen: '09:41:12' },
        after: { title: `Book ${i}`, branch: 'Main', shelf: 'B', seen: '09:41:15' },
      })),
      {
        table: 'shelves',
        key: 'A',
        op: 'delete',
        before: { name: 'A', room: 'reading room with a name that is much too long for a column of a table' },
      },
      { table: 'shelves', key: 'B', op: 'insert', after: { name: 'B', room: 'hall' } },
      { file: 'notes/moves.md', key: 'notes/moves.md', op: 'update', before: 'A: 12\n', after: 'A: 0\nB: 12\n' },
    ],
    span,
  );
  s.toolEnd(span, 'move', { moved: rows }, { agent: 'desk', ms: 240 });
  s.end();
  return clocked(s.events);
}
