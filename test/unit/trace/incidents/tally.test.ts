import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { incident } from '../../../../src/trace/incidents/incident.ts';
import { IncidentTally } from '../../../../src/trace/incidents/tally.ts';
import { advanceProgress } from '../../../../src/trace/progress.ts';
import type { EventData, EventKind, TraceEvent } from '../../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, progress, type RolloutRow } from '../../../../src/trace/summary.ts';
import { endOf, event } from '../../../support/trajectories.ts';

const infra = (data: EventData['infra']): TraceEvent => event(1, 'infra', data);
type Entry = { [K in EventKind]: readonly [kind: K, data: EventData[K]] }[EventKind];
type End = EventData['model.end'];

const call = (over: Partial<End>): Entry => ['model.end', { status: 'ok', trainable: true, source: 'live', ...over }];
const failed = (of: string, endpoint?: string): NonNullable<End['retries']>[number] => ({
  ...{ at: 1, ms: 2, class: of },
  ...(endpoint === undefined ? {} : { endpoint }),
});
const lease = (how: 'fresh' | 'resumed'): Entry => ['rollout.lease', { epoch: 1, worker: 'w', how }];
const ending = (message: string): Entry => [
  'rollout.end',
  { ...endOf({ status: 'infrastructure', passed: null, reward: null }), error: { class: 'infrastructure', message } },
];

/** The row after these events of a rollout. */
function row(...entries: readonly Entry[]): RolloutRow {
  const events = entries.map(([kind, data], index) => event(index + 1, kind, data));
  const own = progress.parse(advanceProgress(EMPTY_PROGRESS, events));
  return {
    ...{ rollout: 'r', batch: 'b', task: 't', task_index: 0, attempt: 1, try: 1, epoch: 1, last: 1, rev: 1 },
    state: own.status === undefined ? 'running' : 'ended',
    settles: false,
    progress: own,
  };
}

interface Batch {
  readonly events?: readonly TraceEvent[];
  /** All tries, and those that count. */
  readonly rows?: readonly RolloutRow[];
  readonly counting?: readonly RolloutRow[];
  readonly repeated?: { readonly groups: number; readonly requests: number };
}

function linesOf({ events = [], rows = [], counting = rows, repeated }: Batch): string[] {
  const tally = new IncidentTally();
  for (const one of events) tally.addEvent(one);
  for (const one of rows) tally.addRollout(one);
  for (const one of counting) tally.addAttempt(one);
  if (repeated !== undefined) tally.addRequests(repeated);
  return tally.list().map((one) => {
    const { kind, count, text } = incident.parse(one);
    assert.equal(text.includes('\n'), false);
    return `${kind} ${count}: ${text}`;
  });
}

describe('incidents', () => {
  it('are none if nothing happened, or only what people should know', () => {
    const events = [
      infra({ what: 'pod_started', pod: 'p-1', text: 'Pod p-1 started.' }),
      infra({ what: 'note', text: 'A record of the dataset was left out.' }),
      infra({ what: 'worker_ended', worker: 'w', rollout: 'r', text: 'The worker stopped.' }),
      event(1, 'batch.end', { reason: 'done' }),
    ];
    assert.deepEqual(linesOf({ events, rows: [row(lease('fresh'), call({})), row()] }), []);
  });

  it('count a lost worker once, however many rollouts it had', () => {
    const lost = (worker: string, rollout?: string): TraceEvent =>
      infra({
        what: 'worker_lost',
        worker,
        ...(rollout === undefined ? {} : { rollout }),
        text: 'The worker did not renew its lease.',
      });
    const rows = [row(lease('fresh'), lease('resumed'), lease('resumed')), row(lease('resumed')), row(lease('fresh'))];
    assert.deepEqual(linesOf({ events: [lost('w1', 'r1'), lost('w1', 'r2')], rows }), [
      'worker 1: 1 worker lost (The worker did not renew its lease); 3 rollouts continued on another worker',
    ]);
    const oom = infra({ what: 'pod_oom', pod: 'p-1', text: 'Pod p-1 was killed.\nIt had too little memory.' });
    assert.deepEqual(linesOf({ events: [lost('w1'), oom, lost('p-1', 'r3')] }), [
      'worker 2: 2 workers lost (the last one: The worker did not renew its lease)',
    ]);
    assert.deepEqual(linesOf({ events: [lost('w1'), oom] }), [
      'worker 2: 2 workers lost (the last one: Pod p-1 was killed. It had too little memory)',
    ]);
  });

  it('tell rollouts that were handed over from lost ones', () => {
    const leaving = infra({ what: 'worker_leaving', worker: 'w1', text: 'Worker w1 has to stop.' });
    const rows = [
      row(lease('fresh'), ['rollout.handover', { worker: 'w1' }], lease('resumed')),
      row(lease('fresh'), ['rollout.handover', { worker: 'w1' }], lease('resumed'), lease('resumed')),
    ];
    assert.deepEqual(linesOf({ events: [leaving], rows }), [
      'worker 0: 1 rollout continued on another worker',
      'worker 1: 1 worker had to stop; 2 rollouts handed over to others',
    ]);
    assert.deepEqual(linesOf({ events: [leaving], rows: rows.slice(0, 1) }), [
      'worker 1: 1 worker had to stop; 1 rollout handed over to others',
    ]);
    const continued = row(lease('fresh'), lease('resumed'));
    assert.deepEqual(linesOf({ events: [leaving], rows: [continued] }), [
      'worker 0: 1 rollout continued on another worker',
      'worker 1: 1 worker had to stop',
    ]);
    const deleted = infra({ what: 'pod_deleted', pod: 'w1', text: 'Pod w1 was deleted.' });
    assert.deepEqual(linesOf({ events: [leaving, deleted], rows: [continued] }), [
      'worker 1: 1 worker lost (Pod w1 was deleted); 1 rollout continued on another worker',
    ]);
    assert.deepEqual(linesOf({ events: [leaving, deleted], rows }), [
      'worker 1: 1 worker lost (Pod w1 was deleted); 1 rollout continued on another worker',
      'worker 0: 2 rollouts handed over to others',
    ]);
  });

  it('tell a restart of the server from a lost connection', () => {
    const started = infra({ what: 'server_started', ms: 1_300, text: 'A rollout server started.' });
    const back = (what: string, ms: number): TraceEvent => infra({ what, ms, text: '1 worker reconnected.' });
    assert.deepEqual(linesOf({ events: [started, back('server_back', 2_000), back('server_back', 1_000)] }), [
      'server 1: server restarted; batch resumed after 1.3 s, workers reconnected within 2.0 s',
    ]);
    assert.deepEqual(linesOf({ events: [started, started, started] }), [
      'server 3: server restarted 3 times; batch resumed after 1.3 s',
    ]);
    assert.deepEqual(linesOf({ events: [back('server_back', 500)] }), [
      'server 1: server restarted or replaced; workers reconnected within 500 ms',
    ]);
    assert.deepEqual(linesOf({ events: [back('workers_back', 500), back('workers_back', 900)] }), [
      'server 2: connection to the server lost twice; workers reconnected within 900 ms',
    ]);
  });

  it('sum repeated requests to models by endpoint, and leave out recorded calls', () => {
    const rows = [
      row(
        call({ retries: [failed('500', 'http://a/v1'), failed('500', 'http://a/v1')] }),
        call({ retries: [failed('timeout', 'http://a/v1'), failed('429', 'http://b/v1')] }),
        call({ source: 'recorded', retries: [failed('500', 'http://a/v1')] }),
      ),
      row(call({ retries: [failed('500', 'http://a/v1')] })),
    ];
    assert.deepEqual(linesOf({ rows }), [
      'model 4: model http://a/v1: 4 requests failed (500 ×3, timeout ×1) and were made again',
      'model 1: model http://b/v1: 1 request failed (429) and was made again',
    ]);
    const many = ['c', 'd', 'e', 'f', 'g'].map((host) => row(call({ retries: [failed('500', `http://${host}/v1`)] })));
    assert.equal(
      linesOf({ rows: many }).at(-1),
      'model 2: 2 more endpoints: 2 requests failed and were made again',
      'the list is bounded',
    );
    assert.deepEqual(linesOf({ rows: [row(call({ retries: [failed('500')] }))] }), [
      'model 1: model: 1 request failed (500) and was made again', // recorded before endpoints were
    ]);
  });

  it('say what pauses did to calls', () => {
    const rows = [
      row(call({ paused_ms: 4_200, aborted: 1, weights: '9' }), call({ paused_ms: 100, weights: '10' })),
      row(call({ paused_ms: 0, aborted: 2 })),
    ];
    assert.deepEqual(linesOf({ rows }), [
      'pause 3: model paused for version 10 of its weights: 3 calls waited, 4.2 s at most; ' +
        '3 requests aborted and made again',
    ]);
    const pause = (endpoint: string, by?: string) =>
      call({ paused_ms: 100, weights: '3', pause: { endpoint, ...(by === undefined ? {} : { by }) } });
    const [a, b] = ['http://a:8000/v1', 'http://b:8000/v1'];
    assert.deepEqual(linesOf({ rows: [row(pause(a, 'ada'), pause(a, 'trainer')), row(pause(a, 'ada'))] }), [
      `pause 3: model ${a} paused by ada and trainer for version 3 of its weights: 3 calls waited, 100 ms at most`,
    ]);
    assert.deepEqual(linesOf({ rows: [row(pause(a, 'ada'), pause(b))] }), [
      `pause 2: 2 models paused (${a} by ada, ${b}) for version 3 of its weights: 2 calls waited, 100 ms at most`,
    ]);
    const many = [1, 2, 3, 4, 5].map((at) => pause(`http://${at}`, 'ada'));
    assert.match(linesOf({ rows: [row(...many)] })[0] ?? '', /^pause 5: 5 models paused \(.*, 2 more\) for version 3/);
    assert.deepEqual(linesOf({ rows: [row(call({ paused_ms: 100 }))] }), [
      'pause 1: model paused for new weights: 1 call waited, 100 ms at most',
    ]);
  });

  it('say which scorers reached their limits, without other errors of scorers', () => {
    const score = (of: 'timeout' | 'tool_error', message: string): Entry => [
      'score',
      { scorer: 's', value: null, passed: null, error: { class: of, message } },
    ];
    const late = row(score('timeout', 'The scorer s did not end within its limit of 600 s.'), [
      'rollout.end',
      endOf({ passed: null, reward: null }),
    ]);
    const broken = row(score('tool_error', 'no'), ['rollout.end', endOf({ passed: null, reward: null })]);
    assert.deepEqual(linesOf({ rows: [late, late, broken] }), [
      'scorer 2: 2 attempts without a reward: The scorer s did not end within its limit of 600 s',
    ]);
  });

  it('say what was requested again', () => {
    const events = [infra({ what: 'group_repeated', group: 'step-3', count: 1, text: '1 request …' })];
    assert.deepEqual(linesOf({ events, repeated: { groups: 1, requests: 3 } }), [
      'request 3: group step-3 requested again 3 times; answered with the group that exists',
    ]);
    assert.deepEqual(linesOf({ events, repeated: { groups: 6, requests: 100_000 } }), [
      'request 100000: 6 groups requested again 100,000 times; answered with the groups that exist',
    ]);
  });

  it('list lost rollouts by their reason, and how many were tried again', () => {
    const [a, b, c] = [
      row(ending('The port 81 is in use.')),
      row(ending('The port 82 is in use.')),
      row(ending('Gone')),
    ];
    assert.deepEqual(linesOf({ rows: [a, b, c], counting: [b, c] }), [
      'lost 2: 2 rollouts lost: The port 81 is in use; 1 tried again',
      'lost 1: 1 rollout lost: Gone',
    ]);
  });

  it('have what the server reported besides', () => {
    const events = [1, 2].map((n) =>
      infra({ what: 'tampering', worker: `w-${n}`, text: `Worker w-${n} wrote events that do not fit.` }),
    );
    assert.deepEqual(linesOf({ events }), ['other 2: 2 times. Latest: Worker w-2 wrote events that do not fit']);
  });

  it('begin with what stops the batch, in full, so that its command can be copied', () => {
    const events = [
      ...['a', 'b'].flatMap((pod) => [
        infra({ what: 'pod_refused', text: `Cannot create pods: ${pod}` }),
        infra({ what: 'quota', text: `The namespace has reached its quota: ${pod}` }),
      ]),
      infra({ what: 'objects_lost', ms: 20, text: 'Secret s was deleted by someone else, and created again.' }),
      infra({ what: 'values_lost', text: `No pod can start. ${'long '.repeat(60)}with rollout resume b1.` }),
    ];
    const [first = '', ...more] = linesOf({ events });
    assert.match(first, /^other 1: No pod can start\. .* with rollout resume b1$/);
    assert.equal(more.length, 3);
  });
});
