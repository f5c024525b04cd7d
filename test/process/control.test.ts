// Batches controlled from a command line: pause, resume, cancel, retry, following, stop rules, pass bars.
import assert from 'node:assert/strict';
import { createReadStream, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { csvRecords } from '../../src/config/dataset/csv.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { outcomeOf } from '../../src/trace/outcome.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { Comparison, Report } from '../../src/trace/statistics/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import { Bench } from '../support/cli.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

/** By how much the clocks of two workers differ at most. */
const CLOCKS_MS = 100;
const CALCULATOR = { tools: [{ builtin: ['calculator'] }] };
/** Adds this many times, one step each. */
const adding = (steps: number): string => `call calculate {"expression": "40 + 2"} times ${steps}\nanswer {{last}}`;

let demo: WatchedDemo;
let workspace: Workspace;
before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace(new Bench({ sharesProcess: true }));
});
after(async () => {
  await workspace.close();
  await demo.close();
});

/** A slow model that waits where its gate is closed. */
const slow = (
  ms: number,
  gate: string,
): { endpoint: string; demo: string; gate: string; agent: typeof CALCULATOR } => ({
  endpoint: demo.url,
  demo: `latency_ms=${ms}`,
  gate,
  agent: CALCULATOR,
});
const batchRow = async (batch: string): Promise<BatchRow> => (await workspace.api()).batch(batch);
/** Runs a command that must succeed, and returns its output. */
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await workspace.run(...args);
  assert.equal(code, 0, stderr);
  return stdout;
}
const lines = (text: string): (TraceEvent | RolloutRow)[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as TraceEvent | RolloutRow);
const isEvent = (line: TraceEvent | RolloutRow): line is TraceEvent => 'kind' in line;

describe('a running batch', { timeout: 480_000, concurrency: 3 }, () => {
  it('is paused at the next gates and continues when it is resumed', async () => {
    demo.shut('paused');
    const batch = await workspace.launch('paused', {
      ...slow(80, 'paused'),
      tasks: [
        { id: 'a', question: adding(8), answer: '42' },
        { id: 'b', question: adding(8), answer: '42' },
      ],
      batch: { attempts: 3, concurrency: 4 },
    });
    await workspace.waitForRows(batch, (rows) => rows.filter((row) => row.progress.steps > 0).length === 4);
    assert.match(await done('pause', batch), new RegExp(`Paused batch ${batch}`));
    demo.open('paused');
    const paused = await workspace.waitForRows(batch, (rows) =>
      rows.every((row) => row.state === 'held' || row.state === 'queued'),
    );
    assert.deepEqual(paused.map((row) => row.state).sort(), ['held', 'held', 'held', 'held', 'queued', 'queued']);
    assert.equal((await batchRow(batch)).state, 'paused');
    const [held] = paused.filter((row) => row.state === 'held');
    assert.match(await done('show', held!.rollout), /held/);
    await done('pause', batch); // a second pause changes nothing
    assert.deepEqual(
      (await workspace.rows(batch)).map((row) => [row.rollout, row.last]).sort(),
      paused.map((row) => [row.rollout, row.last]).sort(),
      'nothing goes on while it is paused',
    );
    assert.match(await done('resume', batch), /Resumed/);
    const rows = await workspace.ended(batch);
    assert.deepEqual(
      rows.map((row) => row.progress.passed),
      [true, true, true, true, true, true],
    );
    const later = new Set(paused.filter((row) => row.state === 'queued').map((row) => row.rollout));
    const streams = new Map<string, TraceEvent[]>();
    for (const { rollout } of rows) streams.set(rollout, await workspace.events(rollout));
    const times = (of: boolean, kind: TraceEvent['kind']): number[] =>
      [...streams]
        .filter(([rollout]) => later.has(rollout) === of)
        .map(([, all]) => all.find((event) => event.kind === kind)?.at ?? Number.NaN)
        .sort((a, b) => a - b);
    const ends = times(false, 'rollout.end');
    for (const [index, start] of times(true, 'rollout.start').entries())
      assert.ok(
        start > (ends[index] ?? Number.NaN) - CLOCKS_MS,
        'held ones keep their places for the end of the pause',
      );
    const events = streams.get(held!.rollout) ?? [];
    const [hold] = ofKind(events, 'hold');
    assert.deepEqual(
      [hold?.data.why, ofKind(events, 'hold').length, ofKind(events, 'release').length],
      ['pause', 1, 1],
    );
    assert.equal(endOf(events).touched, false);
    assert.ok((endOf(events).totals.held_ms ?? 0) > 0);
    assert.deepEqual(
      ofKind(await workspace.events(batch), 'control').map((event) => event.data.verb),
      ['pause', 'pause', 'resume'],
    );
  });

  it('releases its workers while it is paused, and continues unaffected with others @deep', async () => {
    demo.shut('released');
    const batch = await workspace.launch('released', {
      ...slow(20, 'released'),
      tasks: [
        { id: 'a', question: adding(4), answer: '42' },
        { id: 'b', question: adding(4), answer: '42' },
      ],
      batch: { attempts: 2 },
    });
    const started = await workspace.waitForRows(
      batch,
      (rows) => rows.filter((row) => row.state === 'running').length === 4,
    );
    assert.match(
      await done('pause', batch, '--release-pods'),
      new RegExp(`Paused batch ${batch}\\. Its workers stop once the 4 running attempts are held`),
    );
    demo.open('released');
    const queued = await workspace.waitForRows(batch, (rows) => rows.every((row) => row.state === 'queued'));
    assert.deepEqual([(await batchRow(batch)).state, (await batchRow(batch)).released], ['paused', true]);
    await done('pause', batch); // a plain pause takes no workers back
    assert.equal((await batchRow(batch)).released, true);
    await done('resume', batch);
    const rows = await workspace.ended(batch);
    assert.deepEqual(
      rows.map((row) => [row.progress.passed, row.try]),
      [
        [true, 1],
        [true, 1],
        [true, 1],
        [true, 1],
      ],
    );
    assert.equal(
      started.some(({ worker }) => rows.some((row) => row.worker === worker)),
      false,
      'other workers went on',
    );
    for (const { rollout } of queued) {
      const events = await workspace.events(rollout);
      assert.deepEqual(
        ofKind(events, 'rollout.lease').map((event) => event.data.how),
        ['fresh', 'resumed'],
      );
      assert.equal(new Set(ofKind(events, 'model.end').map((event) => event.data.status)).size, 1, 'no call ran twice');
    }
    assert.match(
      (await workspace.run('pause', `${batch}/a/1`, '--release-pods')).stderr,
      /released only for a whole batch/,
    );
  });

  it('is refused where this machine does not satisfy the requirements of its tools', async () => {
    const file = workspace.batch('needy', {
      ...slow(20, 'needy'),
      agent: { tools: [{ builtin: ['calculator'], needs: ['node', 'no-such-program'] }] },
      tasks: [{ id: 'a', question: 'answer 42', answer: '42' }],
    });
    const { code, stderr } = await workspace.run('run', file);
    assert.equal(code, 2);
    assert.match(
      stderr,
      new RegExp(
        String.raw`needy\S*\.agent\.yaml:\d+:\d+: the built-in calculator needs no-such-program, which is ` +
          'not on the PATH of this machine',
      ),
    );
  });

  it('is cancelled, and retry runs its unsettled attempts again', async () => {
    const batch = await workspace.launch('cancelled', {
      ...slow(150, 'cancelled'),
      tasks: [
        { id: 'quick', question: 'answer 42', answer: '42' },
        { id: 'long', question: adding(12), answer: '42' },
      ],
      batch: { attempts: 2, concurrency: 3 },
    });
    await workspace.waitForRows(
      batch,
      (rows) =>
        rows.filter((row) => row.task === 'quick' && row.state === 'ended').length === 2 &&
        rows.some((row) => row.task === 'long' && row.progress.steps > 0),
    );
    demo.shut('cancelled');
    assert.match(await done('cancel', batch, '--reason', 'changed my mind'), /^Cancelled batch \S+ \(2 attempts\)\.$/m);
    await workspace.ended(batch);
    const { counts } = await batchRow(batch);
    assert.deepEqual([counts.passed, counts.cancelled, counts.running, counts.queued], [2, 2, 0, 0]);
    const cancelled = (await workspace.rows(batch)).filter((row) => row.progress.status === 'cancelled');
    assert.deepEqual(
      cancelled.map((row) => row.task),
      ['long', 'long'],
    );
    assert.match(endOf(await workspace.events(cancelled[0]!.rollout)).error?.message ?? '', /changed my mind/);
    const report = await workspace.json<Report>('report', batch);
    assert.deepEqual([report.attempts, report.scored, report.cancelled, report.passed], [4, 2, 2, 2]);

    demo.open('cancelled');
    assert.deepEqual(await workspace.json('retry', batch), { changed: 2 });
    await workspace.waitForRows(
      batch,
      (rows) => rows.filter((row) => row.try === 2 && row.state === 'ended').length === 2,
    );
    const again = await workspace.json<Report>('report', batch);
    assert.deepEqual([again.scored, again.cancelled, again.passed], [4, 0, 4]);
    assert.deepEqual(await workspace.json('retry', batch), { changed: 0 }, 'what is settled stays');
    const one = await workspace.run('retry', cancelled[0]!.rollout);
    assert.equal(one.code, 2);
    assert.match(one.stderr, /works only on batches/);
  });

  it('lets one of its rollouts be paused, resumed, and cancelled', async () => {
    demo.shut('one');
    const batch = await workspace.launch('one', {
      ...slow(80, 'one'),
      tasks: [{ id: 'it', question: adding(8), answer: '42' }],
      batch: { attempts: 2 },
    });
    const [first] = await workspace.waitForRows(batch, (rows) => rows.every((row) => row.progress.steps > 0));
    // The response comes once it is held.
    const paused = done('pause', first!.rollout);
    await workspace.waitForEvents(batch, (events) => events.some((event) => event.kind === 'control'));
    demo.open('one');
    await paused;
    await workspace.waitForRows(
      batch,
      (rows) => rows.some((row) => row.state === 'held') && rows.some((row) => row.progress.passed === true),
    );
    demo.shut('one');
    await done('resume', `${batch}/it/${first!.attempt}`);
    await workspace.waitForEvents(first!.rollout, (events) => events.some((event) => event.kind === 'release'));
    await done('cancel', first!.rollout);
    const rows = await workspace.ended(batch);
    assert.deepEqual(rows.map((row) => row.progress.status).sort(), ['cancelled', 'done']);
    const final = await workspace.run('cancel', first!.rollout);
    assert.equal(final.code, 2);
    assert.match(final.stderr, /has already ended/);
  });
});

describe('a hanging tool', { timeout: 480_000 }, () => {
  it('ends within a second when its rollout is cancelled', async () => {
    workspace.write(
      'hanging.ts',
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
const input = z.object({});
export const wait_for_ever = tool({ description: 'Never ends.', input, effect: 'pure', run: () => new Promise(() => \
{}) });
export const spin = tool({ description: 'Burns the processor.', input, effect: 'pure', run: () => { for (;;) {} } });
`,
    );
    const batch = await workspace.launch('hanging', {
      endpoint: demo.url,
      agent: { tools: [{ module: 'hanging.ts' }, { builtin: ['terminal', 'code'] }] },
      tasks: [
        'wait_for_ever {}',
        'spin {}',
        'execute_command {"command": "sleep 600"}',
        'run_code {"code": "for (;;) {}"}',
      ].map((call, index) => ({ id: `t${index}`, question: `call ${call}`, answer: 'none' })),
    });
    const rows = await workspace.waitForRows(
      batch,
      (all) => all.length === 4 && all.every((row) => row.progress.tools.length === 1),
    );
    const api = await workspace.api();
    await Promise.all(
      rows.map((row) => api.commandRollout(row.rollout, { command: `c-${row.rollout}`, verb: 'cancel' })),
    );
    await workspace.ended(batch);
    const requests = ofKind(await workspace.events(batch), 'control');
    for (const { rollout, task } of rows) {
      const events = await workspace.events(rollout);
      assert.equal(endOf(events).status, 'cancelled');
      assert.equal(ofKind(events, 'tool.end')[0]?.data.error?.class, 'cancelled');
      // One clock: the server's, which workers follow.
      const took = events.at(-1)!.at - requests.find((event) => event.data.rollout === rollout)!.at;
      assert.ok(took <= 1_000, `${task} took ${took} ms`);
    }
  });
});

describe('following', { timeout: 480_000, concurrency: 2 }, () => {
  it('tail --json prints a batch as JSON Lines, from a cursor', async () => {
    const batch = await workspace.launch('tailed', {
      ...slow(50, 'tailed'),
      tasks: [{ id: 'it', question: adding(3), answer: '42' }],
      batch: { attempts: 2 },
    });
    const followed = lines(await done('tail', batch, '--json'));
    const events = followed.filter(isEvent);
    assert.deepEqual(events, await workspace.events(batch));
    assert.deepEqual([events[0]?.kind, events.at(-1)?.kind], ['batch.start', 'batch.end']);
    const rows = new Map(
      followed.filter((line): line is RolloutRow => !isEvent(line)).map((row) => [row.rollout, row]),
    );
    assert.deepEqual(
      [...rows.values()].map((row) => [row.state, row.progress.passed]),
      [
        ['ended', true],
        ['ended', true],
      ],
    );
    const later = lines(await done('tail', batch, '--after', '1', '--json')).filter(isEvent);
    assert.deepEqual(later, events.slice(1));
    const beyond = await workspace.run('tail', batch, '--after', '9999', '--json');
    assert.equal(beyond.code, 2);
    assert.equal((JSON.parse(beyond.stdout) as { error: { code: string } }).error.code, 'gone');
  });

  it('tail of a rollout follows it live to its end', async () => {
    const batch = await workspace.launch('tailed-rollout', {
      ...slow(100, 'tailed-rollout'),
      tasks: [{ id: 'it', question: adding(4), answer: '42' }],
    });
    const [row] = await workspace.waitForRows(batch, (rows) => rows.some((one) => one.progress.steps > 0));
    const whole = lines(await done('tail', row!.rollout, '--json')) as TraceEvent[];
    assert.deepEqual(
      whole.map((event) => event.seq),
      whole.map((_, index) => index + 1),
    );
    assert.equal(whole.at(-1)?.kind, 'rollout.end');
    const rest = lines(await done('tail', `${batch}/it/1`, '--after', '5', '--json')) as TraceEvent[];
    assert.deepEqual(rest, whole.slice(5));
    assert.match(await done('tail', row!.rollout), /tool\.start +calculate \{"expression":"40 \+ 2"\}/);
    const step = await workspace.json<{ step: number; events: TraceEvent[] }>('show', `${row!.rollout}:2`);
    assert.equal(step.step, 2);
    assert.deepEqual(
      step.events.filter(({ kind }) => kind === 'model.start'),
      [whole.filter(({ kind }) => kind === 'model.start')[1]],
    );
    const absent = await workspace.run('show', `${row!.rollout}:99`, '--json');
    assert.equal((JSON.parse(absent.stdout) as { error: { code: string } }).error.code, 'not_found');
  });

  it('tail ends after a retry that had nothing to do', async () => {
    const batch = await workspace.launch('tailed-retry', {
      endpoint: demo.url,
      agent: CALCULATOR,
      tasks: [{ id: 'it', question: adding(1), answer: '42' }],
    });
    await workspace.ended(batch);
    assert.deepEqual(await workspace.json('retry', batch), { changed: 0 });
    assert.match(await done('tail', batch), /control/);
  });
});

describe('stop rules', { timeout: 480_000, concurrency: 3 }, () => {
  const tasks = (count: number, answer: string): { id: string; question: string; answer: string }[] =>
    Array.from({ length: count }, (_, index) => ({ id: `t${index}`, question: `answer ${answer}`, answer: '42' }));

  it('passes_per_task: no more attempts of a task than it needs, and no pass@k', async () => {
    const file = workspace.batch('enough', {
      endpoint: demo.url,
      tasks: [...tasks(2, '42'), { id: 'hard', question: 'answer no', answer: '42' }],
      batch: { attempts: 6, concurrency: 1, stop: { passes_per_task: 2 } },
    });
    const report = await workspace.json<Report>('run', file);
    assert.deepEqual(
      [report.attempts, report.failed, report.solved, report.pass_at, report.pass_all],
      [18, 6, 2, null, null],
    );
    assert.equal(report.passed + report.cancelled, 12);
    assert.ok(report.passed >= 4 && report.passed <= 6, `${report.passed} passed`);
    assert.match(report.why['pass_at'] ?? '', /stops a task after 2 passes/);
    assert.match((await workspace.run('report', report.batch)).stdout, /no pass@k/);
  });

  it('tokens_per_task: no attempt of a task begins after its attempts used them', async () => {
    const file = workspace.batch('budget', {
      endpoint: demo.url,
      tasks: tasks(2, '42'),
      batch: { attempts: 6, concurrency: 1, order: 'depth', stop: { tokens_per_task: 1 } },
    });
    const report = await workspace.json<Report>('run', file);
    assert.deepEqual([report.passed, report.cancelled, report.open], [2, 10, 0]);
    const unspent = { tokens: 0, cost: null };
    assert.deepEqual(report.budget, { tokens: 1, cost: null, spent: 2, of: 2, not_begun: 10, unspent });
    const { stdout } = await workspace.run('report', report.batch);
    assert.match(stdout, /^budget {5}2 of 2 tasks used 1 tokens or more: 10 attempts not begun, 0 tokens unspent$/m);
    const left = (await workspace.rows(report.batch)).find(({ progress }) => progress.status === 'cancelled');
    const [end] = ofKind(await workspace.events(left?.rollout ?? ''), 'rollout.end');
    assert.match(end?.data.error?.message ?? '', /^stop\.tokens_per_task: its attempts used \d+ tokens \(limit 1\)\.$/);
  });

  it('cost_per_task: no attempt of a task begins after those that ended cost so much', async () => {
    const file = workspace.batch('costly', {
      endpoint: demo.url,
      tasks: tasks(2, '42'),
      model: { price: { input: 1000, output: 1000 } },
      batch: { attempts: 4, concurrency: 1, order: 'depth', stop: { cost_per_task: 0.000001 } },
    });
    const report = await workspace.json<Report>('run', file);
    assert.deepEqual([report.passed, report.cancelled, report.open], [2, 6, 0]);
    assert.deepEqual([report.budget?.spent, report.budget?.not_begun], [2, 6]);
    const left = (await workspace.rows(report.batch)).find(({ progress }) => progress.status === 'cancelled');
    assert.match(
      left?.progress.error_message ?? '',
      /^stop\.cost_per_task: its attempts cost [\d.]+ \(limit 0\.000001\)\.$/,
    );
  });

  it('failures: a batch that fails ends @deep', async () => {
    const file = workspace.batch('failing', {
      endpoint: demo.url,
      tasks: tasks(80, 'no'),
      batch: { concurrency: 2, stop: { failures: '50%' } },
    });
    const report = await workspace.json<Report>('run', file);
    assert.equal(report.passed, 0);
    assert.ok(report.failed >= 20 && report.failed < 80, `${report.failed} failed`);
    assert.equal(report.failed + report.cancelled, 80);
    assert.match(ofKind(await workspace.events(report.batch), 'batch.end')[0]?.data.reason ?? '', /stop\.failures/);
  });

  it('tokens: a batch that costs too much ends @deep', async () => {
    const file = workspace.batch('costly', {
      endpoint: demo.url,
      tasks: tasks(60, '42'),
      batch: { concurrency: 1, stop: { tokens: 300 } },
    });
    const report = await workspace.json<Report>('run', file);
    assert.ok(report.passed > 0 && report.passed < 60, `${report.passed} passed`);
    assert.equal(report.passed + report.cancelled, 60);
    assert.match((await batchRow(report.batch)).reason ?? '', /stop\.tokens/);
  });
});

describe('a stored batch', { timeout: 480_000 }, () => {
  it('has pass bars, a baseline, and a list entry, and is removed by gc', async () => {
    const half = workspace.batch('half', {
      endpoint: demo.url,
      tasks: [
        { id: 'a', question: 'answer 42', answer: '42' },
        { id: 'b', question: 'answer no', answer: '42' },
      ],
      batch: { attempts: 2 },
    });
    const passed = await workspace.run('run', half, '--fail-under', 'pass@1=0.5', '--json');
    assert.equal(passed.code, 0, passed.stderr);
    const first = JSON.parse(passed.stdout) as Report;
    assert.equal(first.pass_at?.['1'], 0.5);
    const failed = await workspace.run('run', half, '--fail-under', 'pass@2=0.9', '--json');
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /✗ pass@2 is 0\.500, under 0\.9/);
    const second = (JSON.parse(failed.stdout) as Report).batch;
    assert.equal((await workspace.run('report', first.batch, '--fail-under', 'pass^2=50%')).code, 0);
    assert.equal(
      (await workspace.run('report', first.batch, '--fail-under', 'pass@3=0.1')).code,
      1,
      'what cannot be measured is not reached',
    );
    assert.equal((await workspace.run('report', first.batch, '--fail-under', 'best=1')).code, 2);
    assert.equal((await workspace.run('run', half, '--detach', '--fail-under', 'pass@1=0')).code, 2);

    // Another agent for the same tasks, compared with the first.
    const whole = workspace.batch('whole', {
      endpoint: demo.url,
      tasks: [
        { id: 'a', question: 'answer 42', answer: '42' },
        { id: 'b', question: 'answer 42', answer: '42' },
      ],
      batch: { attempts: 2 },
    });
    const better = await workspace.json<Report>('run', whole);
    const { baseline } = await workspace.json<{ baseline: Comparison }>(
      'report',
      better.batch,
      '--baseline',
      first.batch,
    );
    assert.deepEqual([baseline.baseline, baseline.better, baseline.worse, baseline.same], [first.batch, 1, 0, 1]);
    assert.equal(baseline.pass_at?.['1']?.difference, 0.5);
    assert.match(
      await done('report', better.batch, '--baseline', second),
      /2 tasks in common, 1 better, 0 worse, 1 the same/,
    );

    const listed = (await workspace.json<{ batches: BatchRow[] }>('batches', '--limit', '3')).batches;
    assert.deepEqual(
      listed.map((row) => row.batch),
      [better.batch, second, first.batch],
    );
    const all = (await workspace.json<{ batches: BatchRow[] }>('batches', '--all')).batches.length;
    assert.match(await done('batches'), /whole +.* ended +2 x 2 +4 +0 +0/);
    assert.equal((await workspace.json<Report>('report', 'last')).batch, better.batch);

    // As CSV, each attempt has the outcome and the cause that `show` prints.
    const csv = workspace.path('half.csv');
    assert.match(await done('export', first.batch, '--out', csv), /4 attempts written to/);
    const { rollouts } = await workspace.json<{ rollouts: RolloutRow[] }>('show', first.batch);
    const [header, ...lines] = readFileSync(csv, 'utf8').trimEnd().split('\r\n');
    assert.match(header ?? '', /^batch,task,attempt,rollout,outcome,cause,/);
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(1, 6).join(' ')),
      rollouts.map((row) =>
        [row.task, row.attempt, row.rollout, outcomeOf(row), row.progress.cause?.text ?? ''].join(' '),
      ),
    );
    assert.equal((await workspace.run('export', first.batch)).stdout.trimEnd(), [header, ...lines].join('\r\n'));
    // And its texts: the question and the expected answer of its task, and the answer at its end.
    const records: Record<string, string>[] = [];
    for await (const record of csvRecords(createReadStream(csv)))
      records.push(('value' in record ? record.value : {}) as Record<string, string>);
    for (const [index, { rollout }] of rollouts.entries()) {
      const { task, events } = await workspace.json<{ task: TaskRecord; events: TraceEvent[] }>('show', rollout);
      const end = events.find(({ kind }) => kind === 'rollout.end');
      assert.ok(end?.kind === 'rollout.end' && typeof end.data.answer === 'string' && end.data.answer !== '');
      assert.deepEqual(
        ['question', 'answer', 'expected_answer'].map((column) => records[index]?.[column]),
        [task.question, end.data.answer, task.answer],
      );
    }
    const nowhere = await workspace.run('export', first.batch, '--out', workspace.path('no', 'half.csv'));
    assert.equal(nowhere.code, 3);
    assert.match(nowhere.stderr, /Cannot write .*half\.csv: /);

    const dry = await workspace.json<{ batches: string[]; kept: unknown[] }>('gc', first.batch, '--dry-run');
    assert.deepEqual(dry.batches, [first.batch]);
    assert.equal(
      (await workspace.json<{ batches: BatchRow[] }>('batches', '--all')).batches.length,
      all,
      'a dry run removes nothing',
    );
    assert.match(await done('gc', first.batch), /Removed 1 batch and/);
    assert.equal((await workspace.json<{ batches: BatchRow[] }>('batches', '--all')).batches.length, all - 1);
    assert.equal((await workspace.run('show', first.batch)).code, 2);
    assert.deepEqual(
      (await workspace.json<{ batches: string[] }>('gc', '--older-than', '1h', '--dry-run')).batches,
      [],
    );
  });
});
