import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import type { EventData, TraceEvent, UnknownEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, progress as progressSchema } from '../../../src/trace/summary.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

describe('advanceProgress', () => {
  it('counts a whole rollout', () => {
    const { events } = lendingDesk();
    const row = advanceProgress(EMPTY_PROGRESS, events);
    assert.deepEqual(row, {
      steps: 3,
      step: 3,
      tool_calls: 3,
      input_tokens: 300,
      output_tokens: 30,
      cached_tokens: 0,
      tools: ['find_member', 'renew_loan'],
      touched: false,
      started_at: events[0]!.at,
      ended_at: events.at(-1)!.at,
      status: 'done',
      passed: false,
      reward: 0,
      cause: { kind: 'check', text: 'loan 18 is still overdue', seq: 25 },
      ms: 4_321,
    });
    progressSchema.parse(row);
  });

  it('keeps the first parts of a score as its marks, but not those of a prediction', () => {
    const score = (seq: number, data: Partial<EventData['score']>): TraceEvent => ({
      seq,
      v: 1,
      at: seq,
      kind: 'score',
      data: { scorer: 's', value: 0.5, passed: true, ...data },
    });
    const parts = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, index]));
    const row = advanceProgress(EMPTY_PROGRESS, [
      score(1, { parts }),
      score(2, { parts: { status: 1 }, prediction: { world: 'w', how: 'shadow' } }),
    ]);
    assert.deepEqual(Object.keys(row.marks ?? {}).length, 12);
    assert.equal(row.marks?.['p11'], 11);
    progressSchema.parse(row);
  });

  it('counts a step that was repeated after a takeover once', () => {
    const start = (seq: number, step: number): TraceEvent => ({
      seq,
      v: 1,
      at: seq,
      kind: 'model.start',
      agent: 'a',
      data: { step, context: [], sampling: {} },
    });
    const row = advanceProgress(EMPTY_PROGRESS, [start(1, 1), start(2, 2), start(3, 2), start(4, 3)]);
    assert.equal(row.steps, 3);
    const model = new TrajectoryModel();
    model.push([start(1, 1), start(2, 2), start(3, 2), start(4, 3)]);
    assert.deepEqual(
      model.steps.map((one) => one.index),
      [0, 1, 2, 3],
    );
    assert.equal(model.step(2)?.seq, 2);
  });

  it('returns the same row event by event as at once, and never changes its input', () => {
    const { events } = lendingDesk();
    let row = EMPTY_PROGRESS;
    for (const event of events) {
      const before = structuredClone(row);
      const next = advanceProgress(row, [event]);
      assert.deepEqual(row, before);
      row = next;
    }
    assert.deepEqual(row, advanceProgress(EMPTY_PROGRESS, events));
    assert.deepEqual(EMPTY_PROGRESS.tools, []);
  });

  it('returns undefined for events that change nothing', () => {
    const s = new Stream();
    s.message('user', 'hello');
    s.add('log', { stream: 'out', text: 'x' });
    s.add('rollout.lease', { epoch: 1, worker: 'w', how: 'fresh' });
    const unknown = { seq: 4, v: 1, at: 0, kind: 'model.start', data: {}, unknown: true } as UnknownEvent;
    assert.equal(advanceProgress(EMPTY_PROGRESS, [...s.events, unknown]), EMPTY_PROGRESS);
  });

  it('shows a hold until its release, or until another worker takes over', () => {
    const s = new Stream();
    s.start();
    s.add('hold', { why: 'breakpoint', breakpoint: 'bp1', side: 'before', by: 'page', limit_ms: 5_000 });
    const held = advanceProgress(EMPTY_PROGRESS, s.events);
    const since = s.events.at(-1)?.at ?? 0;
    assert.deepEqual(held.hold, {
      why: 'breakpoint',
      side: 'before',
      seq: 2,
      breakpoint: 'bp1',
      by: 'page',
      since,
      until: since + 5_000,
    });
    const other = new Stream(3);
    other.add('release', { how: 'continue', held_ms: 5 });
    assert.equal(advanceProgress(held, other.events).hold, undefined);
    const lease = new Stream(3);
    lease.add('rollout.lease', { epoch: 2, worker: 'w', how: 'resumed' });
    assert.ok(!('hold' in advanceProgress(held, lease.events)));
  });

  it('distinguishes an edit while held from the edits that a fork begins with', () => {
    const fork = new Stream();
    fork.start();
    fork.add('edit', { of: { m: 1 }, path: '/parts/0/content', value: 'x' });
    fork.message('user', 'x', 'edited');
    assert.equal(advanceProgress(EMPTY_PROGRESS, fork.events).touched, false);
    fork.add('hold', { why: 'pause', side: 'after' });
    fork.add('edit', { of: { m: 1 }, path: '/parts/0/content', value: 'y' });
    assert.equal(advanceProgress(EMPTY_PROGRESS, fork.events).touched, true);
  });

  it('becomes touched by a skipped call, and rollout.end decides', () => {
    const s = new Stream();
    const span = s.toolStart('c', 'f', {});
    s.add('tool.end', { status: 'ok', source: 'edited', result: 1 }, { span });
    const row = advanceProgress(EMPTY_PROGRESS, s.events);
    assert.equal(row.touched, true);
    const last = new Stream(3);
    last.end({ touched: false, status: 'truncated', error: { class: 'limit', message: 'm'.repeat(1000) } });
    const ended = advanceProgress(row, last.events);
    assert.deepEqual(
      [ended.touched, ended.status, ended.error_class, ended.error_message?.length],
      [false, 'truncated', 'limit', 600],
    );
  });

  it('invents no times for a stream without them', () => {
    const s = new Stream();
    s.start({ times: 'none' });
    s.end({ totals: { steps: 0, tool_calls: 0 } });
    const row = advanceProgress(EMPTY_PROGRESS, s.events);
    assert.deepEqual([row.started_at, row.ended_at, row.ms], [undefined, undefined, undefined]);
  });
});
