// What went wrong with a call, and when a call started.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startedAtOf, waitsOf } from '../../../src/trace/callTimes.ts';
import type { ToolSpan } from '../../../src/trace/model/spans.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { troubleOf, worse } from '../../../src/trace/trouble.ts';
import { Stream } from '../../support/stream.ts';

/** The first tool call of a stream whose events are 10 ms apart, and ms from its request until it started. */
function firstCall(s: Stream): {
  readonly model: TrajectoryModel;
  readonly span: ToolSpan;
  readonly after: number | undefined;
} {
  const model = new TrajectoryModel();
  model.push(s.events);
  const [span] = model.tools;
  assert.ok(span !== undefined);
  const started = startedAtOf(model, span);
  return { model, span, after: started === undefined ? undefined : started - span.start.at };
}

function called(hold?: EventData['hold']): { readonly s: Stream; readonly span: number } {
  const s = new Stream();
  s.start();
  const span = s.toolStart('c1', 'look', {});
  if (hold !== undefined) s.add('hold', hold, { span });
  return { s, span };
}

/** Waits before its first call, in ms from its start; held ones until 100 ms. */
function waits(s: Stream): string[] {
  const { model, span } = firstCall(s);
  return waitsOf(model, span, span.start.at + 100).map(
    ({ from, to, held }) => `${held ? 'held' : '-'} ${from - span.start.at}-${to - span.start.at}`,
  );
}

describe('when a call started', () => {
  it('is when it was requested, if nothing came in between', () => {
    const { s, span } = called();
    assert.equal(firstCall(s).after, 0, 'while it runs');
    s.toolEnd(span, 'c1', 'ok', { ms: 19.4 });
    assert.equal(firstCall(s).after, 0, 'times of events are whole');
    const longer = called();
    longer.s.toolEnd(longer.span, 'c1', 'ok', { ms: 5_000 });
    assert.equal(firstCall(longer.s).after, 0, 'as in a recording');
  });

  it('is when it was released, and undefined while it is held', () => {
    const { s, span } = called({ why: 'breakpoint', side: 'before' });
    assert.equal(firstCall(s).after, undefined);
    assert.deepEqual(waits(s), ['- 0-10', 'held 10-100']);
    s.add('release', { how: 'continue', held_ms: 10 }, { span });
    assert.equal(firstCall(s).after, 20);
    s.add('hold', { why: 'step', side: 'before' }, { span });
    assert.equal(firstCall(s).after, undefined, 'held again');
    s.add('release', { how: 'step', held_ms: 10 }, { span });
    s.toolEnd(span, 'c1', 'ok', { ms: 4 });
    assert.equal(firstCall(s).after, 56, 'and then in line until 4 ms before its end');
    assert.deepEqual(waits(s), ['- 0-10', 'held 10-20', '- 20-30', 'held 30-40', '- 40-56']);
  });

  it('is undefined when its worker was lost while it was held', () => {
    const { s, span } = called({ why: 'pause', side: 'before' });
    s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
    s.add(
      'tool.end',
      { status: 'error', source: 'live', error: { class: 'infrastructure', message: 'Its worker was lost.' } },
      { span },
    );
    assert.equal(firstCall(s).after, undefined);
    assert.deepEqual(waits(s), ['- 0-10', 'held 10-30']);
  });

  it('ignores a hold after the call, and a question, which holds by itself', () => {
    const behind = called();
    behind.s.toolEnd(behind.span, 'c1', 'ok', { ms: 20 });
    behind.s.add('hold', { why: 'breakpoint', side: 'after' }, { span: behind.span });
    assert.deepEqual([firstCall(behind.s).after, waits(behind.s)], [0, []]);
    assert.equal(firstCall(called({ why: 'input', side: 'before' }).s).after, 0);
  });

  it('separates calls of one step that were recorded together and ran one after the other', () => {
    const s = new Stream();
    s.start();
    const [first, second] = [s.toolStart('c1', 'look', {}), s.toolStart('c2', 'look', {})];
    s.toolEnd(first, 'c1', 'ok', { ms: 30 });
    s.toolEnd(second, 'c2', 'ok', { ms: 15 });
    const { model } = firstCall(s);
    assert.deepEqual(
      model.tools.map((span) => (startedAtOf(model, span) ?? 0) - span.start.at),
      [0, 25],
    );
  });
});

describe('the failure of a call', () => {
  it('is its own fault or that of infrastructure', () => {
    const end = (data: Partial<EventData['tool.end']>): { end: Extract<TraceEvent, { kind: 'tool.end' }> } => ({
      end: { seq: 2, v: 1, at: 0, kind: 'tool.end', data: { status: 'error', source: 'live', ...data } },
    });
    assert.equal(troubleOf(undefined), undefined);
    assert.equal(troubleOf({}), undefined, 'it is open');
    assert.equal(troubleOf(end({ status: 'ok' })), undefined);
    assert.equal(troubleOf(end({ status: 'cut' })), undefined);
    assert.equal(troubleOf(end({})), 'error', 'a source that reports no more than that');
    assert.equal(troubleOf(end({ error: { class: 'timeout', message: 'late' } })), 'error');
    assert.equal(
      troubleOf(end({ error: { class: 'infrastructure', message: 'Its worker was lost.' } })),
      'interrupted',
    );
  });

  it('of a step is the worst of its calls', () => {
    assert.deepEqual(
      [
        worse(undefined, undefined),
        worse('interrupted', undefined),
        worse(undefined, 'interrupted'),
        worse('interrupted', 'error'),
        worse('error', 'interrupted'),
      ],
      [undefined, 'interrupted', 'interrupted', 'error', 'error'],
    );
  });
});
