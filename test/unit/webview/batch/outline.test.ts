import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { Outline } from '../../../../webview/batch/model/outline.ts';
import { Stream } from '../../../support/stream.ts';

function outlineOf(...pages: readonly (readonly TraceEvent[])[]): Outline {
  const outline = new Outline();
  for (const page of pages) outline.push(page);
  return outline;
}

/** `1 find_member`, `2 renew_loan×2 !limit reached`, `3 open`. */
function lines(outline: Outline): string[] {
  return outline.steps.map((step) => {
    if (step.kind === 'gap') return '…';
    const calls = step.calls.map(({ name, times }) => `${name}${times === 1 ? '' : `×${times}`}`);
    return [
      String(step.step),
      ...calls,
      ...(step.within === 0 ? [] : [`+${step.within}`]),
      ...(step.error === undefined ? [] : [`!${step.error.message}`]),
      ...(step.state === 'done' ? [] : [step.state]),
    ].join(' ');
  });
}

function twoCalls(): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew both.');
  s.model('', [], { ms: 800 });
  const first = s.toolStart('c1', 'renew_loan', {});
  const second = s.toolStart('c2', 'renew_loan', {});
  s.toolEnd(second, 'c2', 'no', { error: { class: 'tool_error', message: 'limit reached' } });
  s.toolEnd(first, 'c1', 'yes');
  s.model('Done.');
  return s;
}

suite('the outline of an attempt', () => {
  test('has tools, the first failure, and the time of the calls', () => {
    const s = twoCalls();
    s.end();
    const outline = outlineOf(s.events);
    assert.deepEqual(lines(outline), ['1 renew_loan×2 !limit reached', '2']);
    assert.ok(outline.steps[0]?.kind === 'step' && outline.steps[0].ms === 824);
    assert.deepEqual([outline.ended, outline.last], [true, s.last]);
  });

  test('is the same from pages of any size, one of which is read twice', () => {
    const { events } = twoCalls();
    for (let at = 1; at < events.length; at++)
      assert.deepEqual(
        lines(outlineOf(events.slice(0, at), events.slice(Math.max(0, at - 2)))),
        lines(outlineOf(events)),
      );
  });

  test('shows a step that still runs, or is held', () => {
    const s = twoCalls();
    const span = s.toolStart('c3', 'pay_fine', {});
    assert.equal(lines(outlineOf(s.events)).at(-1), '2 pay_fine open');
    s.add('hold', { why: 'breakpoint', side: 'before' }, { span });
    assert.equal(lines(outlineOf(s.events)).at(-1), '2 pay_fine held');
    s.add('release', { how: 'continue', held_ms: 5 }, { span });
    s.toolEnd(span, 'c3', 'paid');
    assert.equal(lines(outlineOf(s.events)).at(-1), '2 pay_fine');
  });

  test('counts steps of a sub-agent for the step that called it', () => {
    const s = new Stream();
    s.start();
    s.model('', [], { agent: 'desk' });
    const call = s.toolStart('c1', 'searcher', {}, { agent: 'desk' });
    s.model('', [], { agent: 'desk/searcher#1' });
    s.toolEnd(s.toolStart('c2', 'look', {}, { agent: 'desk/searcher#1' }), 'c2', 'x', {
      agent: 'desk/searcher#1',
      error: { class: 'tool_error', message: 'of the sub-agent' },
    });
    s.model('', [], { agent: 'desk/searcher#1' });
    s.toolEnd(call, 'c1', 'y', { agent: 'desk' });
    s.model('', [], { agent: 'desk' });
    assert.deepEqual(lines(outlineOf(s.events)), ['1 searcher +2', '4']);
  });

  test('shows unread events as a gap, and calls of an unread step belong to none', () => {
    const s = twoCalls();
    const { events } = s;
    const start = events.findIndex((event) => event.kind === 'tool.start');
    assert.deepEqual(lines(outlineOf(events.slice(0, 2), events.slice(start))), ['2']);
    const third = s.events.length;
    s.toolStart('c3', 'look', {});
    s.model('More.');
    assert.deepEqual(lines(outlineOf(s.events.slice(0, third - 2), s.events.slice(third))), [
      '1 renew_loan×2 !limit reached',
      '2 open',
      '…',
      '3',
    ]);
  });

  test('shows a step that was repeated after a takeover once', () => {
    const s = new Stream();
    s.start();
    s.add('model.start', { step: 1, context: [], sampling: {} });
    s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
    s.add('model.start', { step: 1, context: [], sampling: {} });
    assert.deepEqual(lines(outlineOf(s.events)), ['1 open']);
  });
});
