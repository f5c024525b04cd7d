/** The compare page in all its states. */
import type { Json } from '../../../src/common/json.ts';
import type { PageAction, PagePlace, PageVerb } from '../../../src/protocol/page.ts';
import type { Transport } from '../../../src/protocol/transport.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../src/trace/summary.ts';
import { Stream } from '../../../test/support/stream.ts';
import { App } from '../../app.tsx';
import { BatchesPage } from '../../compare/batches/batchesPage.tsx';
import { ComparePage } from '../../compare/comparePage.tsx';
import { type StoryData, type StoryHost, storyHost } from '../../host/story.ts';
import { sampleBatch } from '../batch/sampleBatch.ts';
import { story } from '../index.ts';

const CAN: ReadonlySet<PageVerb> = new Set(['open', 'copy', 'link', 'save']);

/** How many days each attempt renews for: where they diverge. */
const DAYS = [14, 7, 14, 7, 21, 14];

/**
 * `long`: number of steps between looking up the member and renewing. `isPlayed`: a model plays the world of the
 * attempts with even numbers.
 */
function attempt(number: number, days: number, long = 0, isPlayed = false): readonly TraceEvent[] {
  const s = new Stream();
  const passed = days === 14;
  const due = passed ? '2026-05-22' : '2026-05-08';
  s.start({ attempt: number });
  s.message('user', 'Renew everything overdue for Ada.');
  type Call = readonly [name: string, args: { [name: string]: Json }, result: Json];
  const calls: readonly Call[] = [
    ['find_member', { name: 'Ada' }, { id: 'M-204', name: 'Ada Byron' }],
    ...Array.from({ length: long }, (_, index): Call => {
      const copy = index % 3 === 0 ? number * 100 + index : index;
      return ['check_copy', { copy, shelf: `S-${index}` }, { copy, state: index % 2 === 0 ? 'on the shelf' : 'lent' }];
    }),
    ['list_loans', { member: 'M-204' }, ['L-3001']],
    ...(number % 3 === 0 ? [['list_fines', { member: 'M-204' }, 'F-118'] as const] : []),
    [
      'renew_loan',
      { loan_id: 'L-3001', days },
      passed ? { ok: true, due } : { ok: false, error: 'Standard loans renew for 14 days' },
    ],
    ['pay_fine', { fine_ids: passed ? ['F-118'] : ['F-118', 'F-120'] }, 'paid'],
  ];
  for (const [index, [name, args, result]] of calls.entries()) {
    s.model('', [{ id: `c${index}`, name, arguments: args }]);
    const span = s.toolStart(`c${index}`, name, args);
    if (name === 'renew_loan' && passed)
      s.diff([{ table: 'loans', key: 'L-3001', op: 'update', before: { due: '2026-05-08' }, after: { due } }], span);
    s.toolEnd(span, `c${index}`, result, isPlayed && number % 2 === 0 ? { source: 'simulated' } : {});
  }
  s.model(passed ? 'L-3001 is renewed until May 22. Paid 2.40.' : 'L-3001 is renewed until May 15. Paid 7.40.');
  s.add('score', {
    scorer: 'world',
    value: passed ? 1 : 0,
    passed,
    checks: [
      { name: 'loans L-3001', passed, expected: '2026-05-22', actual: due, cause: 'loans: row not renewed' },
      { name: 'nothing else changed', passed, expected: '0 rows', actual: passed ? '0 rows' : '1 row' },
      { name: 'answer', passed, expected: ['22', '2.40'], actual: passed ? ['22', '2.40'] : ['15', '7.40'] },
    ],
  });
  s.end({ passed });
  return s.events;
}

interface CompareOptions {
  readonly silent?: boolean;
  readonly broken?: boolean;
  /** Number of further steps of each attempt. */
  readonly long?: number;
  /** Number of attempts that have not ended. */
  readonly running?: number;
  /** A model plays the world of every other attempt. */
  readonly isPlayed?: boolean;
}

function attemptsHost(
  attempts: number,
  options: CompareOptions = {},
): { readonly host: StoryHost; readonly place: PagePlace & { page: 'compare' } } {
  const sample = sampleBatch({ tasks: 1, attempts: Math.max(1, attempts), state: 'ended' });
  const rows =
    attempts === 0
      ? []
      : sample.rows.map((row) => {
          if (row.attempt > attempts - (options.running ?? 0))
            return { ...row, state: 'running' as const, settles: false, progress: EMPTY_PROGRESS };
          const passed = DAYS[(row.attempt - 1) % DAYS.length] === 14;
          return {
            ...row,
            state: 'ended' as const,
            settles: true,
            progress: {
              ...EMPTY_PROGRESS,
              status: 'done' as const,
              passed,
              reward: passed ? 1 : 0,
              ms: 9_800 + row.attempt * 700,
              ...(passed ? {} : { cause: { kind: 'check' as const, text: 'loans: row not renewed' } }),
            },
          };
        });
  const events = Object.fromEntries(
    rows.map((row) => {
      const days = DAYS[(row.attempt - 1) % DAYS.length] ?? 14;
      return [row.rollout, attempt(row.attempt, days, options.long, options.isPlayed)];
    }),
  );
  const host = storyHost({
    ...sample,
    rows,
    events: options.broken === true ? {} : events,
    ...(options.silent === true ? { silent: true } : {}),
  });
  return {
    host,
    place: {
      page: 'compare',
      batch: options.broken === true ? 'b-none' : sample.batch.batch,
      task: sample.tasks[0]?.id ?? '',
    },
  };
}

function addAttempts(name: string, attempts: number, options: CompareOptions = {}): void {
  story(
    'compare',
    name,
    () => <ComparePage can={CAN} {...attemptsHost(attempts, options)} />,
    options.silent === true ? { busy: true } : {},
  );
}

/** Answers the first `count` requests for events, and the others after `story-rest`. */
function holdEvents(transport: Transport, count: number): Transport {
  const rest = new Promise((resolve) => window.addEventListener('story-rest', resolve, { once: true }));
  let left = count;
  return {
    request: async (asked) => {
      if (asked.path.startsWith('/v1/streams/') && left-- <= 0) await rest;
      return transport.request(asked);
    },
  };
}

addAttempts('six', 6);
// The failed attempt on the left, and the six passed ones that are the most similar by their rows.
story('compare', 'early', () => {
  const { host, place } = attemptsHost(32);
  return <ComparePage can={CAN} host={{ ...host, transport: holdEvents(host.transport, 7) }} place={place} />;
});
addAttempts('many', 32);
addAttempts('long', 32, { long: 55 });
addAttempts('running', 4, { running: 2 });
addAttempts('simulated', 4, { isPlayed: true });
addAttempts('one', 1);
addAttempts('none', 0);
addAttempts('loading', 2, { silent: true });
addAttempts('failed', 2, { broken: true });
// Two batches, with the number of passed attempts of four for each task.
const PASSED: readonly (readonly [number, number])[] = [
  [4, 0],
  [0, 3],
  [4, 2],
  [1, 4],
  [2, 2],
  [3, 4],
  [0, 0],
  [4, 4],
  [4, 3],
  [0, 1],
];

const HIT = { injected: 2, recovered: 1, worked_around: 0, repeated: 1, gave_up: 0 };
const PERTURBED = { name: 'nightly', agent: { name: 'desk', file: 'desk.agent.yaml', model: { name: 'm' } } };

/**
 * `apart`: no task is in both batches. `open`: the later batch is still running. `faults`: the earlier one ran with
 * rules, the later one without them.
 */
function batchesHost(
  tasks: number,
  options: CompareOptions & { readonly apart?: boolean; readonly open?: boolean; readonly faults?: boolean } = {},
): { readonly host: StoryHost; readonly place: PagePlace & { page: 'batches' } } {
  const sample = sampleBatch({
    tasks,
    attempts: 4,
    state: options.open === true ? 'running' : 'ended',
    name: 'nightly',
  });
  const side = (id: string, name: string, which: 0 | 1): StoryData => {
    const counts = {
      ...sample.batch.counts,
      running: options.open === true && which === 1 ? 3 : 0,
      held: 0,
      queued: 0,
    };
    const rows = sample.tasks.flatMap((task, index) =>
      [1, 2, 3, 4].map((attempt): RolloutRow => {
        const passed = attempt <= (PASSED[index % PASSED.length]?.[which] ?? 0);
        return {
          rollout: `r${id}${index}x${attempt}`,
          batch: id,
          task: options.apart === true ? `${name} ${task.id}` : task.id,
          task_index: index,
          attempt,
          try: 1,
          epoch: 1,
          last: 9,
          rev: 1,
          state: 'ended',
          settles: true,
          progress: {
            ...EMPTY_PROGRESS,
            status: 'done',
            passed,
            reward: passed ? 1 : 0,
            calls: {
              find_member: { succeeded: [index % 7 === attempt && which === 0 ? 2 : 1] },
              renew_loan: passed ? { succeeded: [3] } : { failed: [4], ...(which === 0 ? { invalid: 1 } : {}) },
            },
            ...(options.faults === true && which === 0 && attempt < 3 ? { faults: { 'flaky-renewals': HIT } } : {}),
          },
        };
      }),
    );
    const events = Object.fromEntries(
      rows.slice(0, 8).map((row) => [row.rollout, attempt(row.attempt, row.progress.passed === true ? 14 : 7)]),
    );
    const world = { perturb: [{ name: 'flaky-renewals' }] };
    const submission = String(which).repeat(64);
    const definition = { ...PERTURBED, world, ...(which === 1 ? { no_perturb: true } : {}) };
    return {
      batch: {
        ...sample.batch,
        batch: id,
        name,
        counts,
        created_at: sample.batch.created_at + which,
        ...(options.faults === true ? { submission } : {}),
      },
      blobs: options.faults === true ? { [submission]: btoa(JSON.stringify(definition)) } : {},
      tasks: sample.tasks,
      rows,
      events,
    };
  };
  const [before, after] = [
    side('b1', 'nightly', 0),
    side('b2', 'nightly with a very long name that lists everything that was changed', 1),
  ];
  const host = storyHost({
    ...after,
    events: { ...before.events, ...after.events },
    blobs: { ...before.blobs, ...after.blobs },
    others: [before],
    ...(options.silent === true ? { silent: true } : {}),
  });
  return { host, place: { page: 'batches', batch: options.broken === true ? 'b0' : 'b1', with: 'b2' } };
}

function addBatches(name: string, tasks: number, options: Parameters<typeof batchesHost>[1] = {}): void {
  story(
    'compare',
    name,
    () => <BatchesPage can={CAN} {...batchesHost(tasks, options)} onNavigate={() => undefined} />,
    options.silent === true ? { busy: true } : {},
  );
}

addBatches('batches', 40);
addBatches('batches-perturbed', 12, { faults: true });
addBatches('batches-many', 2_000);
addBatches('batches-open', 12, { open: true });
addBatches('batches-apart', 3, { apart: true });
addBatches('batches-loading', 3, { silent: true });
addBatches('batches-failed', 3, { broken: true });
story('compare', 'across-batches', () => {
  const { host } = batchesHost(3);
  const task = Object.values(sampleBatch({ tasks: 1 }).tasks)[0]?.id ?? '';
  return <ComparePage can={CAN} host={host} place={{ page: 'compare', batch: 'b1', task, with: 'b2' }} />;
});
story('compare', 'from-batches', () => {
  const { host, place } = batchesHost(12);
  const act = (action: PageAction): Promise<void> => {
    if (action.do === 'open') host.go(action.place);
    return host.act(action);
  };
  return <App host={{ ...host, act, start: Promise.resolve({ place, readOnly: false, can: CAN }) }} />;
});

// From page to page: like in an editor, an opened page replaces the current one.
story('compare', 'from-batch', () => {
  const { host } = attemptsHost(6);
  const act = (action: PageAction): Promise<void> => {
    if (action.do === 'open') host.go(action.place);
    return host.act(action);
  };
  return <App host={{ ...host, act }} />;
});
