/**
 * Tools that misbehave in every way, in a batch of the command line: each fails alone, with its class, and all attempts
 * continue.
 */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import type { EventData, TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { isBlobRef } from '../../src/trace/values/keys.ts';
import { alive, hasEnded, root } from '../support/cli.ts';
import { ADD, WorkspaceBench } from '../support/workspace.ts';

type End = EventData['tool.end'];

/** By task: the call, and how it ends. */
const HOSTILE: Readonly<
  Record<string, readonly [call: string, expected: (end: End, events: readonly TraceEvent[]) => void]>
> = {
  throws: ['throws {"text": "hey"}', failed('tool_error', /^it broke: hey$/)],
  prints: ['prints {"lines": 10737418}', failed('tool_error', /printed too much output/)],
  exits: ['exits', failed('tool_error', /process\.exit\(3\)/)],
  kills: ['kills', failed('tool_error', /process\.kill on its own process/)],
  cycle: ['cycle', failed('tool_error', /contains itself/)],
  late: ['late_throw', failed('tool_error', /^too late \(thrown outside the promise of the call/)],
  leaks: ['leaks', failed('tool_error', /more than its \d+ MB of memory/)],
  large: [
    'large {"chars": 100000000}',
    resultOf((end) => {
      assert.equal(end.cut, 100_000_000 - 1024 * 1024);
      assert.partialDeepStrictEqual(end.result, {
        bytes: 64 * 1024 * 1024,
        media: 'text/plain',
        head: 'y'.repeat(1024),
      });
    }),
  ],
  unknown: [
    'no_such_tool',
    failed('unknown_tool', /^Unknown tool "no_such_tool"\. Available tools: cycle, exits, [a-z_, ]*fine, /),
  ],
  misfit: ['fine {"a": "x"}', failed('invalid_arguments', /^The arguments of fine do not match its schema: /)],
  fine: ['fine {"a": 40}', resultOf(() => undefined)],
};

function failed(errorClass: string, message: RegExp): (end: End) => void {
  return (end) => {
    assert.deepEqual([end.status, end.error?.class], ['error', errorClass], end.error?.message);
    assert.match(end.error?.message ?? '', message);
  };
}

function resultOf(check: (end: End) => void): (end: End) => void {
  return (end) => {
    assert.equal(end.status, 'ok', end.error?.message);
    check(end);
  };
}

describe('a batch whose tools', () => {
  let bench: WorkspaceBench;
  before(() => {
    bench = new WorkspaceBench();
    bench.write('hostile.ts', '');
    for (const name of ['hostile', 'deadly'])
      copyFileSync(path.join(root, 'test', 'fixtures', 'tools', `${name}.ts`), path.join(bench.work, `${name}.ts`));
  });
  after(() => bench.close());

  const ended = (events: readonly TraceEvent[]): EventData['rollout.end'] => {
    const end = events.at(-1);
    assert.ok(end?.kind === 'rollout.end');
    return end.data;
  };
  const lines = (file: string): string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const byTask = (rows: readonly RolloutRow[]): Map<string, RolloutRow> => new Map(rows.map((row) => [row.task, row]));

  it('misbehave in every way loses nothing: each call ends with its class, every attempt with its answer', async () => {
    const file = bench.batch('hostile', {
      // Answers of 64 MB are not sent back to the model.
      model: '{ endpoint: "demo:?context=1000000000", name: demo }',
      tools: '[{ module: hostile.ts }]',
      agent: 'limits: { tokens: 1G }\n',
      tasks: Object.fromEntries(Object.entries(HOSTILE).map(([task, [call]]) => [task, `call ${call}\nanswer 42`])),
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual(
      [code, report.passed, report.attempts],
      [0, Object.keys(HOSTILE).length, Object.keys(HOSTILE).length],
      stderr,
    );
    const rows = await bench.rows(report.batch);
    await Promise.all(
      rows.map(async (row) => {
        const events = await bench.events(row.rollout);
        const end = events.find((event) => event.kind === 'tool.end');
        assert.ok(end?.kind === 'tool.end', row.task);
        HOSTILE[row.task]?.[1](end.data, events);
      }),
    );
  });

  it('return 20 MB, for a task of 5 MB, keeps both whole, apart from the events @deep', async () => {
    const text = `${'A long story. '.repeat(375_000)}\ncall large {"chars": 20000000}\nanswer 42`;
    const file = bench.batch('huge', {
      model: '{ endpoint: "demo:?context=1000000000", name: demo }',
      tools: '[{ module: hostile.ts }]',
      agent: 'limits: { tokens: 1G }\n',
      tasks: { huge: text },
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.passed], [0, 1], stderr);
    const [row] = await bench.rows(report.batch);
    const { api } = await connect({ store: bench.store });
    const stored = await bench.events(row?.rollout ?? '');
    assert.ok(JSON.stringify(stored).length < 100_000, 'the events themselves stay small');
    const end = stored.find((event) => event.kind === 'tool.end');
    assert.ok(end?.kind === 'tool.end' && isBlobRef(end.data.result));
    assert.equal(Buffer.from(await api.getBlob(end.data.result.$blob)).toString(), 'y'.repeat(20_000_000));
    const trajectory = await bench.json<{ events: TraceEvent[] }>(['show', row?.rollout ?? '']);
    const question = trajectory.events.find((event) => event.kind === 'message' && event.data.role === 'user');
    assert.ok(question?.kind === 'message');
    assert.deepEqual(question.data.parts, [{ type: 'text', content: text }]);
  });

  it('kill their worker retries as often as the batch allows, then gives up; all others finish', async () => {
    const log = bench.path('kills.txt');
    const file = bench.batch('deadly', {
      tools: '[{ module: deadly.ts }, { builtin: [calculator] }]',
      batch: 'sandbox: off\nretry: { infrastructure: 1 }\n',
      tasks: {
        kills: `call kills_worker ${JSON.stringify({ log })}\nanswer 42`,
        slow: 'call slow {"ms": 1500}\nanswer 42',
        one: ADD,
        two: ADD,
      },
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.passed, report.infrastructure, report.open], [3, 3, 1, 0], stderr);
    assert.match(
      stderr,
      new RegExp(
        '^1 attempt was lost to infrastructure: Its worker was lost during a call to ' +
          String.raw`kills_worker, which is irreversible and may have taken effect\. `,
        'm',
      ),
    );
    const row = byTask(await bench.rows(report.batch)).get('kills');
    assert.deepEqual([row?.try, row?.progress.status], [2, 'infrastructure']);
    // Called once in each try, and never twice in one.
    assert.equal(lines(log).length, 2);
    const events = await bench.events(row?.rollout ?? '');
    assert.deepEqual(events.filter((event) => event.kind === 'tool.start').length, 1);
    assert.equal(ended(events).error?.class, 'infrastructure');
  });

  it('kill their worker and are idempotent gives up once the same call lost three workers @deep', async () => {
    const log = bench.path('pure-kills.txt');
    const file = bench.batch('purely', {
      tools: '[{ module: deadly.ts }, { builtin: [calculator] }]',
      batch: 'sandbox: off\nretry: { infrastructure: 0 }\n',
      tasks: { kills: `call kills_worker_purely ${JSON.stringify({ log })}\nanswer 42`, one: ADD },
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.passed, report.infrastructure], [3, 1, 1], stderr);
    assert.match(
      stderr,
      /^1 attempt was lost to infrastructure: Every worker that called kills_worker_purely was lost during the call/m,
    );
    assert.ok(lines(log).length <= 4, `${lines(log).length} workers`);
  });

  it('hang, loop, or block forever ends each by time-out and leaves nothing behind', async () => {
    const log = bench.path('blocks.txt');
    const file = bench.batch('blocks', {
      tools: '[{ module: deadly.ts }, { module: hostile.ts }, { builtin: [calculator] }]',
      agent: 'limits: { tool_seconds: 1 }\n',
      batch: 'sandbox: off\n',
      tasks: {
        blocks: `call blocks ${JSON.stringify({ log })}\nanswer 42`,
        loops: 'call loops\nanswer 42',
        waits: 'call waits\nanswer 42',
        one: ADD,
      },
    });
    const { code, report, stderr } = await bench.runBatch(file);
    assert.deepEqual([code, report.passed], [0, 4], stderr);
    const rows = byTask(await bench.rows(report.batch));
    for (const name of ['blocks', 'loops', 'waits']) {
      const end = (await bench.events(rows.get(name)?.rollout ?? '')).find((event) => event.kind === 'tool.end');
      assert.ok(end?.kind === 'tool.end');
      assert.deepEqual(end.data.error, { class: 'timeout', message: `${name} did not finish within 1 s.` });
    }
    const [worker, child] = [Number(rows.get('blocks')?.worker?.replace('local-', '')), Number(lines(log)[0])];
    assert.ok(await hasEnded(worker, 15_000), 'the worker has ended');
    assert.ok(await hasEnded(child, 5_000), 'and so has what its tool started');
    assert.ok(!alive(child));
  });
});
