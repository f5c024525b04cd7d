/** Sample rollouts for stories, each with something that a page must be able to show. */
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { Trimmed } from '../../../src/common/trimmed.ts';
import type { You } from '../../../src/protocol/access.ts';
import type { EditorBreakpoint } from '../../../src/protocol/page.ts';
import type { WindowPrediction } from '../../../src/protocol/predictedCall.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../src/trace/summary.ts';
import { lendingDesk, Stream } from '../../../test/support/stream.ts';
import { type StoryData, type StoryHost, storyHost } from '../../host/story.ts';
import { BATCH, sampleBatch } from '../batch/sampleBatch.ts';

export const ROLLOUT = 'r1';

export interface RolloutOptions {
  readonly readOnly?: boolean;
  readonly you?: You;
  readonly blobs?: Readonly<Record<string, string>>;
  /** Events of the batch's stream. */
  readonly batchEvents?: readonly TraceEvent[];
  /** Events of other attempts of the task. */
  readonly others?: readonly (readonly TraceEvent[])[];
  readonly silent?: boolean;
  /** Whether the batch has ended. */
  readonly ended?: boolean;
  /** The text of the task, for a recording of another tool. */
  readonly imported?: string;
  /** Breakpoints of the editor. */
  readonly breakpoints?: readonly EditorBreakpoint[];
  /** Predictions of the editor. */
  readonly predictions?: readonly WindowPrediction[];
  /** Later verdicts on the rollout. */
  readonly verdicts?: Progress['verdicts'];
  /** The rollout that this one scores again. */
  readonly rescores?: string;
  /** Scenario of its task. */
  readonly scenario?: string;
  /** Other batches, such as its forks. */
  readonly batches?: readonly Pick<StoryData, 'batch' | 'rows' | 'tasks'>[];
  /** When and why only its results were kept. */
  readonly trimmed?: Trimmed;
}

/** Returns a host with one rollout with these events, and other attempts. */
export function rolloutHost(
  events: readonly TraceEvent[],
  {
    others = [],
    batchEvents = [],
    readOnly = false,
    you,
    silent = false,
    ended = false,
    imported,
    blobs = {},
    breakpoints,
    predictions,
    verdicts,
    rescores,
    scenario,
    batches,
    trimmed,
  }: RolloutOptions = {},
): StoryHost {
  const sample = sampleBatch({
    tasks: 1,
    attempts: 4,
    state: ended || imported !== undefined ? 'ended' : 'running',
    imported: imported !== undefined,
  });
  const { server } = sample;
  const batch = { ...sample.batch, ...(trimmed === undefined ? {} : { trimmed }) };
  const sampleTasks =
    scenario === undefined ? sample.tasks : sample.tasks.map((task) => ({ ...task, world: { scenario } }));
  const tasks = imported === undefined ? sampleTasks : [{ id: '12', question: imported, meta: {} }];
  const kept = events.filter(({ kind }) => trimmed === undefined || kind === 'score' || kind === 'rollout.end');
  const streams: Record<string, readonly TraceEvent[]> = { [ROLLOUT]: kept, [BATCH]: batchEvents };
  const own = rowOf(ROLLOUT, 3, events, tasks[0]?.id ?? '');
  const rows: RolloutRow[] = [
    {
      ...own,
      progress: { ...own.progress, ...(verdicts === undefined ? {} : { verdicts }) },
      ...(rescores === undefined ? {} : { rescores }),
      ...(trimmed === undefined ? {} : { trimmed: true as const }),
    },
  ];
  for (const [index, other] of others.entries()) {
    const rollout = `r${index + 10}`;
    streams[rollout] = other;
    rows.push(rowOf(rollout, index < 2 ? index + 1 : index + 2, other, tasks[0]?.id ?? ''));
  }
  rows.sort((x, y) => x.attempt - y.attempt);
  return storyHost({
    batch,
    tasks,
    server,
    rows,
    events: streams,
    readOnly,
    ...(you === undefined ? {} : { you }),
    silent,
    blobs,
    ...(breakpoints === undefined ? {} : { breakpoints }),
    ...(predictions === undefined ? {} : { predictions }),
    ...(batches === undefined ? {} : { others: batches }),
  });
}

function rowOf(rollout: string, attempt: number, events: readonly TraceEvent[], task: string): RolloutRow {
  const progress = advanceProgress(EMPTY_PROGRESS, [...events]);
  return {
    rollout,
    batch: BATCH,
    task,
    task_index: 0,
    attempt,
    try: 1,
    epoch: 1,
    last: events.at(-1)?.seq ?? 0,
    rev: 1,
    state: progress.status === undefined ? (progress.hold === undefined ? 'running' : 'held') : 'ended',
    settles: progress.status !== undefined,
    progress,
  };
}

/** A call of a team member, an error, changes of the world, a score. */
export function team(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message('system', 'You are the lending desk of a small library. **Be brief.**');
  s.message('user', 'Renew everything overdue for Mina Okafor, and write her a letter.');
  const ask = s.model(
    'I will ask the searcher.',
    [{ id: 'c1', name: 'searcher', arguments: { question: 'Who waits for loan 17?' } }],
    { agent: 'desk' },
  );
  const call = s.toolStart('c1', 'searcher', { question: 'Who waits for loan 17?' }, { agent: 'desk', parent: ask });
  const agent = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher#1', parent: call });
  s.model('Nobody waits for it.', [], { agent: 'desk/searcher#1', parent: agent });
  s.add('agent.end', { status: 'ok', ms: 2_000 }, { agent: 'desk/searcher#1', span: agent });
  s.toolEnd(call, 'c1', 'Nobody waits for it.', { agent: 'desk' });
  for (const [id, days] of [
    ['c2', 7],
    ['c3', 14],
    ['c4', 14],
  ] as const) {
    s.model('', [{ id, name: 'renew_loan', arguments: { loan_id: 17, days } }], { agent: 'desk' });
    const span = s.toolStart(id, 'renew_loan', { loan_id: 17, days }, { agent: 'desk' });
    if (days === 7)
      s.diff(
        [
          {
            table: 'loans',
            key: 17,
            op: 'update',
            before: { due: '2026-05-01', tries: 0 },
            after: { due: '2026-05-08', tries: 1 },
          },
          { table: 'desk_log', key: 412, op: 'insert', after: { event: 'renewed', loan: 17 } },
        ],
        span,
      );
    s.toolEnd(span, id, days === 7 ? { ok: true, due: '2026-05-08' } : 'limit reached', {
      agent: 'desk',
      ...(days === 7
        ? {}
        : {
            error: {
              class: 'tool_error',
              message: 'limit reached: 3 of 3 renewals',
              stack:
                'LimitError: limit reached\n    at renewLoan (tools/loans.ts:41:11)\n    at withLoan ' +
                '(tools/loans.ts:18:10)\n    at run (node:internal/x:1:2)',
            },
          }),
    });
  }
  s.add('log', { stream: 'err', text: '\u001b[31mrenewal refused\u001b[0m for loan 17' }, { agent: 'desk' });
  s.model('Both loans now run to mid-May.', [], { agent: 'desk' });
  s.add('score', {
    scorer: 'world',
    value: 0,
    passed: false,
    explanation: 'loan 17 is due 2026-05-08, expected 2026-05-15 or later',
    parts: { loan_17: 0, loan_23: 1 },
  });
  s.end({ passed: false, reward: 0, answer: 'Both loans now run to mid-May.' });
  return s.events;
}

/** A rollout with an open model call. */
export function running(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew everything overdue for Ada.');
  s.model('First her loans.', [{ id: 'c1', name: 'loans_of', arguments: { member_id: 3 } }]);
  const span = s.toolStart('c1', 'loans_of', { member_id: 3 });
  s.toolEnd(span, 'c1', [
    { id: 17, due: '2026-05-01' },
    { id: 18, due: '2026-05-03' },
  ]);
  s.add('model.start', { step: 2, model: 'demo', context: [[1, 3]], sampling: {} });
  return s.events;
}

/** The remaining events of `running`. */
export function restOfRunning(): TraceEvent[] {
  const s = new Stream(running().length + 1);
  s.add('score', { scorer: 'world', value: 1, passed: true, explanation: 'as expected' });
  s.end();
  return s.events;
}

export function held(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Pay the fine.');
  s.model('', [{ id: 'c1', name: 'pay_fine', arguments: { fine_id: 4 } }]);
  const span = s.toolStart('c1', 'pay_fine', { fine_id: 4 });
  s.add('hold', { why: 'breakpoint', breakpoint: 'bp1', side: 'before' }, { span });
  return s.events;
}

/** The text of its task. */
export const INSTRUCTION =
  'Your user ID is mia_li_3668. You want to fly from New York to Seattle on May 20 (one way).\n' +
  'You do not want to fly before 11 am EST, and you want to fly in economy.';

/** A recording without times and usage, with an event of an unknown kind. */
export function imported(): TraceEvent[] {
  const s = new Stream();
  s.start({ times: 'none' });
  s.message('system', '# Policy\n\n- one\n- two\n\n| fee | amount |\n| --- | --- |\n| late | 2.40 |');
  s.message('user', 'Where is my flight? <img src=x onerror=alert(1)> [link](https://example.org)');
  s.model('It is on time.', []);
  const events = s.events.map((event) => ({ ...event, at: event.at }));
  events.push({
    seq: s.last + 1,
    v: 1,
    at: 1_795_000_001_000,
    kind: 'weather.report',
    data: { sky: 'clear' },
  } as unknown as TraceEvent);
  return events;
}

/** A task that continues a conversation. */
export function continued(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('system', 'You play the environment of an agent.');
  for (const title of ['Emma', 'Dune']) {
    s.message('user', `find_books {"title": "${title}"}`);
    s.message('assistant', `**Environment Observation:**\n[{"title": "${title}"}]`, 'given');
  }
  s.message('user', 'find_books {"title": "Middlemarch"}');
  s.model('<predicted_observation>[{"title": "Middlemarch"}]</predicted_observation>', []);
  s.end({ passed: null });
  return s.events;
}

/** A recording of tau-bench: what an agent said to a simulated user, without times, a model, and an answer. */
export function recording(): TraceEvent[] {
  const s = new Stream();
  s.start({ times: 'none' });
  s.message('system', '# Airline agent policy\n\nThe current time is 2024-05-15 15:00 EST.');
  s.message('user', 'Hi, I’d like to book a flight to Seattle on May 20.');
  s.model('Please give me your user ID.');
  s.message('user', 'It’s mia_li_3668.');
  s.model('', [{ id: 'c1', name: 'get_user_details', arguments: { user_id: 'mia_li_3668' } }]);
  const call = s.toolStart('c1', 'get_user_details', { user_id: 'mia_li_3668' });
  s.toolEnd(call, 'c1', { name: 'Mia Li', membership: 'gold' });
  s.model('I cannot book a flight before 11 am. I will transfer you to a human agent.');
  s.message('user', '###STOP###');
  s.add('score', {
    scorer: 'tau-bench',
    value: 0,
    passed: false,
    checks: [
      { name: 'book_reservation', passed: false, cause: 'book_reservation: not called', expected: { to: 'SEA' } },
    ],
  });
  s.end({ passed: false, reward: 0, answer: null, totals: { steps: 3, tool_calls: 1 } });
  return s.events;
}

/** Long words, a picture, a table, a deep value, a text with many lines. */
export function values(): TraceEvent[] {
  const s = new Stream();
  s.start();
  const name = 'a_tool_whose_name_somebody_made_from_everything_that_it_does_and_everything_it_does_not';
  s.message('user', 'x'.repeat(400));
  const results: [string, unknown][] = [
    [
      'table',
      Array.from({ length: 30 }, (_, i) => ({
        id: i,
        title: `Book ${i}`,
        due: '2026-05-01',
        shelf: 'very long shelf name '.repeat(4),
      })),
    ],
    ['lines', Array.from({ length: 300 }, (_, i) => `line ${i}`).join('\n')],
    [
      'deep',
      { a: { b: { c: { d: [1, 2, { e: 'f'.repeat(600) }] } } }, list: Array.from({ length: 500 }, (_, i) => i) },
    ],
    [
      'picture',
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEElEQVR4nGPQMzDA' +
        'ihiGlgQAcpgyAT7gzdwAAAAASUVORK5CYII=',
    ],
    ['empty', {}],
  ];
  for (const [id, result] of results) {
    s.model('', [{ id, name, arguments: { kind: id } }]);
    const span = s.toolStart(id, name, { kind: id });
    s.toolEnd(span, id, result as never);
  }
  s.end();
  return s.events;
}

/** Rules injected faults: into a call that was never made, a result, and a call that was only late. */
export function perturbed(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew the loans of Ada Byron.');
  const call = (id: string, name: string, args: JsonObject, response: Json, over: Parameters<Stream['toolEnd']>[3]) => {
    s.model('', [{ id, name, arguments: args }]);
    s.toolEnd(s.toolStart(id, name, args), id, response, over);
  };
  const loans = [17, 18, 19].map((loan) => ({ loan_id: loan, due: '2026-05-08' }));
  call('c1', 'list_loans', { member: 'M-204' }, loans.slice(0, 1), { injected: 'short-pages', result: loans });
  const refused = {
    injected: 'flaky-renewals',
    made: false as const,
    error: { class: 'tool_error' as const, message: '503 Service Unavailable' },
  };
  call('c2', 'renew_loan', { loan_id: 17 }, 'Error (tool_error): 503 Service Unavailable', refused);
  call('c3', 'renew_loan', { loan_id: 17 }, { ok: true, due: '2026-05-22' }, {});
  call('c4', 'find_member', { name: 'Ada' }, { id: 'M-204' }, { injected: 'slow', ms: 5_004 });
  s.model('I renewed loan 17.');
  s.end({ passed: false, reward: 0 });
  return s.events;
}

/** Of the tools of its world, one is real, one simulated, and one an overlay. */
export function hybrid(): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Lend Riverglass to Ada Byron.');
  const call = (id: string, name: string, args: JsonObject, response: Json, over: Parameters<Stream['toolEnd']>[3]) => {
    s.model('', [{ id, name, arguments: args }]);
    s.toolEnd(s.toolStart(id, name, args), id, response, over);
  };
  const loans = [{ loan_id: 17, title: 'Northbound', due: '2026-05-08' }];
  call('c1', 'find_member', { name: 'Ada' }, [{ member_id: 'M-204', name: 'Ada Byron' }], {});
  const lent = { loan_id: 18, title: 'Riverglass', due: '2026-05-22' };
  call('c2', 'check_out', { member_id: 'M-204', book_id: 'B-219' }, lent, { source: 'simulated', ms: 812 });
  call('c3', 'list_loans', { member_id: 'M-204' }, [...loans, lent], { source: 'overlay', real: loans, ms: 954 });
  s.model('Riverglass is due on 2026-05-22.');
  s.end();
  return s.events;
}

/** Many steps, for lists that scroll. */
export function long(steps: number): TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Count.');
  for (let i = 0; i < steps; i++) {
    s.model(`Step ${i}`, [{ id: `c${i}`, name: i % 3 === 0 ? 'count' : 'look', arguments: { i } }]);
    const span = s.toolStart(`c${i}`, i % 3 === 0 ? 'count' : 'look', { i });
    s.toolEnd(span, `c${i}`, i, i % 17 === 0 ? { error: { class: 'timeout', message: 'no answer in 30 s' } } : {});
  }
  s.end();
  return s.events;
}

export function desk(): TraceEvent[] {
  return lendingDesk().events;
}
